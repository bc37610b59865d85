"""The check of host variables: names that Ansible, plays or roles read are reserved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gpugen import assets
from gpugen.checks import Problem, check
from gpugen.checks.addresses import host_lines
from gpugen.model.spec import ClusterSpec

_JUMP = 'write ssh: {proxyJump: ["ops@bastion.lab.example:22"]}'
_ASKED = "remove it; Ansible asks for it with {}, or reads it from the environment of the play"
_FIELDS = {  # variable -> the field, or where it belongs
    "ansible_host": "write address in the host's entry",
    "ansible_ssh_host": "write address in the host's entry",
    "ansible_port": "write ssh: {port: 2222}",
    "ansible_ssh_port": "write ssh: {port: 2222}",
    "ansible_user": "write ssh: {user: ops}",
    "ansible_ssh_user": "write ssh: {user: ops}",
    "ansible_become": "write ssh: {become: true}",
    "ansible_become_method": "write ssh: {becomeMethod: sudo}",
    "ansible_python_interpreter": "write ssh: {interpreter: /usr/bin/python3.11}",
    "ansible_ssh_args": _JUMP,
    "ansible_ssh_common_args": _JUMP,
    "ansible_ssh_extra_args": _JUMP,
    "ansible_password": _ASKED.format("--ask-pass"),
    "ansible_ssh_pass": _ASKED.format("--ask-pass"),
    "ansible_ssh_password": _ASKED.format("--ask-pass"),
    "ansible_become_pass": _ASKED.format("--ask-become-pass"),
    "ansible_become_password": _ASKED.format("--ask-become-pass"),
    "ansible_ssh_private_key_file": (
        "remove it; keep keys in the SSH agent or ~/.ssh/config of the control host"
    ),
    "ansible_host_key_checking": "remove it; host keys are always checked",
    "ansible_connection": "remove it; hosts are reached by ssh",
}
_ELSEWHERE = "remove it; write ssh options into ~/.ssh/config of the control host"
_OF_ANSIBLE = (
    "inventory_",
    "playbook_",
    "play_",
    "role_",
    "become_",
    "delegate_",
    "loop_",
    "with_",
)
_WORDS = frozenset(  # names with a meaning in Ansible or its templates
    """
    action always any_errors_fatal args async async_val become block changed_when check_mode
    collections connection cycler debugger delay dict diff environment fact_path failed_when
    force_handlers gather_facts gather_subset gather_timeout group_names groups handlers hosts
    hostvars ignore_errors ignore_unreachable item joiner lipsum listen local_action lookup loop
    max_fail_percentage module_defaults name namespace no_log notify now omit order
    poll port post_tasks pre_tasks q query range register remote_user rescue retries roles run_once
    serial strategy tags tasks throttle timeout undef until user validate_argspec vars vars_files
    vars_prompt when
    and as assert break class continue def del elif else except false finally for from global if
    import in is nonlocal none not null or pass raise return self true try while yield
    """.split()  # noqa: SIM905 - a list of words reads better than one of quotes
)


@check("hosts-variable-not-free", at_key=True)
def host_variables(spec: ClusterSpec) -> Iterator[Problem]:
    """Host variables are for your own plays; names of Ansible and gpugen's roles are reserved.

    Such a variable could run a program on the control host, redirect a play, or change a role
    silently. Connection settings have their own fields.
    """
    for line in host_lines(spec):
        for name in line.variables:
            if hint := why_not_free(name):
                whose, do = hint
                yield Problem(
                    at=line.at / "variables" / name,
                    message=f"variable {name!r} belongs to {whose}",
                    hint=do,
                )


def why_not_free(name: str) -> tuple[str, str] | None:
    """Return who owns a variable and what to write instead; None for a free one."""
    if name == "ansible" or name.startswith("ansible_"):
        return "Ansible", _FIELDS.get(name, _ELSEWHERE)
    if name == "gpugen" or name.startswith("gpugen_"):
        return "gpugen's plays", "use a field of the spec, or rename it"
    if role := next((r for r in roles() if name == r or name.startswith(f"{r}_")), ""):
        whose = f"gpugen's role {role}"
        return whose, "use a field of the spec, in the pool or its host settings"
    if name in _WORDS or name.startswith(_OF_ANSIBLE):
        return "Ansible", "rename it, for example with the prefix site_"
    return None


@cache
def roles() -> tuple[str, ...]:
    """Return the names of the roles, with which their variables begin."""
    return tuple(sorted(path.name for path in assets.roles().iterdir() if path.is_dir()))

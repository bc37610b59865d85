"""The check of free host variables: what Ansible, the plays or the roles read is not free."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gpugen import assets
from gpugen.checks import Problem, check
from gpugen.checks.addresses import host_lines
from gpugen.model.spec import ClusterSpec

_JUMP = 'write ssh: {proxyJump: ["ops@bastion.lab.example:22"]}'
_ASKED = "leave it out; Ansible asks with {}, or takes it from where the play is started"
_FIELDS = {  # variable -> the field, or where it belongs
    "ansible_host": "write address: in the host's line",
    "ansible_ssh_host": "write address: in the host's line",
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
    "ansible_ssh_private_key_file": "leave it out; keys belong into the SSH agent or ~/.ssh/config"
    " of the control host",
    "ansible_host_key_checking": "leave it out; host keys are always checked",
    "ansible_connection": "leave it out; hosts are reached by ssh",
}
_ELSEWHERE = "leave it out; options of ssh belong into ~/.ssh/config of the control host"
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
_WORDS = frozenset(  # that Ansible or its templates take for something else
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
    """Free variables are for plays of your own; nothing that Ansible or our roles read is free.

    Such a variable could start a program on the control host, send a play elsewhere, or change what
    a role does without the spec saying so. How a host is reached has fields of its own.
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
    """Say whose a variable is and what to write instead; nothing for a free one."""
    if name == "ansible" or name.startswith("ansible_"):
        return "Ansible", _FIELDS.get(name, _ELSEWHERE)
    if name == "gpugen" or name.startswith("gpugen_"):
        return "gpugen's plays", "state it through the spec, or give it another name"
    if role := next((r for r in roles() if name == r or name.startswith(f"{r}_")), ""):
        whose = f"gpugen's role {role}"
        return whose, "state it through the spec, in the pool or its host settings"
    if name in _WORDS or name.startswith(_OF_ANSIBLE):
        return "Ansible", "give it another name, such as one that begins with site_"
    return None


@cache
def roles() -> tuple[str, ...]:
    """Return the names of the roles, with which their variables begin."""
    return tuple(sorted(path.name for path in assets.roles().iterdir() if path.is_dir()))

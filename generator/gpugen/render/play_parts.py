"""Parts of plays as data: a play, a role's entry point, an assertion; the order of the roles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from gpugen.hosts.names import ALL_HOSTS, CONTROL_PLANE
from gpugen.model.spec import ClusterSpec
from gpugen.render.role_order import FIRST, NODE, OF_CLUSTER, ORDER, SCHEDULER
from gpugen.render.yaml_files import Mark, as_data

Task: TypeAlias = dict[str, Any]
Tasks: TypeAlias = list[Task | Mark]

FACTS = ["!all", "!min", "distribution", "kernel", "pkg_mgr", "python", "service_mgr"]
OLDEST = "2.19"  # since then only those parts of a variable are evaluated that are read
DISRUPTIVE = "disruptive"  # tag of what interrupts a host
# For all commands, so that their output can be parsed. The host may set LANGUAGE at login, which
# overrides LC_ALL in all locales except C.
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}
REASONS = "{{ gpugen_disruption | default({}) | dict2items | map(attribute='value') | flatten }}"
DRAINS = f"ansible_skip_tags | intersect(['{DISRUPTIVE}', '{NODE}']) | length == 0"
WORD = f"{{{{ (gpugen_allow_disruption | bool) and {DRAINS} }}}}"
HERE = "{{ lookup('ansible.builtin.file', '/etc/machine-id', errors='ignore') }}"
WORKS = f"{{{{ ansible_run_tags | difference(['preflight', '{SCHEDULER}']) | length > 0 }}}}"
OWNS = f"{{{{ ansible_run_tags | intersect(['all', 'tagged', '{NODE}']) | length > 0 }}}}"
AWAY = "{{ ansible_play_hosts_all | difference(ansible_play_hosts) | map('extract', hostvars) }}"
CHECKED = "selectattr('gpugen_is_checked', 'defined') | map(attribute='inventory_hostname')"
LOST = f"{{{{ gpugen_away | {CHECKED} }}}}"
SERIAL = "{{ gpugen_serial | default(gpugen_batches, true) }}"
TAKES_OVER = "{{ gpugen_take_over | default(false) | bool }}"
VARIABLES = {
    "gpugen_reasons": REASONS,  # why the host must be drained
    "gpugen_may_interrupt": WORD,  # not if the drain is skipped
    "gpugen_here": HERE,  # the control host
    "gpugen_works": WORKS,  # not if only checks, or only the control plane, are selected
    "gpugen_runs_node": OWNS,  # by --tags
    "gpugen_away": AWAY,  # hosts that failed or are unreachable
    "gpugen_control_plane": f"{{{{ groups['{CONTROL_PLANE}'] }}}}",  # with those of no run
    "gpugen_lost": LOST,  # those that were reachable when checked
    f"{NODE}_take_over": TAKES_OVER,  # the turn of another run
    f"{FIRST}_take_over": TAKES_OVER,
}


class Settings(NamedTuple):
    """All values of a spec in plays; everything else in them is constant."""

    serial: tuple[int | str, ...]
    become: bool
    reaches_cluster: bool


def settings_of(spec: ClusterSpec) -> Settings:
    """Return the values of a spec for its plays."""
    return Settings(
        spec.rollout.serial, spec.access.ssh.become, bool(spec.access.kubeconfig_context)
    )


def play(
    own: Settings,
    name: str,
    tasks: Sequence[Task | Mark],
    *,
    hosts: str = ALL_HOSTS,
    facts: bool = False,
    rolls: bool = False,
    one_by_one: bool = False,
    reads: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a play.

    rolls: batch by batch, stopped by the first failure; otherwise host by host. reads: names of
    VARIABLES.
    """
    sizes = {"gpugen_batches": as_data(own.serial)} if rolls else {}
    variables = {**sizes, **{name: VARIABLES[name] for name in reads}}
    serial: int | str = 1 if one_by_one else SERIAL
    return {
        "name": name,
        "hosts": hosts,
        **({"serial": serial, "max_fail_percentage": 0} if rolls or one_by_one else {}),
        "become": own.become,
        "environment": dict(ENVIRONMENT),
        "gather_facts": facts,
        **({"gather_subset": FACTS} if facts else {}),
        **({"vars": variables} if variables else {}),
        "tasks": list(tasks),
    }


def by_role(
    roles: Collection[str], tasks: Callable[[str], list[Task]], order: Iterable[str] = ORDER
) -> Tasks:
    """Return the tasks of the roles in use, in order.

    A role that a pool may bring has its mark always, and what follows them has one, so that
    branches whose pools bring two roles touch no common line.
    """
    found: Tasks = []
    before = after = Mark("cluster")
    for role in order:
        if own := tasks(role):
            mark = after if role in OF_CLUSTER else Mark(role)
            found += [mark] * (mark != before)
            found += own if role in roles else []
            before = mark
    return [*found, *[after] * (before != after)]


def entry(name: str, role: str, step: str, *tags: str) -> Task:
    """Return a role's entry point, imported: its variables are the play's."""
    return {
        "name": name,
        "ansible.builtin.import_role": {"name": role, "tasks_from": step},
        "tags": list(dict.fromkeys([role, *tags])),
    }


def included(name: str, role: str, step: str, tags: list[str]) -> Task:
    """Return a role's entry point, included: it costs nothing if it is skipped."""
    module: dict[str, Any] = {"name": role, "tasks_from": step}
    if tags:
        module["apply"] = {"tags": tags}
    task = {"name": name, "ansible.builtin.include_role": module}
    return {**task, "tags": tags} if tags else task


def turn(roles: Iterable[str]) -> str:
    """Return the variable of the role by which only one run at a time interrupts a host.

    A Lease in the cluster if the play reaches it, otherwise a file on the host.
    """
    return f"{NODE if NODE in roles else FIRST}_take_over"


def taken(when: list[str]) -> Task:
    """Return the claim on a host for this run, if no Lease does it."""
    task = included("Claim the host for this run (DRV-15)", FIRST, "take", ["always"])
    return {**task, "when": when} if when else task


def given() -> Task:
    """Return the release of this run's claim on a host."""
    return included("Release this run's claim on the host", FIRST, "give", ["always"])


def needs() -> Task:
    """Return the first task: older versions evaluate the roles' variables differently."""
    asked = demand(
        "Fail if Ansible is too old for the roles",
        f"ansible_version.full is version('{OLDEST}', '>=')",
        f"ansible-core {{{{ ansible_version.full }}}} is too old; {OLDEST} or newer is required",
    )
    return {**asked, "run_once": True, "tags": ["always"]}


def checked(tags: Sequence[str]) -> Task:
    """Return the end of a host's checks, which the next play requires."""
    return {
        "name": "Record that the host was checked",
        "ansible.builtin.set_fact": {"gpugen_is_checked": True},
        "tags": list(tags),
    }


def guards() -> list[Task]:
    """Return what stops a batch before its first change.

    Ansible's max_fail_percentage counts failed hosts, not unreachable ones.
    """
    lost = demand(
        "Stop if a host became unreachable during its batch",
        "gpugen_lost | length == 0",
        "{{ gpugen_lost | join(', ') }} became unreachable and may be partially changed; repair,"
        " then run again",
    )
    seen = demand(
        "Fail if this run has not checked the host",
        "gpugen_is_checked | default(false)",
        "not checked, so it is unknown what a change interrupts; run without --skip-tags preflight",
    )
    return [{**lost, "run_once": True, "tags": ["always"]}, {**seen, "tags": ["always"]}]


def demand(name: str, that: str | list[str], message: str) -> Task:
    """Return an assertion about the host, with its failure message."""
    return {
        "name": name,
        "ansible.builtin.assert": {
            "that": that,
            "quiet": True,
            "fail_msg": f"{{{{ inventory_hostname }}}}: {message}",
        },
    }

"""site.yml as data: check every host, then apply the spec to batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpugen.hosts.names import CONTROL_PLANE
from gpugen.render import role_files
from gpugen.render.play_parts import (
    DISRUPTIVE,
    Settings,
    Task,
    Tasks,
    by_role,
    checked,
    demand,
    entry,
    given,
    guards,
    included,
    needs,
    play,
    taken,
    turn,
)
from gpugen.render.role_order import (
    AFTER_REBOOT,
    BEFORE_REBOOT,
    DRIVER,
    HOST_ROLES,
    NODE,
    SCHEDULER,
    in_order,
)

ASKS = ("gpugen_reasons", "gpugen_may_interrupt")
READS = (*ASKS, "gpugen_here", "gpugen_works", "gpugen_runs_node", "gpugen_away", "gpugen_lost")
ALWAYS = "always"  # tag of common tasks, which --skip-tags of a role must not skip
SAY_IT = "pass -e gpugen_allow_disruption=true, or set rollout.allowDisruption"


def site(own: Settings, roles: Iterable[str]) -> list[dict[str, Any]]:
    """Return the plays that apply the spec to hosts; tags are the roles' names."""
    ordered = [role for role in in_order(roles) if role != SCHEDULER]
    turns = turn(roles)
    name, asks = "Check every host before any is changed", (*ASKS, turns)
    check = play(own, name, _preflight(ordered), facts=True, reads=asks)
    name = "Apply the spec to hosts, batch by batch"
    work = play(own, name, _work(ordered), rolls=True, reads=(*READS, turns))
    if SCHEDULER not in roles:
        return [check, work]
    name = "Check the control plane before any host is changed"
    tasks = _scheduler("preflight")
    main = play(own, name, tasks, hosts=CONTROL_PLANE, facts=True, reads=ASKS[1:])
    return [check, main, work, _control_plane(own), *_announcement(own)]


def _preflight(roles: Sequence[str]) -> Tasks:
    """Read everything, record what has to be interrupted, and fail unless that is allowed."""
    tasks: Tasks = [
        needs(),
        *by_role(roles, _check, HOST_ROLES),
        {
            "name": "Report what has to be interrupted",
            "ansible.builtin.debug": {"msg": "{{ gpugen_reasons }}"},
            "when": "gpugen_reasons | length > 0",
            "tags": [ALWAYS],
        },
        {
            **demand(
                "Fail unless disruption is allowed (DRV-15)",
                "gpugen_may_interrupt | bool",
                f"DRV-15: {{{{ gpugen_reasons | join('; ') }}}}; {SAY_IT}",
            ),
            "when": ["gpugen_reasons | length > 0", "not ansible_check_mode"],
            "tags": [ALWAYS],
        },
    ]
    if NODE in roles and "pods" in role_files.entries(NODE):
        pods = included("Check the pods that would be evicted", NODE, "pods", [ALWAYS])
        tasks.append({**pods, "when": "gpugen_reasons | length > 0"})
    return [*tasks, checked([ALWAYS, "preflight"])]


def _check(role: str) -> list[Task]:
    """Return what checks a host for a role, and records what the role has to interrupt."""
    tasks = []
    if "preflight" in role_files.entries(role):
        tasks.append(entry(f"Check by {role}", role, "preflight", "preflight"))
    if f"{role}_disruption" in role_files.leaves(role):
        tasks.append(_note(role))
    return tasks


def _note(role: str) -> Task:
    known = f"gpugen_disruption | default({{}}) | combine({{'{role}': {role}_disruption}})"
    return {
        "name": f"Record what {role} has to interrupt",
        "ansible.builtin.set_fact": {"gpugen_disruption": f"{{{{ {known} }}}}"},
        "tags": [role, "preflight"],
    }


def _work(roles: Sequence[str]) -> Tasks:
    """Drain, change, reboot, verify, uncordon."""
    due = ["gpugen_works | bool", "gpugen_reasons | length > 0"]
    first = [_empty(due, [NODE, ALWAYS, DISRUPTIVE])] if NODE in roles else [taken(due)]
    before, after = (_steps(roles, steps) for steps in (BEFORE_REBOOT, AFTER_REBOOT))
    return [*guards(), *first, *before, *_reboot(roles), *after, *_release(roles)]


def _steps(roles: Sequence[str], steps: Mapping[str, str]) -> Tasks:
    """Return the tasks of the roles in use that have this entry point."""

    def tasks(role: str) -> list[Task]:
        step = steps.get(role, "")
        name = f"Run {role}" + (f", {step}" if step != "converge" else "")
        return [entry(name, role, step)] if step in role_files.entries(role) else []

    return by_role(roles, tasks)


def _empty(when: list[str], tags: list[str]) -> Task:
    task = included("Cordon and drain the node (DRV-15)", NODE, "empty", tags)
    found = {**task, "vars": {"gpu_node_reasons": "{{ gpugen_reasons }}"}}
    return {**found, "when": when} if when else found


def _reboot(roles: Sequence[str]) -> Tasks:
    """Return the reboot for settings that take effect at boot only; roles never reboot."""
    block = {
        "name": "Reboot if settings differ that take effect at boot only (DRV-16)",
        "when": ["gpugen_reboot_due | default(false)", "not ansible_check_mode"],
        "tags": [ALWAYS],
        "block": [*_before(roles), *_boot(roles)],
    }
    return [*by_role(roles, _note_reboot), block]


def _note_reboot(role: str) -> list[Task]:
    if f"{role}_reboot_due" not in role_files.leaves(role):
        return []
    due = f"(gpugen_reboot_due | default(false)) or ({role}_reboot_due | default(false))"
    task = {
        "name": f"Record whether {role} needs a reboot",
        "ansible.builtin.set_fact": {"gpugen_reboot_due": f"{{{{ {due} }}}}"},
        "tags": [role],
    }
    return [task]


def _before(roles: Sequence[str]) -> list[Task]:
    """Return the conditions for a reboot; that the node is drained is checked again."""
    asked = demand(
        "Fail unless a reboot is allowed",
        ["gpugen_may_interrupt | bool", "gpugen_is_checked | default(false)"],
        f"reboot required; {SAY_IT}, or reboot it yourself",
    )
    read = {
        "name": "Read the machine's id",
        "ansible.builtin.slurp": {"src": "/etc/machine-id"},
        "register": "gpugen_machine",
    }
    other = demand(
        "Refuse to reboot the control host (DRV-18)",
        [
            "ansible_connection | default('ssh') != 'local'",
            "gpugen_machine.content | b64decode | trim != gpugen_here | default('', true)",
        ],
        "DRV-18: reboot required, but the play runs on this machine; reboot it yourself",
    )
    if NODE in roles:
        return [asked, read, other, _empty([], [])]
    kubelet = demand(
        "Fail if the kubelet runs (DRV-15)",
        f"not ({DRIVER}_kubelet_runs | default(false) | bool)",
        "DRV-15: reboot required while the kubelet runs, but no access.kubeconfigContext to drain"
        " the node; drain and reboot it yourself",
    )
    return [asked, read, other, kubelet, taken([])]


def _boot(roles: Sequence[str]) -> Tasks:
    reboot = {
        "name": "Reboot",
        "ansible.builtin.reboot": {"reboot_timeout": 1800},
        "timeout": 4000,  # the module waits twice: for the boot, and for a command to succeed
        "tags": [DISRUPTIVE],
    }

    def check(role: str) -> list[Task]:
        task = included(f"Check {role} after the reboot", role, "after_reboot", [])
        return [task] if "after_reboot" in role_files.entries(role) else []

    return [reboot, *by_role(roles, check)]


def _release(roles: Sequence[str]) -> Tasks:
    """Set labels and taints; on a node that the play cordoned verify everything, then uncordon.

    A play that drains a node uncordons it, whatever --tags selects: the node's own tasks always
    run.
    """
    if NODE not in roles:
        return [given()]
    owns = "(gpugen_runs_node | bool) or (gpu_node_is_empty | default(false))"
    held = ["gpu_node_is_held | bool", "not ansible_check_mode"]
    own = included(f"Run {NODE}", NODE, "converge", [NODE, ALWAYS])

    def check(role: str) -> list[Task]:
        task = included(f"Verify {role} before the node is uncordoned", role, "verify", [role])
        return [{**task, "when": held}] if "verify" in role_files.entries(role) else []

    checks = by_role(roles, check, [role for role in HOST_ROLES if role != NODE])
    last = included(f"Verify {NODE} before the node is uncordoned", NODE, "verify", [NODE, ALWAYS])
    released = entry("Uncordon the node (KUB-03)", NODE, "release", ALWAYS, DISRUPTIVE)
    return [{**own, "when": owns}, *checks, {**last, "when": [owns, *held]}, released]


def _control_plane(own: Settings) -> dict[str, Any]:
    name = "Apply the spec to the main scheduler, one node at a time"
    steps = [*_scheduler("preflight"), *_scheduler("converge")]
    return play(own, name, steps, hosts=CONTROL_PLANE, one_by_one=True, reads=ASKS[1:])


def _announcement(own: Settings) -> list[dict[str, Any]]:
    """Return the play that announces the profile's name once every host verifiably serves it.

    Nothing without a context: no play can then write to the cluster.
    """
    if not own.reaches_cluster:
        return []
    name = "Allow the profile's name for pods if every main scheduler serves it"
    tasks = [entry(f"Announce what {SCHEDULER} verified", SCHEDULER, "announce")]
    return [play(own, name, tasks, hosts=CONTROL_PLANE, reads=("gpugen_control_plane",))]


def _scheduler(step: str) -> list[Task]:
    if step == "preflight":
        return [entry(f"Check by {SCHEDULER}", SCHEDULER, step, step)]
    return [entry(f"Run {SCHEDULER}", SCHEDULER, step)]

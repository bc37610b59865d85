"""site.yml as data: judge every host, then bring batches of them to the spec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugen.model.spec import ClusterSpec
from gpugen.render import role_files
from gpugen.render.play_parts import (
    CONTROL_PLANE,
    DRIVER,
    NODE,
    SCHEDULER,
    Task,
    demand,
    entry,
    in_order,
    included,
    play,
)

BEFORE_REBOOT = (("gpu_prerequisites", "converge"), (DRIVER, "converge"), ("gpu_tuning", "boot"))
AFTER_REBOOT = (
    *(("nvidia_container_toolkit", "converge"), ("nvidia_mig", "converge")),
    *(("nvidia_dcgm", "converge"), ("cuda_toolkit", "converge"), ("gpu_tuning", "converge")),
    (NODE, "converge"),
)
DISRUPTIVE = "disruptive"  # tag of what interrupts a host
SAY_IT = "say -e gpugen_allow_disruption=true, or rollout.allowDisruption"


def site(spec: ClusterSpec, roles: Iterable[str]) -> list[dict[str, Any]]:
    """Return the plays that bring hosts to the spec; tags are the roles' names."""
    ordered = [role for role in in_order(roles) if role != SCHEDULER]
    judge = play(spec, "Judge every host before any is touched", _judgement(ordered), facts=True)
    work = play(spec, "Bring hosts to the spec, batch by batch", _work(ordered), rolls=True)
    if SCHEDULER not in roles:
        return [judge, work]
    name = "Judge the control plane before any host is touched"
    main = play(spec, name, _scheduler("preflight"), hosts=CONTROL_PLANE, facts=True)
    return [judge, main, work, _control_plane(spec)]


def _judgement(roles: Sequence[str]) -> list[Task]:
    """Read everything, note what has to be interrupted, and ask for the word that allows it."""
    tasks: list[Task] = []
    tags = [*roles, "preflight"]
    for role in roles:
        if "preflight" in role_files.entries(role):
            tasks.append(entry(f"Judge by {role}", role, "preflight", "preflight"))
        if f"{role}_disruption" in role_files.leaves(role):
            tasks.append(_note(role))
    tasks += [
        {
            "name": "Say what has to be interrupted",
            "ansible.builtin.debug": {"msg": "{{ gpugen_reasons }}"},
            "when": "gpugen_reasons | length > 0",
            "tags": tags,
        },
        {
            **demand(
                "Refuse to interrupt a host without a word (DRV-15)",
                "gpugen_may_interrupt | bool",
                f"DRV-15: {{{{ gpugen_reasons | join('; ') }}}}; {SAY_IT}",
            ),
            "when": ["gpugen_reasons | length > 0", "not ansible_check_mode"],
            "tags": tags,
        },
    ]
    if NODE in roles and "pods" in role_files.entries(NODE):
        tasks.append(included("Judge the pods that would have to leave", NODE, "pods", tags))
        tasks[-1]["when"] = "gpugen_reasons | length > 0"
    return tasks


def _note(role: str) -> Task:
    known = f"gpugen_disruption | default({{}}) | combine({{'{role}': {role}_disruption}})"
    return {
        "name": f"Note what {role} has to interrupt",
        "ansible.builtin.set_fact": {"gpugen_disruption": f"{{{{ {known} }}}}"},
        "tags": [role, "preflight"],
    }


def _work(roles: Sequence[str]) -> list[Task]:
    """Empty, change, reboot, verify, release."""
    first = [_empty("gpugen_reasons | length > 0", [*roles, DISRUPTIVE])] if NODE in roles else []
    before, after = (_steps(roles, steps) for steps in (BEFORE_REBOOT, AFTER_REBOOT))
    return [*first, *before, *_reboot(roles), *after, *_release(roles)]


def _steps(roles: Sequence[str], steps: Sequence[tuple[str, str]]) -> list[Task]:
    """Return steps of the roles in use, as far as a role has such an entry point."""
    return [
        entry(f"Run {role}" + (f", {step}" if step != "converge" else ""), role, step)
        for role, step in steps
        if role in roles and step in role_files.entries(role)
    ]


def _empty(when: str, tags: list[str]) -> Task:
    task = included("Empty the node of work (DRV-15)", NODE, "empty", tags)
    return {**task, "vars": {"gpu_node_reasons": "{{ gpugen_reasons }}"}, "when": when}


def _reboot(roles: Sequence[str]) -> list[Task]:
    """Return what happens where a role's settings act at boot only; roles never reboot."""
    due = [
        f"{role}_reboot_due" for role in roles if f"{role}_reboot_due" in role_files.leaves(role)
    ]
    if not due:
        return []
    tags = [name.removesuffix("_reboot_due") for name in due]
    return [
        {
            "name": "Note whether a reboot is due",
            "ansible.builtin.set_fact": {
                "gpugen_reboot_due": "{{ gpugen_reboots | map('bool') is any }}"
            },
            "vars": {"gpugen_reboots": [f"{{{{ {name} | default(false) }}}}" for name in due]},
            "tags": tags,
        },
        {
            "name": "Reboot where what acts at boot is not what runs (DRV-16)",
            "when": ["gpugen_reboot_due | default(false)", "not ansible_check_mode"],
            "tags": tags,
            "block": [*_before(roles), *_boot(roles)],
        },
    ]


def _before(roles: Sequence[str]) -> list[Task]:
    """Return what must hold before a reboot."""
    asked = demand(
        "Stop where no reboot is allowed",
        "gpugen_may_interrupt | bool",
        f"reboot due; {SAY_IT}, or reboot it",
    )
    read = {
        "name": "Read which machine this is",
        "ansible.builtin.slurp": {"src": "/etc/machine-id"},
        "register": "gpugen_machine",
    }
    other = demand(
        "Refuse to reboot the machine that the play runs on (DRV-18)",
        [
            "ansible_connection | default('ssh') != 'local'",
            "gpugen_machine.content | b64decode | trim != gpugen_here | default('', true)",
        ],
        "DRV-18: reboot due, but the play runs on this very machine; reboot it yourself",
    )
    if NODE in roles:
        return [asked, read, other, _empty("not (gpu_node_is_empty | default(false))", [])]
    kubelet = demand(
        "Stop where the kubelet runs (DRV-15)",
        f"not ({DRIVER}_kubelet_runs | default(false) | bool)",
        "DRV-15: reboot due under a running kubelet, and no access.kubeconfigContext to drain by; "
        "drain and reboot it yourself",
    )
    return [asked, read, other, kubelet]


def _boot(roles: Sequence[str]) -> list[Task]:
    reboot = {
        "name": "Reboot",
        "ansible.builtin.reboot": {"reboot_timeout": 1800},
        "tags": [DISRUPTIVE],
    }
    after = [
        included(f"See what {role} says after the reboot", role, "after_reboot", [])
        for role in roles
        if "after_reboot" in role_files.entries(role)
    ]
    return [reboot, *after]


def _release(roles: Sequence[str]) -> list[Task]:
    """Verify everything on a node that we cordoned, then let pods come back."""
    if NODE not in roles or "release" not in role_files.entries(NODE):
        return []
    checks = [
        included(f"Verify {role} before pods come back", role, "verify", [role])
        for role in roles
        if "verify" in role_files.entries(role)
    ]
    for check in checks:
        check["when"] = ["gpu_node_is_held | bool", "not ansible_check_mode"]
    return [*checks, entry("Let pods come back (KUB-03)", NODE, "release", *roles, DISRUPTIVE)]


def _control_plane(spec: ClusterSpec) -> dict[str, Any]:
    name = "Bring the main scheduler to the spec, one node at a time"
    steps = [*_scheduler("preflight"), *_scheduler("converge")]
    found = play(spec, name, steps, hosts=CONTROL_PLANE, rolls=True)
    return {**found, "serial": 1}


def _scheduler(step: str) -> list[Task]:
    if step == "preflight":
        return [entry(f"Judge by {SCHEDULER}", SCHEDULER, step, step)]
    return [entry(f"Run {SCHEDULER}", SCHEDULER, step)]

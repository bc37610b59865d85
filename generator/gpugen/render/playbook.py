"""site.yml as data: judge every host, then bring batches of them to the spec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from gpugen.model.spec import ClusterSpec
from gpugen.render import role_files

Task: TypeAlias = dict[str, Any]

ALL_HOSTS = "gpu"  # group of all pools
CONTROL_PLANE = "control_plane"  # group of the cluster's control-plane nodes
FACTS = ["!all", "!min", "distribution", "kernel", "pkg_mgr", "python", "service_mgr"]
NODE, DRIVER, SCHEDULER = "gpu_node", "nvidia_driver", "kube_scheduler"
ORDER = (
    *("gpu_prerequisites", DRIVER, "nvidia_container_toolkit", "nvidia_mig", "nvidia_dcgm"),
    *("cuda_toolkit", "gpu_tuning", NODE, SCHEDULER),
)
BEFORE_REBOOT = (("gpu_prerequisites", "converge"), (DRIVER, "converge"), ("gpu_tuning", "boot"))
AFTER_REBOOT = (
    *(("nvidia_container_toolkit", "converge"), ("nvidia_mig", "converge")),
    *(("nvidia_dcgm", "converge"), ("cuda_toolkit", "converge"), ("gpu_tuning", "converge")),
    (NODE, "converge"),
)
DISRUPTIVE = "disruptive"  # tag of what interrupts a host
REASONS = "{{ gpugen_disruption | default({}) | dict2items | map(attribute='value') | flatten }}"
WORD = "{{ (gpugen_allow_disruption | bool) and 'disruptive' not in ansible_skip_tags }}"
VARIABLES = {"gpugen_reasons": REASONS, "gpugen_may_interrupt": WORD}
SAY_IT = "say so by rollout.allowDisruption or -e gpugen_allow_disruption=true"


def in_order(roles: Iterable[str]) -> list[str]:
    """Sort roles as a host runs them."""
    return sorted(roles, key=ORDER.index)


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


def play(
    spec: ClusterSpec,
    name: str,
    tasks: list[Task],
    *,
    hosts: str = ALL_HOSTS,
    facts: bool = False,
    rolls: bool = False,
) -> dict[str, Any]:
    """Return a play. rolls: batch by batch, stopped by the first failure."""
    serial = f"{{{{ gpugen_serial | default({list(spec.rollout.serial)}, true) }}}}"
    return {
        "name": name,
        "hosts": hosts,
        **({"serial": serial, "max_fail_percentage": 0} if rolls else {}),
        "become": spec.access.ssh_become,
        "gather_facts": facts,
        **({"gather_subset": FACTS} if facts else {}),
        "vars": dict(VARIABLES),
        "tasks": tasks,
    }


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
                f"DRV-15: to be interrupted for {{{{ gpugen_reasons | join('; ') }}}}; {SAY_IT}",
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
    first = [_empty(roles, "gpugen_reasons | length > 0")] if NODE in roles else []
    before, after = (_steps(roles, steps) for steps in (BEFORE_REBOOT, AFTER_REBOOT))
    return [*first, *before, *_reboot(roles), *after, *_release(roles)]


def _steps(roles: Sequence[str], steps: Sequence[tuple[str, str]]) -> list[Task]:
    """Return steps of the roles in use, as far as a role has such an entry point."""
    return [
        entry(f"Run {role}" + (f", {step}" if step != "converge" else ""), role, step)
        for role, step in steps
        if role in roles and step in role_files.entries(role)
    ]


def _empty(roles: Sequence[str], when: str) -> Task:
    task = included("Empty the node of work (DRV-15)", NODE, "empty", [*roles, DISRUPTIVE])
    return {**task, "vars": {"gpu_node_reasons": "{{ gpugen_reasons }}"}, "when": when}


def _reboot(roles: Sequence[str]) -> list[Task]:
    """Return what happens where a role's settings act at boot only; roles never reboot."""
    due = [
        f"{role}_reboot_due" for role in roles if f"{role}_reboot_due" in role_files.leaves(role)
    ]
    if not due:
        return []
    tags = [name.removesuffix("_reboot_due") for name in due]
    noted = " or ".join(f"({name} | default(false) | bool)" for name in due)
    return [
        {
            "name": "Note whether a reboot is due",
            "ansible.builtin.set_fact": {"gpugen_reboot_due": f"{{{{ {noted} }}}}"},
            "tags": tags,
        },
        {
            "name": "Reboot where what acts at boot is not what runs (DRV-16)",
            "when": ["gpugen_reboot_due | bool", "not ansible_check_mode"],
            "tags": tags,
            "block": [*_before(roles), *_boot(roles)],
        },
    ]


def _before(roles: Sequence[str]) -> list[Task]:
    """Return what must hold before a reboot."""
    own = "gpugen_machine.content | b64decode | trim"
    here = "lookup('ansible.builtin.file', '/etc/machine-id', errors='ignore')"
    asked = demand(
        "Stop where no reboot is allowed",
        "gpugen_may_interrupt | bool",
        f"reboot due; {SAY_IT}, or reboot the host yourself",
    )
    read = {
        "name": "Read which machine this is",
        "ansible.builtin.slurp": {"src": "/etc/machine-id"},
        "register": "gpugen_machine",
    }
    other = demand(
        "Refuse to reboot the machine that the play runs on (DRV-18)",
        f"ansible_connection | default('ssh') != 'local' and {own} != {here} | default('', true)",
        "DRV-18: reboot due, but the play runs on this very machine; reboot it yourself",
    )
    if NODE in roles:
        return [asked, read, other, _empty(roles, "not (gpu_node_is_empty | default(false))")]
    kubelet = demand(
        "Stop where the kubelet runs (DRV-15)",
        f"not ({DRIVER}_kubelet_runs | default(false) | bool)",
        "DRV-15: reboot due, and the kubelet runs; without access.kubeconfigContext the node is "
        "not drained: drain it, reboot it, run the play again",
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
        included(f"Verify {role} before pods come back", role, "verify", list(roles))
        for role in roles
        if "verify" in role_files.entries(role)
    ]
    proof = {
        "name": "Verify what is released (KUB-03)",
        "when": ["gpu_node_is_held | bool", "not ansible_check_mode"],
        "tags": list(roles),
        "block": checks,
    }
    return [proof, entry("Let pods come back (KUB-03)", NODE, "release", *roles, DISRUPTIVE)]


def _control_plane(spec: ClusterSpec) -> dict[str, Any]:
    name = "Bring the main scheduler to the spec, one node at a time"
    steps = [*_scheduler("preflight"), *_scheduler("converge")]
    found = play(spec, name, steps, hosts=CONTROL_PLANE, rolls=True)
    return {**found, "serial": 1}


def _scheduler(step: str) -> list[Task]:
    if step == "preflight":
        return [entry(f"Judge by {SCHEDULER}", SCHEDULER, step, step)]
    return [entry(f"Run {SCHEDULER}", SCHEDULER, step)]


def entry(name: str, role: str, step: str, *tags: str) -> Task:
    """Return a role's entry point, imported: its variables are the play's."""
    return {
        "name": name,
        "ansible.builtin.import_role": {"name": role, "tasks_from": step},
        "tags": list(dict.fromkeys([role, *tags])),
    }


def included(name: str, role: str, step: str, tags: list[str]) -> Task:
    """Return a role's entry point, included: it costs nothing where it is skipped."""
    module: dict[str, Any] = {"name": role, "tasks_from": step}
    if tags:
        module["apply"] = {"tags": tags}
    task = {"name": name, "ansible.builtin.include_role": module}
    return {**task, "tags": tags} if tags else task


def demand(name: str, that: str, message: str) -> Task:
    """Return a claim about the host, and what is said where it does not hold."""
    return {
        "name": name,
        "ansible.builtin.assert": {
            "that": that,
            "quiet": True,
            "fail_msg": f"{{{{ inventory_hostname }}}}: {message}",
        },
    }

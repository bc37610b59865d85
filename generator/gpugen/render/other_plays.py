"""verify.yml and remove.yml as data: verify hosts, or remove everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugen.hosts.names import CONTROL_PLANE
from gpugen.render import role_files
from gpugen.render.play_parts import (
    DRAINS,
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
from gpugen.render.role_order import HOST_ROLES, NODE, SCHEDULER, in_order

REMOVED = ["everything that gpugen installed is removed"]


def verify(own: Settings, roles: Iterable[str]) -> list[dict[str, Any]]:
    """Return the plays that verify hosts and change nothing."""
    ordered = in_order(roles)
    tasks = [needs(), *by_role(ordered, _verified, HOST_ROLES)]
    found = [play(own, "Verify every host", tasks, facts=True)]
    if SCHEDULER in ordered:
        last = _verified(SCHEDULER)
        found.append(play(own, "Verify the main scheduler", last, hosts=CONTROL_PLANE, facts=True))
    return found


def before_upgrade(own: Settings, roles: Iterable[str]) -> list[dict[str, Any]]:
    """Return the play before an upgrade of the control plane, which may drop the profile.

    Nothing if no play announces a profile in the cluster.
    """
    if SCHEDULER not in roles or not own.reaches_cluster:
        return []
    task = entry("Send new pods to the default profile", SCHEDULER, "withdraw")
    name = "Before an upgrade of the control plane: new pods use the default profile"
    tasks = [needs(), {**task, "run_once": True}]
    return [play(own, name, tasks, hosts=CONTROL_PLANE)]


def remove(own: Settings, roles: Iterable[str]) -> list[dict[str, Any]]:
    """Return the plays that remove everything, batch by batch, in reverse order."""
    ordered = in_order(roles)
    name, tasks = "Check every host before any is changed", _preflight(ordered)
    found = [play(own, name, tasks, facts=True, reads=("gpugen_works", turn(ordered)))]
    if SCHEDULER in ordered:
        last = [_word(), *_removed(SCHEDULER)]
        name = "Restore the main scheduler, one node at a time"
        found.append(play(own, name, last, hosts=CONTROL_PLANE, facts=True, one_by_one=True))
    hosts = [role for role in ordered if role != SCHEDULER]
    reads = ("gpugen_works", "gpugen_runs_node", "gpugen_away", "gpugen_lost", turn(ordered))
    found.append(play(own, "Remove, batch by batch", _removal(hosts), rolls=True, reads=reads))
    return found


def _preflight(roles: Sequence[str]) -> list[Task]:
    tasks = [needs(), _word()]
    if NODE in roles and "pods" in role_files.entries(NODE):
        tasks.append(entry(f"Check by {NODE}", NODE, "preflight"))
        pods = included("Check the pods that are to be evicted", NODE, "pods", [NODE, "always"])
        tasks.append({**pods, "when": "gpugen_works | bool"})
    return [*tasks, checked(["always"])]


def _removal(roles: Sequence[str]) -> Tasks:
    """Drain the node and remove its labels first, so that no agent uses a GPU.

    If --tags removes only other roles, the node gets its agents back after them.
    """
    others = [role for role in reversed(HOST_ROLES) if role != NODE]
    tasks = by_role(roles, _removed, others)
    if NODE not in roles:
        return [*guards(), taken(["gpugen_works | bool"]), *tasks, given()]
    emptied = included("Cordon and drain the node (DRV-15)", NODE, "empty", [NODE, "always"])
    emptied |= {"vars": {"gpu_node_reasons": REMOVED}, "when": "gpugen_works | bool"}
    kept = included(f"Run {NODE}, which is kept", NODE, "converge", [NODE, "always"])
    kept["when"] = ["gpugen_works | bool", "not (gpugen_runs_node | bool)"]
    released = entry("Uncordon the node (KUB-03)", NODE, "release", "always")
    first = [*guards(), emptied, *_removed(NODE)]
    return [*first, *tasks, kept, released]


def _word() -> Task:
    asked = demand(
        "Fail unless removal is confirmed",
        ["gpugen_remove | default(false) | bool", DRAINS],
        "removal drains the node and removes the driver; pass -e gpugen_remove=true, and do not"
        " use --skip-tags",
    )
    return {**asked, "tags": ["always"]}


def _verified(role: str) -> list[Task]:
    is_due = "verify" in role_files.entries(role)
    return [entry(f"Verify {role}", role, "verify")] if is_due else []


def _removed(role: str) -> list[Task]:
    is_due = "absent" in role_files.entries(role)
    return [entry(f"Remove {role}", role, "absent")] if is_due else []

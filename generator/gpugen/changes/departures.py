"""What a change removes: hosts, pools, roles and clusters that the tree in ``out/`` still has.

gpugen's changes on a host remain until ``remove.yml`` of the previous tree reverts them; after the
merge the host is in no inventory. So each is a warning with the command to run first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from shlex import quote

from gpugen.changes import inventories
from gpugen.changes.inventories import Inventory
from gpugen.changes.limits import FILE, limit, named
from gpugen.hosts import collection
from gpugen.model.finding import ROOT, Finding, Pointer, Severity
from gpugen.model.spec import ClusterSpec, HostLine
from gpugen.render.inventory import group

_ROLE = re.compile(r"\.gpugen-index/role-(?P<role>[a-z_]+)")  # each role in use has an index
_GO = "-e gpugen_remove=true"


def roles(gone: Collection[str], place: str) -> Iterator[Finding]:
    """Yield the roles that the spec no longer uses: their changes remain on the hosts.

    gone: paths that are deleted. place: the cluster's folder for messages.
    """
    found = (match["role"] for path in gone if (match := _ROLE.fullmatch(path)))
    names = [name for name in found if name != collection.OWNER]
    if names:
        yield _warning(
            "role-without-spec",
            f"{place}: the spec no longer uses {', '.join(names)}, but their changes remain on"
            " the hosts",
            _before(place, f"ansible-playbook remove.yml --tags {','.join(names)} {_GO}"),
            ROOT,
        )


def hosts(contents: Sequence[bytes], spec: ClusterSpec, place: str) -> Iterator[Finding]:
    """Yield the hosts and pools of the previous inventory that are no longer in the spec.

    contents: the inventory's files, hostile. A host that only moves to another pool is not removed.
    """
    old = inventories.read(contents)
    if old is None:
        yield _warning(
            "host-without-spec",
            f"{place}: the previous inventory cannot be read, so removed hosts are not known",
            f"before merging, compare {place}/ansible/inventory with the last commit",
            ROOT / "pools",
        )
        return
    kept = frozenset(name for pool in spec.pools for name in _names(pool.hosts))
    pools = {group(pool): pool for pool in spec.pools}
    for title, members in old.hosts.items():
        leaving = [name for name in members if name not in kept]
        if title in pools:
            at = pools[title].at / "hosts"
            yield from _of_pool(pools[title].name, leaving, old, place, at)
        elif leaving:
            yield _pool_leaves(title, leaving, old, place)
        else:
            yield _pool_is_renamed(title, members, spec, place)
    main = frozenset(_names(spec.control_plane.hosts))
    yield from _of_control_plane([n for n in old.control_plane if n not in main], old, place)


def all_hosts(specs: Iterable[ClusterSpec]) -> frozenset[str]:
    """Return the hosts of all pools of some clusters."""
    return frozenset(name for spec in specs for pool in spec.pools for name in _names(pool.hosts))


def cluster(contents: Sequence[bytes], place: str, elsewhere: Collection[str]) -> tuple[str, str]:
    """Return the message about a cluster without a spec, and the command.

    contents: its inventory. elsewhere: the hosts of all clusters.
    """
    old = inventories.read(contents)
    play = f"in {place}/ansible: ansible-playbook remove.yml"
    if old is None or not old.everyone:
        return "no longer has a spec", f"{play} {_GO}"
    leaving = sorted(old.everyone - frozenset(elsewhere))
    count = f"{len(old.everyone)} host{'s' * (len(old.everyone) != 1)}"
    if not leaving:
        return (
            f"no longer has a spec; its {count} are in other clusters now",
            "nothing has to be removed from them; run site.yml of their clusters",
        )
    if len(leaving) == len(old.everyone):
        return f"no longer has a spec, but its changes remain on {count}", f"{play} {_GO}"
    return (
        f"no longer has a spec; {len(leaving)} of its {count} ({named(leaving)}) are in no other"
        " cluster, and its changes remain on them",
        f"{play} --limit {limit(leaving, old)} {_GO}",
    )


def _of_pool(
    pool: str, leaving: Sequence[str], old: Inventory, place: str, at: Pointer
) -> Iterator[Finding]:
    if leaving:
        yield _warning(
            "host-without-spec",
            f"{place}: {_many(leaving)} of pool {pool!r} leave{_s(leaving)} the spec, but the"
            " changes of gpugen's plays remain",
            _before(place, _removal(leaving, old)),
            at,
        )


def _pool_leaves(title: str, leaving: Sequence[str], old: Inventory, place: str) -> Finding:
    moved = len(old.hosts[title]) - len(leaving)
    other = f"; its other {moved} are in other pools" if moved else ""
    return _warning(
        "pool-without-spec",
        f"{place}: pool {_pool_name(title)!r} leaves the spec, but the changes of gpugen's plays"
        f" remain on {_many(leaving)}{other}",
        _before(place, _removal(leaving, old)),
        ROOT / "pools",
    )


def _pool_is_renamed(title: str, members: Sequence[str], spec: ClusterSpec, place: str) -> Finding:
    """Return the warning about a removed pool all of whose hosts are in other pools."""
    now = [p for p in spec.pools if not set(members).isdisjoint(_names(p.hosts))]
    into = ", ".join(repr(pool.name) for pool in now)
    kubectl = "kubectl"
    if spec.access.kubeconfig_context:
        kubectl += f" --context {quote(spec.access.kubeconfig_context)}"
    limits = ",".join(group(pool) for pool in now)
    return _warning(
        "pool-without-spec",
        f"{place}: pool {_pool_name(title)!r} leaves the spec, its hosts are in {into or 'none'}"
        " now; from the merge until the play sets the new label no agent runs on their nodes",
        f"before the merge: {kubectl} cordon -l gpugen/pool={_pool_name(title)}; after it, in"
        f" {place}/ansible: ansible-playbook site.yml --limit {limits}; then uncordon them",
        ROOT / "pools",
    )


def _of_control_plane(leaving: Sequence[str], old: Inventory, place: str) -> Iterator[Finding]:
    if leaving:
        yield _warning(
            "host-without-spec",
            f"{place}: {_many(leaving)} of the control plane leave{_s(leaving)} the spec, but the"
            " scheduler's configuration remains",
            _before(place, _removal(leaving, old)),
            ROOT / "controlPlane" / "hosts",
        )


def _removal(leaving: Sequence[str], old: Inventory) -> str:
    names = limit(leaving, old)
    how = " (a file with their names, one per line)" if names == FILE else ""
    return f"ansible-playbook remove.yml --limit {names} {_GO}{how}"


def _before(place: str, command: str) -> str:
    return f"to revert them, before merging, in the previous {place}/ansible (git stash): {command}"


def _many(names: Sequence[str]) -> str:
    return f"{len(names)} host{'s' * (len(names) != 1)} ({named(names)})"


def _s(names: Sequence[str]) -> str:
    return "s" * (len(names) == 1)


def _pool_name(title: str) -> str:
    from gpugen.text.spelling import shown

    return shown(title.removeprefix("pool_").replace("_", "-"))


def _names(lines: Sequence[HostLine]) -> Iterator[str]:
    for line in lines:
        yield from line.hosts


def _warning(id: str, message: str, hint: str, at: Pointer) -> Finding:
    return Finding(id, message, hint, at, Severity.WARNING)

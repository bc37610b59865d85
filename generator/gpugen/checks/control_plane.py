"""Checks of the control plane's hosts: named once, with nothing that has no effect there."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.spec import ClusterSpec, HostLine


@check("control-plane-same-host")
def same_host(spec: ClusterSpec) -> Iterator[Problem]:
    """A host of the control plane that is named twice would be changed twice, in one play."""
    seen: set[str] = set()
    for line in spec.control_plane.hosts:
        hosts = set(line.hosts)
        if twice := sorted(hosts & seen):
            yield Problem(
                at=line.at, message=f"host {twice[0]!r} is named twice", hint="name it once"
            )
        seen |= hosts


@check("control-plane-own-values", at_key=True)
def own_values(spec: ClusterSpec) -> Iterator[Problem]:
    """What is a host's own is stated once: in its pool, if the host is in one.

    The plays ask the control plane for no node's name.
    """
    if not spec.control_plane.hosts:
        return
    pools = {host: pool.name for pool in spec.pools for line in pool.hosts for host in line.hosts}
    for line in spec.control_plane.hosts:
        if line.node_name:
            yield Problem(
                at=line.at / "nodeName",
                message="nodeName has no effect in the control plane",
                hint="leave it out, or state it in the pool that the host is in",
            )
        pool = next((pools[host] for host in line.hosts if host in pools), "")
        for key, value in _own(line).items():
            if pool and value:
                yield Problem(
                    at=line.at / key,
                    message=f"{line.pattern!r} is in pool {pool!r} too, where its {key} belongs",
                    hint=f"state {key} there and only the name here",
                )


@check("control-plane-without-effect", at_key=True)
def without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """Only the main scheduler is configured on these hosts, and only when it is to pack."""
    options = spec.options.get("scheduler")
    if not spec.control_plane.hosts or (options is not None and options["mode"] == "main"):
        return
    if options is None or options["mode"] == "second" or not options["binPacking"]:
        yield Problem(
            at=spec.control_plane.at,
            message="controlPlane has no effect: nothing configures the main scheduler on these"
            " hosts",
            hint="write components: {scheduler: {}}, which packs GPUs there, or leave"
            " controlPlane out",
        )


def _own(line: HostLine) -> dict[str, object]:
    """Return what the line states of its host: key -> value."""
    return {
        "address": line.address,
        "description": line.description,
        "variables": line.variables,
    }

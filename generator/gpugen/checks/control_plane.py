"""Checks of the control plane's hosts: listed once, no settings without effect."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.options import Scheduler
from gpugen.model.spec import ClusterSpec, HostLine


@check("control-plane-same-host")
def same_host(spec: ClusterSpec) -> Iterator[Problem]:
    """A control plane host that is listed twice would be changed twice by one play."""
    seen: set[str] = set()
    for line in spec.control_plane.hosts:
        hosts = set(line.hosts)
        if twice := sorted(hosts & seen):
            yield Problem(
                at=line.at,
                message=f"host {twice[0]!r} is listed twice",
                hint="remove the duplicate",
            )
        seen |= hosts


@check("control-plane-own-values", at_key=True)
def own_values(spec: ClusterSpec) -> Iterator[Problem]:
    """A host's own settings are stated once: in its pool, if it is in one.

    Plays do not use node names of control plane hosts.
    """
    if not spec.control_plane.hosts:
        return
    pools = {host: pool.name for pool in spec.pools for line in pool.hosts for host in line.hosts}
    for line in spec.control_plane.hosts:
        if line.node_name:
            yield Problem(
                at=line.at / "nodeName",
                message="nodeName has no effect under controlPlane",
                hint="remove it, or state it in the host's pool",
            )
        pool = next((pools[host] for host in line.hosts if host in pools), "")
        for key, value in _own(line).items():
            if pool and value:
                yield Problem(
                    at=line.at / key,
                    message=f"{line.pattern!r} is also in pool {pool!r}, where its {key} belongs",
                    hint=f"move {key} there and keep only the name here",
                )


@check("control-plane-without-effect", at_key=True)
def without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """These hosts are used only to configure the main scheduler for bin packing."""
    options = spec.find(Scheduler)
    if not spec.control_plane.hosts or (options is not None and options.mode == "main"):
        return
    if options is None or options.mode == "second" or not options.bin_packing:
        yield Problem(
            at=spec.control_plane.at,
            message="controlPlane has no effect: nothing configures the main scheduler on these"
            " hosts",
            hint="write components: {scheduler: {}} to pack GPUs, or remove controlPlane",
        )


def _own(line: HostLine) -> dict[str, object]:
    """Return what the line states of its host: key -> value."""
    return {
        "address": line.address,
        "description": line.description,
        "variables": line.variables,
    }

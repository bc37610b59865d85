"""Checks of the MPS control daemon."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components import stacks
from gpugen.components.devices.mps_control_daemon import NAME
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("mps-control-daemon-missing", "GG-04")
def missing(spec: ClusterSpec) -> Iterator[Problem]:
    """A pool that shares by MPS needs the MPS control daemon of the device plugin's image.

    The plugin waits for a healthy daemon before it registers anything: without one the nodes
    advertise no GPU. A daemon on the host does not help; its pipes are elsewhere. Source:
    k8s-device-plugin v0.19.3, internal/plugin/mps.go, waitForDaemon.
    """
    pools = [pool.name for pool in stacks.pools(spec, NAME)]
    if pools and NAME not in spec.options:
        yield Problem(
            at=spec.at / "components" / NAME,
            message=f"{NAME} is off, but these pools share by MPS: {', '.join(pools)}",
            hint=f"remove {NAME}: false, or use mode: time-slicing",
        )


@check("mps-control-daemon-without-pool", "GG-04", severity=Severity.WARNING, component=NAME)
def without_pool(spec: ClusterSpec) -> Iterator[Problem]:
    """The MPS control daemon runs only in pools that share by MPS; elsewhere it has no effect.

    Source: k8s-device-plugin v0.19.3, cmd/mps-control-daemon: "No devices are configured for MPS
    sharing; Waiting indefinitely".
    """
    if not stacks.pools(spec, NAME):
        yield Problem(
            at=spec.at / "components" / NAME,
            message=f"{NAME} has no effect: no pool shares by MPS",
            hint=f"remove {NAME}, or set sharing.mode: mps in a pool",
        )

"""Bin packing in the main scheduler: the mode, and the variables of the host role.

What differs between distributions is in their rows of the catalogue, under scheduler.main.
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components.scheduling.scheduler import packing
from gpugen.kube import scheduling
from gpugen.model.assembly import Contribution
from gpugen.model.options import Scheduler
from gpugen.model.platform import MainScheduler
from gpugen.model.spec import ClusterSpec

ROLE = "kube_scheduler"
PREFIX = f"{ROLE}_"


def contribution(spec: ClusterSpec, options: Scheduler) -> Contribution:
    """Return the host role and its variables; nothing if the distribution does not support it."""
    main = spec.kubernetes.distribution.main_scheduler
    if main is None:
        return Contribution()
    own = {
        "configuration": packing.of_main(spec, options),
        "version": spec.kubernetes.version,
        "kubectl": _kubectl(spec),
        **_switch(spec),
        **_places(main),
    }
    if main.in_process:  # the host has no scheduler program
        own["image"] = kube.image(spec, "scheduler")
    variables = {f"{PREFIX}{name}": value for name, value in sorted(own.items())}
    return Contribution(control_plane_variables=variables, roles=(ROLE,))


def _switch(spec: ClusterSpec) -> dict[str, Any]:
    """Return how the play records what the schedulers serve; nothing without a context.

    The policy that sets the profile's name reads it; it stays true without such a policy, too.
    """
    if not spec.access.kubeconfig_context:
        return {}
    return {
        "context": spec.access.kubeconfig_context,
        "cluster_uid": spec.access.cluster_uid,
        "switch": scheduling.switch(spec),
    }


def _kubectl(spec: ClusterSpec) -> list[str]:
    """Return the command line of kubectl on the host itself."""
    row = spec.kubernetes.distribution
    return [*row.kubectl.split(), f"--kubeconfig={row.kubeconfig}"]


def _places(main: MainScheduler) -> dict[str, Any]:
    """Return the row's values as role variables; the role has defaults for missing ones."""
    own = {**main._asdict(), "lines": main.lines.replace("{file}", main.file)}
    return {name: value for name, value in own.items() if value}

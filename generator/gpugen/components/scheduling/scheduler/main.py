"""Bin packing in the main scheduler: which mode is meant, and the variables of the host role.

What differs between distributions stands in their rows of the catalogue, under scheduler.main.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen import kube
from gpugen.components import Options
from gpugen.components.scheduling.scheduler import packing
from gpugen.kube import scheduling
from gpugen.model.assembly import Contribution
from gpugen.model.spec import ClusterSpec

ROLE = "kube_scheduler"
PREFIX = f"{ROLE}_"


def row_of(spec: ClusterSpec) -> Mapping[str, Any]:
    """Return what the catalogue says of the distribution's main scheduler."""
    found: Mapping[str, Any] = spec.kubernetes.distribution.row.get("scheduler", {})
    return found


def contribution(spec: ClusterSpec, options: Options) -> Contribution:
    """Return the host role and its variables; nothing where the distribution has no way for it."""
    main = row_of(spec).get("main")
    if main is None:
        return Contribution()
    own = {
        "configuration": packing.of_main(spec, options),
        "version": spec.kubernetes.version,
        "kubectl": _kubectl(spec),
        **_switch(spec),
        **_places(main),
    }
    if "inProcess" in main:  # no program of the scheduler lies on the host
        own["image"] = kube.image(spec, "scheduler")
    variables = {f"{PREFIX}{name}": value for name, value in sorted(own.items())}
    return Contribution(control_plane_variables=variables, roles=(ROLE,))


def _switch(spec: ClusterSpec) -> dict[str, Any]:
    """Return how the play tells the cluster what its schedulers serve; nothing without a context.

    Whoever gives pods the profile's name reads it; it stays true without such a policy, too.
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
    row = spec.kubernetes.distribution.row
    return [*row["kubectl"].split(), f"--kubeconfig={row['kubeconfig']}"]


def _places(main: dict[str, Any]) -> dict[str, Any]:
    """Return what the row says, in the role's words; the role has defaults for what it does not."""
    own = {"mode": main["mode"], "file": main["file"], "flag_file": main["flagFile"]}
    if "lines" in main:
        own["lines"] = main["lines"].replace("{file}", main["file"])
    names = {"patchFolder": "patch_folder", "unit": "unit", "interrupts": "interrupts"}
    own |= {name: main[key] for key, name in names.items() if key in main}
    return own | ({"in_process": main["inProcess"]} if "inProcess" in main else {})

"""What a cluster will see of a pool: the prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class ResourcePrediction(NamedTuple):
    """One extended resource as a node of the pool advertises it."""

    name: str  # effective, e.g. nvidia.com/mig-1g.5gb.shared
    base: str  # before renaming, e.g. nvidia.com/mig-1g.5gb
    units: int  # per node, replicas included
    devices: int  # per node, before sharing
    replicas: int  # 1 where not shared
    profile: str  # MIG profile, empty for whole GPUs


class Prediction(NamedTuple):
    """Everything about a pool that follows from GPU model, count, MIG and sharing."""

    resources: tuple[ResourcePrediction, ...]  # sorted by name
    labels: Mapping[str, str]  # GFD's labels, as far as spec and catalogue tell
    unknown_labels: tuple[str, ...]  # GFD sets these from facts outside of spec and catalogue
    plugin_config: Mapping[str, Any]  # the config.yaml of plugin, GFD and MPS daemon
    mig_config_name: str  # empty without the cluster's MIG manager or the host's boot service
    mig_config: Mapping[str, Any]  # mig-parted's configuration file; empty like the name

    @property
    def capacity(self) -> dict[str, int]:
        """Effective resource name -> units per node."""
        return {resource.name: resource.units for resource in self.resources}

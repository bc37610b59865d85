"""What components contribute, and the assembly they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from gpugen.model import NOTHING

KubeObject: TypeAlias = dict[str, Any]


class Expression(str):
    """Text that Ansible evaluates; built only from gpugen's own literals, never from user input."""

    __slots__ = ()


class Wave(StrEnum):
    """Steps of the roll-out in order; the value is the folder's name."""

    NAMESPACES = "00-namespaces"
    CRDS = "01-crds"
    ADMISSION = "05-admission"
    DEVICES = "10-devices"
    MONITORING = "20-monitoring"
    SCHEDULING = "30-scheduling"
    SCHEDULER_NAME = "40-scheduler"


class Placed(NamedTuple):
    """An object and its folder; pool is empty for cluster-wide objects."""

    wave: Wave
    object: KubeObject
    pool: str = ""


class Contribution(NamedTuple):
    """What one component adds. Keys of the per-pool mappings are pool names.

    node_labels: owned by the host play, set on every run. initial_labels: created if missing, then
    owned by their controller. host_variables: group_vars of a pool. cluster_variables: group_vars
    of all. control_plane_variables: group_vars of the control plane; strings in these three are
    data. expressions: variables of all hosts that Ansible evaluates for each. roles: host roles in
    use. files: path below out/<cluster> -> text.
    """

    objects: tuple[Placed, ...] = ()
    node_labels: Mapping[str, Mapping[str, str]] = NOTHING
    initial_labels: Mapping[str, Mapping[str, str]] = NOTHING
    host_variables: Mapping[str, Mapping[str, Any]] = NOTHING
    cluster_variables: Mapping[str, Any] = NOTHING
    control_plane_variables: Mapping[str, Any] = NOTHING
    expressions: Mapping[str, Expression] = NOTHING
    roles: tuple[str, ...] = ()
    files: Mapping[str, str | bytes] = NOTHING


class Assembly(NamedTuple):
    """All contributions merged, in order."""

    objects: tuple[Placed, ...]
    node_labels: Mapping[str, Mapping[str, str]]
    initial_labels: Mapping[str, Mapping[str, str]]
    host_variables: Mapping[str, Mapping[str, Any]]
    cluster_variables: Mapping[str, Any]
    control_plane_variables: Mapping[str, Any]
    expressions: Mapping[str, Expression]
    roles: tuple[str, ...]
    files: Mapping[str, str | bytes]

"""The place of a setting of a pool's hosts: in the pool, in hostDefaults, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugen.model.finding import ROOT, Pointer
from gpugen.model.stated import Stated

if TYPE_CHECKING:
    from gpugen.model.spec import ClusterSpec, NodePool

DEFAULTS = ROOT / "hostDefaults"


def host_setting(spec: ClusterSpec, pool: NodePool, *path: str) -> Pointer:
    """Return the place of a setting by its keys below ``host``; the pool's own comes first."""
    return place_of(spec.stated, pool.at, *path)


def place_of(stated: Stated, pool: Pointer, *path: str) -> Pointer:
    """Return the same while the spec is not resolved. pool: where it is stated."""
    own, default = pool / "host", DEFAULTS
    for part in path:
        own, default = own / part, default / part
    return own if own in stated or default not in stated else default

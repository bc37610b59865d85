"""NVIDIA's services on the hosts besides the driver: the DCGM host engine, the MIG boot service."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpugen.model.finding import Pointer


class DcgmMode(StrEnum):
    """Which DCGM engine reads a host's GPUs: the host's service, or one in the cluster.

    MASKED: the host's service is masked, so that the exporter's embedded engine is the only one.
    """

    HOST = "host"
    MASKED = "masked"


class Dcgm(NamedTuple):
    """The DCGM host engine of a pool's hosts; version is empty if it is masked."""

    mode: DcgmMode
    version: str
    at: Pointer


class MigService(NamedTuple):
    """The package of the boot service, if the spec states its version."""

    version: str
    at: Pointer

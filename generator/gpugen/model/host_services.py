"""NVIDIA's services on the hosts besides the driver: the DCGM host engine, the MIG boot service."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpugen.model.finding import Pointer


class DcgmMode(StrEnum):
    """Which DCGM engine reads a host's GPUs: the host's service, or whatever runs in the cluster.

    MASKED: the host's service is kept off, so that an engine embedded in the exporter is alone.
    """

    HOST = "host"
    MASKED = "masked"


class Dcgm(NamedTuple):
    """The DCGM host engine of a pool's machines; version is empty where it is kept off."""

    mode: DcgmMode
    version: str
    at: Pointer


class MigService(NamedTuple):
    """The package that brings the boot service, where the spec states its version."""

    version: str
    at: Pointer

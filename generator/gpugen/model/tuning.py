"""What a host may have beside driver and container toolkit: tuning, and CUDA for programs on it."""

from __future__ import annotations

from typing import NamedTuple

from gpugen.model.finding import Pointer


class Tuning(NamedTuple):
    """Settings of GPUs, kernel and services; None or empty: what the host has is not touched."""

    power_limit_watts: int | None
    locked_clocks_mhz: tuple[int, int] | None  # lowest, highest
    ecc: bool | None
    compute_mode: str  # default, exclusive-process
    iommu: str  # pt, translated, disabled
    acs: str  # disabled
    hugepages_2mi: int | None  # pages
    hugepages_1gi: int | None  # pages
    numa_balancing: bool | None
    memlock: str  # infinity
    nofile: int | None
    gpu_direct_rdma: str  # peermem, dma-buf
    at: Pointer


class CudaToolkit(NamedTuple):
    """Toolkits side by side, each by its major and minor; cuDNN for the default's major."""

    versions: tuple[str, ...]
    default: str  # what /usr/local/cuda leads to; empty: not touched
    profile: bool
    cudnn: str  # exact version; empty: none
    at: Pointer

    @property
    def cudnn_major(self) -> str:
        """CUDA major that cuDNN is for; empty where several majors leave it open."""
        majors = {version.partition(".")[0] for version in self.versions}
        if self.default:
            return self.default.partition(".")[0]
        return majors.pop() if len(majors) == 1 else ""

"""What a host may have besides driver and container toolkit: tuning, and the CUDA toolkit."""

from __future__ import annotations

from typing import NamedTuple

from gpugen.model.finding import Pointer


class Tuning(NamedTuple):
    """Settings of GPUs, kernel and services; None or empty: the host's own is not changed."""

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
    """CUDA toolkits side by side, by major and minor version; cuDNN for the default's major."""

    versions: tuple[str, ...]
    default: str  # target of /usr/local/cuda; empty: not changed
    profile: bool
    cudnn: str  # exact version; empty: none
    at: Pointer

    @property
    def cudnn_major(self) -> str:
        """CUDA major version for cuDNN; empty if there are several."""
        majors = {version.partition(".")[0] for version in self.versions}
        if self.default:
            return self.default.partition(".")[0]
        return majors.pop() if len(majors) == 1 else ""

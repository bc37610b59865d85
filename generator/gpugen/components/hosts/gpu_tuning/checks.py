"""Checks of tuning: settings that a board, a way of sharing or a processor does not take."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.gpu_tuning import runtime_services
from gpugen.hosts.places import host_setting
from gpugen.model.driver import DriverMethod, KernelModules
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode
from gpugen.model.tuning import Tuning

EXCLUSIVE = "exclusive-process"


def _tuned(spec: ClusterSpec) -> Iterator[tuple[NodePool, Tuning]]:
    """List the pools whose hosts are tuned."""
    for pool in spec.pools:
        if pool.host.tuning is not None:
            yield pool, pool.host.tuning


@check("tuning-exclusive-process-with-time-slicing", "TUN-03")
def exclusive_and_shared(spec: ClusterSpec) -> Iterator[Problem]:
    """Time-slicing gives one GPU to several processes, and this compute mode lets in one alone.

    Every further pod would start and find all CUDA devices busy or unavailable. Source: NVML,
    nvmlComputeMode_t.
    """
    for pool, tuning in _tuned(spec):
        if tuning.compute_mode == EXCLUSIVE and pool.sharing.mode is SharingMode.TIME_SLICING:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "computeMode"),
                message=f"pool {POOL} shares its GPUs by time-slicing, and {EXCLUSIVE} lets one"
                " process compute on each",
                hint="leave computeMode out for this pool, or share by mps",
                pool=pool.name,
            )


@check("tuning-compute-mode-with-mps", "TUN-03")
def second_owner_of_the_mode(spec: ClusterSpec) -> Iterator[Problem]:
    """The MPS control daemon sets the compute mode itself, so a unit on the host would fight it.

    Source: k8s-device-plugin v0.19.3, cmd/mps-control-daemon: EXCLUSIVE_PROCESS at start, DEFAULT
    at its end.
    """
    for pool, tuning in _tuned(spec):
        if tuning.compute_mode and pool.sharing.mode is SharingMode.MPS:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "computeMode"),
                message=f"pool {POOL} shares its GPUs by MPS, whose control daemon owns the compute"
                " mode",
                hint="leave computeMode out for this pool",
                pool=pool.name,
            )


@check("tuning-exclusive-process-with-mig", "TUN-03")
def exclusive_and_cut(spec: ClusterSpec) -> Iterator[Problem]:
    """A board in MIG mode does not take this compute mode; nvidia-smi warns and exits 0.

    Source: nvidia-smi's own words, in NVIDIA/DCGM issue 82.
    """
    for pool, tuning in _tuned(spec):
        if tuning.compute_mode == EXCLUSIVE and pool.mig.is_cut:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "computeMode"),
                message=f"pool {POOL} is cut by MIG, and a board in MIG mode does not take"
                f" {EXCLUSIVE}",
                hint="leave computeMode out for this pool",
                pool=pool.name,
            )


@check("tuning-clocks-upside-down", "TUN-02")
def clocks(spec: ClusterSpec) -> Iterator[Problem]:
    """A range of clocks begins with its lowest."""
    for pool, tuning in _tuned(spec):
        if tuning.locked_clocks_mhz and tuning.locked_clocks_mhz[0] > tuning.locked_clocks_mhz[1]:
            low, high = tuning.locked_clocks_mhz
            yield Problem(
                at=host_setting(spec, pool, "tuning", "lockedClocksMHz"),
                message=f"the lowest clock {low} is above the highest {high}",
                hint=f"write {{min: {high}, max: {low}}}",
                pool=pool.name,
            )


@check("tuning-iommu-not-switched-off-on-arm", "TUN-04")
def iommu_on_arm(spec: ClusterSpec) -> Iterator[Problem]:
    """The kernel has words that switch the IOMMU off for x86 processors only.

    Source: Linux, Documentation/admin-guide/kernel-parameters.txt.
    """
    for pool, tuning in _tuned(spec):
        if tuning.iommu == "disabled" and pool.host.architecture == "arm64":
            yield Problem(
                at=host_setting(spec, pool, "tuning", "iommu"),
                message=f"the hosts of pool {POOL} are arm64, where the IOMMU cannot be switched"
                " off"
                " from the command line",
                hint="write pt, which lets the host's devices pass untranslated",
                pool=pool.name,
            )


@check("tuning-dma-buf-needs-open-modules", "TUN-09")
def dma_buf(spec: ClusterSpec) -> Iterator[Problem]:
    """Only the open kernel modules hand out GPU memory as DMA-BUF.

    Source: NVIDIA GPU Operator, GPUDirect RDMA: open modules, Turing or newer, Linux 5.12 or newer.
    """
    for pool, tuning in _tuned(spec):
        driver = pool.host.driver
        is_closed = (
            pool.gpu.kernel_modules == "proprietary-only"
            or driver.kernel_modules is KernelModules.PROPRIETARY
        ) and driver.method is not DriverMethod.NONE
        if tuning.gpu_direct_rdma == "dma-buf" and is_closed:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "gpuDirectRdma"),
                message=f"pool {POOL} gets proprietary kernel modules, and DMA-BUF needs the open"
                " ones",
                hint="write peermem, or kernelModules: open where the GPU takes them",
                pool=pool.name,
            )


@check("tuning-limits-without-unit", "TUN-08")
def limits(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution runs its container runtime inside a process of its own, without a unit."""
    distribution = spec.kubernetes.distribution
    if runtime_services(spec):
        return
    for pool, tuning in _tuned(spec):
        if tuning.memlock or tuning.nofile:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "limits"),
                message=f"{distribution.id} has no unit of the container runtime that could take"
                " limits",
                hint="leave limits out, and set them where the distribution is started",
                pool=pool.name,
            )

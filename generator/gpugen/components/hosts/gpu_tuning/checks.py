"""Checks of tuning: settings that GPU model, sharing mode or CPU architecture do not support."""

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
    for pool in spec.pools:
        if pool.host.tuning is not None:
            yield pool, pool.host.tuning


@check("tuning-exclusive-process-with-time-slicing", "TUN-03")
def exclusive_and_shared(spec: ClusterSpec) -> Iterator[Problem]:
    """Time-slicing shares a GPU between processes, but this compute mode allows only one.

    Every other pod would start and find all CUDA devices busy or unavailable. Source: NVML,
    nvmlComputeMode_t.
    """
    for pool, tuning in _tuned(spec):
        if tuning.compute_mode == EXCLUSIVE and pool.sharing.mode is SharingMode.TIME_SLICING:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "computeMode"),
                message=f"pool {POOL} shares its GPUs by time-slicing, but {EXCLUSIVE} allows one"
                " process per GPU",
                hint="remove computeMode for this pool, or use mode: mps",
                pool=pool.name,
            )


@check("tuning-compute-mode-with-mps", "TUN-03")
def second_owner_of_the_mode(spec: ClusterSpec) -> Iterator[Problem]:
    """The MPS control daemon sets the compute mode itself, so the host must not set it.

    Source: k8s-device-plugin v0.19.3, cmd/mps-control-daemon: EXCLUSIVE_PROCESS at start, DEFAULT
    at its end.
    """
    for pool, tuning in _tuned(spec):
        if tuning.compute_mode and pool.sharing.mode is SharingMode.MPS:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "computeMode"),
                message=f"pool {POOL} shares its GPUs by MPS, whose control daemon sets the"
                " compute mode",
                hint="remove computeMode for this pool",
                pool=pool.name,
            )


@check("tuning-exclusive-process-with-mig", "TUN-03")
def exclusive_and_mig(spec: ClusterSpec) -> Iterator[Problem]:
    """A GPU in MIG mode does not support this compute mode; nvidia-smi warns and exits 0.

    Source: output of nvidia-smi, in NVIDIA/DCGM issue 82.
    """
    for pool, tuning in _tuned(spec):
        if tuning.compute_mode == EXCLUSIVE and pool.mig.has_instances:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "computeMode"),
                message=f"pool {POOL} has a MIG layout, and a GPU in MIG mode does not support"
                f" {EXCLUSIVE}",
                hint="remove computeMode for this pool",
                pool=pool.name,
            )


@check("tuning-clocks-upside-down", "TUN-02")
def clocks(spec: ClusterSpec) -> Iterator[Problem]:
    """The lowest clock must not be above the highest."""
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
    """Only x86 kernels have parameters that disable the IOMMU.

    Source: Linux, Documentation/admin-guide/kernel-parameters.txt.
    """
    for pool, tuning in _tuned(spec):
        if tuning.iommu == "disabled" and pool.host.architecture == "arm64":
            yield Problem(
                at=host_setting(spec, pool, "tuning", "iommu"),
                message=f"the hosts of pool {POOL} are arm64, where no kernel parameter disables"
                " the IOMMU",
                hint="write pt, which does not translate DMA of the host's own devices",
                pool=pool.name,
            )


@check("tuning-dma-buf-needs-open-modules", "TUN-09")
def dma_buf(spec: ClusterSpec) -> Iterator[Problem]:
    """Only the open kernel modules export GPU memory as DMA-BUF.

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
                message=f"pool {POOL} has proprietary kernel modules, but DMA-BUF needs the open"
                " ones",
                hint="write peermem, or kernelModules: open if the GPU model supports them",
                pool=pool.name,
            )


@check("tuning-limits-without-unit", "TUN-08")
def limits(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution runs its container runtime in its own process, without a systemd unit."""
    distribution = spec.kubernetes.distribution
    if runtime_services(spec):
        return
    for pool, tuning in _tuned(spec):
        if tuning.memlock or tuning.nofile:
            yield Problem(
                at=host_setting(spec, pool, "tuning", "limits"),
                message=f"{distribution.id} has no systemd unit for the container runtime that"
                " limits could apply to",
                hint="remove limits, and set them in the unit that starts {distribution.id}",
                pool=pool.name,
            )

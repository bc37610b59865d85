# Copyright: the gpugen authors. Apache-2.0.
"""Reasons to refuse a host, all at once.

What only the driver can answer is not checked while it does not answer; verification asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..common import seen as answers
from . import kernel, places
from .host import Host, number

DMA_BUF = (5, 12)  # the first kernel with it


def faults(own: Host) -> Iterator[str]:
    """Yield the reasons (TUN-01 to TUN-09)."""
    yield from _of_gpus(own)
    yield from _of_boot(own)
    yield from _of_pages(own)
    if own.numa and not kernel.live(own)[kernel.BALANCING]:
        yield (
            "TUN-07: the kernel does not balance memory between NUMA nodes, so there is nothing to"
            " set (gpu_tuning_numa_balancing)"
        )
    if own.has_limits and not own.runtimes:
        yield (
            f"TUN-08: none of {', '.join(own.services) or 'no unit'} is on the host, so nothing"
            " could take the limits (gpu_tuning_runtime_services, gpu_tuning_memlock,"
            " gpu_tuning_nofile)"
        )
    if own.rdma:
        yield from _of_rdma(own)


def _of_gpus(own: Host) -> Iterator[str]:
    far = [gpu for gpu in own.gpus if not _takes(own.power, gpu.lowest, gpu.highest)]
    if own.power and far:
        yield (
            f"TUN-01: GPUs {', '.join(gpu.name for gpu in far)} take a power limit from"
            f" {far[0].lowest} to {far[0].highest} W, expected {own.power}"
            " (gpu_tuning_power_limit_watts)"
        )
    if own.clocks and (len(own.clocks) != 2 or own.clocks[0] > own.clocks[1]):
        yield (
            "TUN-02: a range of clocks is its lowest and its highest, in MHz"
            " (gpu_tuning_locked_clocks_mhz)"
        )
    highest = own.clocks[-1] if own.clocks else 0
    slow = [gpu for gpu in own.gpus if int(number(gpu.highest_clock)) < highest]
    if slow:
        yield (
            f"TUN-02: GPUs {', '.join(gpu.name for gpu in slow)} reach {slow[0].highest_clock}"
            f" MHz, expected up to {highest} (gpu_tuning_locked_clocks_mhz)"
        )
    if own.ecc and any(gpu.ecc_pending not in {"Enabled", "Disabled"} for gpu in own.gpus):
        yield (
            "TUN-03: the GPUs have no ECC to switch: nvidia-smi says"
            f" {own.column('ecc_pending')} (gpu_tuning_ecc)"
        )


def _takes(watts: int, lowest: str, highest: str) -> bool:
    return number(lowest) <= watts <= number(highest)


def _of_boot(own: Host) -> Iterator[str]:
    loader = places.GRUBBY if own.has_grubby else places.UPDATE_GRUB
    if kernel.words(own) and not answers.found(own.seen, loader):
        yield (
            f"TUN-04: the host has no {loader}, by which the role sets the kernel command line"
            " (gpu_tuning_iommu, gpu_tuning_hugepages_1gi)"
        )
    if own.iommu and not own.is_arm and own.vendor not in kernel.IOMMUS:
        yield (
            f"TUN-04: the processor's vendor is {own.vendor or 'unknown'}, whose IOMMU parameters"
            " are not known (gpu_tuning_iommu)"
        )
    if own.iommu == "disabled" and own.is_arm:
        yield (
            "TUN-04: processors of this architecture have no parameter that switches the IOMMU"
            f" off, expected {own.iommu} (gpu_tuning_iommu)"
        )
    if own.acs and answers.command(own.seen, "machine")["rc"] == 0:
        yield (
            "TUN-05: the host is a virtual machine, whose bridges belong to the hypervisor; ACS is"
            " switched off on bare metal alone (gpu_tuning_acs)"
        )


def _of_pages(own: Host) -> Iterator[str]:
    sizes = own.page_sizes
    listed = ", ".join(sizes) or "none"
    if own.pages_2mi >= 0 and "hugepages-2048kB" not in sizes:
        yield (
            f"TUN-06: the kernel has no huge pages of 2 MiB, but {listed}"
            " (gpu_tuning_hugepages_2mi)"
        )
    if own.pages_1gi != 0 and "hugepages-1048576kB" not in sizes:
        yield (
            f"TUN-06: the processor has no huge pages of 1 GiB, but {listed}"
            " (gpu_tuning_hugepages_1gi)"
        )


def _of_rdma(own: Host) -> Iterator[str]:
    if not answers.found(own.seen, own.tree.cards):
        yield (
            f"TUN-09: no RDMA network card below {own.tree.sysfs}/class/infiniband, expected"
            f" {own.rdma} (gpu_tuning_gpu_direct_rdma)"
        )
    if own.needs_peermem and not answers.command(own.seen, "peers")["out"]:
        yield (
            "TUN-09: the kernel's RDMA core knows no peer memory (ib_register_peer_memory_client),"
            " so nvidia-peermem would not load; install the vendor's network drivers, or use"
            " dma-buf (gpu_tuning_gpu_direct_rdma)"
        )
    release = answers.host(own.seen, "kernel")
    if own.rdma != "dma-buf":
        return
    if tuple(map(int, re.findall(r"\d+", release)[:2])) < DMA_BUF:
        yield (
            f"TUN-09: kernel {release} is older than 5.12, with which DMA-BUF for RDMA begins"
            " (gpu_tuning_gpu_direct_rdma)"
        )
    if own.driver and "Open Kernel Module" not in own.driver:
        yield (
            "TUN-09: the loaded driver's modules are proprietary, and DMA-BUF needs the open ones"
            " (gpu_tuning_gpu_direct_rdma)"
        )

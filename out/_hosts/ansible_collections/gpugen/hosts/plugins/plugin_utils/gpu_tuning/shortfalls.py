# Copyright: the gpugen authors. Apache-2.0.
"""What a host of these settings does not show."""

from __future__ import annotations

from collections.abc import Iterator

from ..common import seen as answers
from . import kernel, limits, units
from .host import Host, number


def shortfalls(own: Host) -> Iterator[str]:
    """Yield what verification finds (TUN-01 to TUN-10)."""
    if reasons := kernel.reboots(own):
        yield f"TUN-10: reboot due: {', '.join(reasons)}"
    yield from _of_gpus(own)
    if own.acs and own.bridges:
        yield (
            f"TUN-05: ACS is on at {', '.join(own.bridges)}, expected {own.acs} (gpu_tuning_acs)"
        )
    yield from _of_memory(own)
    if services := limits.outdated(own):
        yield (
            f"TUN-08: {', '.join(services)} runs with other limits or since before the huge pages"
            " (gpu_tuning_memlock, gpu_tuning_nofile, gpu_tuning_hugepages_2mi)"
        )
    if own.needs_peermem and not own.has_peermem:
        yield "TUN-09: nvidia-peermem is not loaded, expected peermem (gpu_tuning_gpu_direct_rdma)"
    if others := [*units.due(own), *units.retired(own)]:
        names = ", ".join(setting.name for setting in others)
        yield f"GEN-10: gpugen's units are not as expected: {names}"


def is_ecc_wrong(own: Host) -> bool:
    """Tell whether a GPU runs with another ECC; the next boot would change it."""
    return bool(own.ecc) and any(gpu.ecc != own.ecc.capitalize() for gpu in own.gpus)


def is_ecc_due(own: Host) -> bool:
    """Tell whether a GPU would have another ECC after the next boot."""
    return bool(own.ecc) and any(gpu.ecc_pending != own.ecc.capitalize() for gpu in own.gpus)


def _of_gpus(own: Host) -> Iterator[str]:
    if is_ecc_wrong(own):
        yield (
            f"TUN-03: ECC is {own.column('ecc')}, expected {own.ecc}; it changes with the next"
            " boot, which a further run of the play asks for (gpu_tuning_ecc)"
        )
    if own.needs_smi and not own.has_smi:
        answer = answers.command(own.seen, "smi")
        said = (answer["out"] or answer["err"]).strip()
        yield f"TUN-01: nvidia-smi: {said or 'no answer'}"
    wrong = {setting.name for setting in units.expected(own) if not setting.is_live}
    if "gpugen-gpu-power-limit" in wrong:
        yield (
            f"TUN-01: the power limit is {own.column('limit')} W, expected {own.power}"
            " (gpu_tuning_power_limit_watts)"
        )
    if "gpugen-gpu-locked-clocks" in wrong:
        yield (
            f"TUN-02: the clocks run at {own.column('clock')} MHz, expected"
            f" {' to '.join(map(str, own.clocks))} (gpu_tuning_locked_clocks_mhz)"
        )
    if "gpugen-gpu-compute-mode" in wrong:
        yield (
            f"TUN-03: the compute mode is {own.column('mode')}, expected {own.mode}"
            " (gpu_tuning_compute_mode)"
        )


def _of_memory(own: Host) -> Iterator[str]:
    found = kernel.live(own)
    pages = found[kernel.PAGES]
    if number(pages) < own.pages_2mi:
        yield (
            f"TUN-06: {pages} huge pages of 2 MiB could be had, expected {own.pages_2mi}"
            " (gpu_tuning_hugepages_2mi); memory is in pieces, reboot the host or ask for fewer"
        )
    if kernel.BALANCING in kernel.wrong(own):
        yield (
            f"TUN-07: kernel.numa_balancing is {found[kernel.BALANCING]}, expected {own.numa}"
            " (gpu_tuning_numa_balancing)"
        )

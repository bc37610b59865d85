# Copyright: the gpugen authors. Apache-2.0.
"""What a good driver shows. All that is missing of it is reported at once."""

from __future__ import annotations

from collections.abc import Iterator

from . import names, steps
from .family import Family
from .state import State


def shortfalls(now: State, family: Family) -> list[str]:
    """Return what is missing, "RULE: text"."""
    return [*_of_installation(now, family), *_of_answers(now), *_of_running(now)]


def _of_installation(now: State, family: Family) -> Iterator[str]:
    own, host = now.own, now.host
    if steps.reboot_due(now):
        others = "".join(f", {name} too" for name in host.displaced)
        yield f"DRV-16: reboot due: driver {host.loaded or 'none'} is loaded{others}"
    if now.change_due:
        missing = ", ".join(now.unfinished) or "the installer did not finish"
        yield f"DRV-02: not all of the driver is installed at {own.version}: {missing}"
    if own.by_packages and family.is_unlocked and not own.around.is_check:
        yield (
            f"DRV-06: the driver is not locked to {own.version},"
            " or its module stream is not enabled; run site.yml"
        )


def _of_answers(now: State) -> Iterator[str]:
    own, host = now.own, now.host
    if not host.answers:
        smi = host.answer("smi")
        yield f"DRV-21: nvidia-smi: {(smi['out'] or smi['err'] or 'no answer').strip()}"
    elif len(host.gpus) != own.expected_gpus:
        yield (
            f"DRV-21: the driver shows {len(host.gpus)} GPUs, expected {own.expected_gpus}"
            " (nvidia_driver_expected_gpus)"
        )
    versions = names.unique(line.partition(",")[0] for line in host.gpus)
    if own.version and names.without(versions, [own.version]):
        yield (
            f"DRV-21: the driver calls itself {', '.join(versions)}, expected {own.version}"
            " (nvidia_driver_version)"
        )


def _of_running(now: State) -> Iterator[str]:
    own, host = now.own, now.host
    if not own.installs:
        return
    if host.flavour != own.modules:
        yield (
            f"DRV-01: the loaded kernel module is {host.flavour}, expected {own.modules}"
            " (nvidia_driver_modules)"
        )
    if host.unpersistent:
        yield "DRV-19: persistence mode is off on some GPU"
    if idle := steps.idle_services(host):
        yield f"DRV-08: {', '.join(idle)} does not run, or not after the next boot"

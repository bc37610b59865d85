# Copyright: the gpugen authors. Apache-2.0.
"""Every reason to refuse a host. All are reported at once, before the first write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..common import host as system
from ..common import seen as read
from ..common.packages import without
from . import repositories
from .host import FIRST_PROCESS, Host, gpus, marker

PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}
STATED = "(gpu_prerequisites_repositories)"


def faults(host: Host) -> list[str]:
    """Return the faults; of a host that was not read, those of the spec alone."""
    of_host = [*_of_gpus(host), *_of_system(host)] if host.is_read else []
    return [*of_host, *_of_keys(host)]


def _of_gpus(host: Host) -> Iterator[str]:
    found = gpus(read.command(host.seen, "pci")["out"])
    count = int(host.own("gpu_count") or 0)
    if not found and count:
        sysfs = host.wanted.get("__gpu_prerequisites_sysfs", "/sys")
        yield f"PRE-01: no NVIDIA GPU below {sysfs}/bus/pci/devices"
    if len(found) != count:
        yield (
            f"PRE-02: {len(found)} GPUs in PCI, expected {count} (gpu_prerequisites_gpu_count); "
            "repair the host, or change gpu.count of the pool"
        )
    devices = host.own("gpu_devices") or []
    others = without(found, [device.upper() for device in devices]) if devices else []
    if others:
        yield (
            f"PRE-02: GPUs with device id {', '.join(others)}, expected {', '.join(devices)} "
            "(gpu_prerequisites_gpu_devices); the host belongs into a pool of another GPU model"
        )


def _of_system(host: Host) -> Iterator[str]:
    own = host.seen["host"]
    names, expected = system.systems(host.seen), host.own("os")
    if expected not in names or own["pkg_mgr"] not in {"apt", "dnf"}:
        yield f"PRE-03: the system is {names[0]}, expected {expected} (gpu_prerequisites_os)"
    processor = host.own("architecture")
    if processor and own["architecture"] != PROCESSORS[processor]:
        yield (
            f"PRE-03: the processor is {own['architecture']}, expected {processor} "
            "(gpu_prerequisites_architecture)"
        )
    yield from _of_dnf(host)
    if not own["systemd"]:
        first = host.text(FIRST_PROCESS).strip() or "nothing"
        yield f"PRE-03: services are run by {first}, expected systemd"
    if read.found(host.seen, marker(host)):
        yield "PRE-03: the host is a container; its kernel belongs to somebody else"
    if "microsoft" in own["kernel"].lower():
        yield "PRE-03: the host is WSL; its driver belongs to Windows"


def _of_dnf(host: Host) -> Iterator[str]:
    if host.manager != "dnf":
        return
    if not host.seen["host"]["has_dnf"]:
        python = host.seen["host"]["python"]
        yield f"PRE-03: the Python {python} has no bindings of dnf; install python3-dnf"
    elif any(own.form != "asc" for own in repositories.keys(host)[0]):
        yield (
            "PRE-03: the key of a repository is binary, and dnf reads armored ones only " + STATED
        )


def _of_keys(host: Host) -> Iterator[str]:
    if others := repositories.rivals(host):
        yield (
            f"PRE-07: {', '.join(others)} configures the same repository, and two that differ in "
            "their key cannot be read; remove it, or leave the repositories out of the spec"
        )
    keyed, problems = repositories.keys(host)
    yield from (f"PRE-07: {problem} {STATED}" for problem in problems)
    for own in keyed:
        if own.fingerprint != repositories.fingerprint(own.repository):
            expected = own.repository["fingerprint"]
            key = own.repository["key"]
            yield f"PRE-07: {key} holds key {own.fingerprint}, expected {expected} {STATED}"
    unsigned = [str(own["name"]) for own in host.repositories if not _is_signed(own)]
    if unsigned:
        yield f"PRE-07: neither packages nor index are signed in {' '.join(unsigned)} {STATED}"


def _is_signed(repository: Mapping[str, object]) -> bool:
    return bool(repository.get("signed_packages", True) or repository.get("signed_metadata", False))

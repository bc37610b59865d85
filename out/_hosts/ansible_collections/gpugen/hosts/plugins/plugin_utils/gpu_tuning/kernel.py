# Copyright: the gpugen authors. Apache-2.0.
"""The kernel's command line, its parameters and its modules (TUN-04, TUN-06, TUN-07, TUN-09)."""

from __future__ import annotations

from ..common import seen as answers
from ..common.packages import without
from . import places
from .host import Host

IOMMUS = {"GenuineIntel": "intel_iommu", "AuthenticAMD": "amd_iommu", "HygonGenuine": "amd_iommu"}
NOW, GONE = "# Kernel arguments: ", "# Until a boot without: "
WAS = "# Was: "
PAGES, BALANCING = "vm.nr_hugepages", "kernel.numa_balancing"


def words(own: Host) -> list[str]:
    """Return the words that the kernel's command line should have."""
    pages = ["hugepagesz=1G", f"hugepages={own.pages_1gi}"] if own.pages_1gi > 0 else []
    return [*_iommu(own), *pages]


def _iommu(own: Host) -> list[str]:
    name = IOMMUS.get(own.vendor, "")
    if not own.iommu:
        return []
    if own.iommu == "disabled":
        return [f"{name}=off"]
    is_passed = own.iommu == "pt"
    if own.is_arm:
        return [f"iommu.passthrough={int(is_passed)}"]
    return [f"{name}=on", "iommu=pt" if is_passed else "iommu=nopt"]


def gone(own: Host) -> list[str]:
    """Return former words of ours that the kernel, or an entry of its loader, still has."""
    lines = answers.text(own.seen, own.kernel_file).splitlines()
    notes = [line.partition(": ")[2] for line in lines if line.startswith((NOW, GONE))]
    former = {word for note in notes for word in note.split()}
    present = {*own.cmdline, *(word for entry in entries(own) for word in entry)}
    return sorted((former - {*words(own)}) & present)


def entries(own: Host) -> list[list[str]]:
    """Return the command line of each entry that grubby tells."""
    lines = answers.command(own.seen, "grubby")["out"].splitlines() if own.has_grubby else []
    quoted = [line for line in lines if line.startswith('args="') and line.endswith('"')]
    return [line[len('args="') : -1].split() for line in quoted]


def text(own: Host) -> str:
    """Return what the file of the command line should say; empty where there should be none."""
    has, had = " ".join(words(own)), " ".join(gone(own))
    if not (has or had):
        return ""
    lines = [f"{NOW}{has}"] if has else []
    lines += [f"{GONE}{had}"] if had else []
    if has and not own.has_grubby:
        lines.append(f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {has}"')
    return places.HEAD + "".join(f"{line}\n" for line in lines)


def is_due(own: Host) -> bool:
    """Tell whether the file, or what the boot loader made of it, is not as it should be."""
    found = answers.text(own.seen, own.kernel_file)
    return found.strip() != text(own).strip() or _is_loader_stale(own, found)


def _is_loader_stale(own: Host, found: str) -> bool:
    if not own.has_grubby:
        return bool(found) and not answers.command(own.seen, "grub")["out"]
    has, had = {*words(own)}, {*gone(own)}
    return any(has - {*entry} or had & {*entry} for entry in entries(own))


def loader(own: Host) -> list[str]:
    """Return the command that brings the words into the boot loader's entries."""
    if not own.has_grubby:
        return ["update-grub"]
    has, had = " ".join(words(own)), " ".join(gone(own))
    removal = [f"--remove-args={had}"] if had else []
    return ["grubby", "--update-kernel=ALL", *removal, *([f"--args={has}"] if has else [])]


def missing(own: Host) -> list[str]:
    """Return words that the running kernel was not started with."""
    return without(words(own), own.cmdline)


def lingering(own: Host) -> list[str]:
    """Return former words that the running kernel was started with."""
    return [word for word in gone(own) if word in own.cmdline]


def reboots(own: Host) -> list[str]:
    """Return why the host must reboot (TUN-10)."""
    new, old = missing(own), lingering(own)
    found = [f"kernel command line without {' '.join(new)}"] if new else []
    return found + ([f"kernel command line still with {' '.join(old)}"] if old else [])


def parameters(own: Host) -> dict[str, str]:
    """Return the stated kernel parameters, in the order of their names."""
    found = {}
    if own.numa:
        found[BALANCING] = "1" if own.numa == "enabled" else "0"
    if own.pages_2mi >= 0:
        found[PAGES] = str(own.pages_2mi)
    return found


def live(own: Host) -> dict[str, str]:
    """Return the kernel parameters as they are; empty where the kernel has none."""
    paths = {BALANCING: own.tree.balancing, PAGES: own.tree.nr_pages}
    return {name: answers.text(own.seen, path).strip() for name, path in paths.items()}


def former(own: Host) -> dict[str, str]:
    """Return the kernel parameters as they were before the role."""
    lines = answers.text(own.seen, places.SYSCTL_FILE).splitlines()
    notes = [line.removeprefix(WAS).split() for line in lines if line.startswith(WAS)]
    return {note[0]: note[2] for note in notes if len(note) == 3 and note[1] == "="}


def sysctl(own: Host) -> str:
    """Return what the file of parameters should say; empty where there should be none."""
    before = {**live(own), **former(own)}
    stated = parameters(own)
    lines = [f"{WAS}{name} = {before[name]}\n{name} = {value}\n" for name, value in stated.items()]
    return places.HEAD + "".join(lines) if lines else ""


def wrong(own: Host) -> list[str]:
    """Return the names of parameters whose value is not as stated."""
    found = live(own)
    return [name for name, value in parameters(own).items() if found[name] != value]


def restored(own: Host) -> list[str]:
    """Return the former values of parameters that are no longer stated."""
    stated = parameters(own)
    return [f"{name}={value}" for name, value in sorted(former(own).items()) if name not in stated]


def modules(own: Host) -> str:
    """Return what the file of modules should say; empty where there should be none."""
    return places.MODULES_TEXT if own.needs_peermem else ""

# Copyright: the gpugen authors. Apache-2.0.
"""What was seen of a host, in the words of the decisions. All of it may be missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..common import host as system
from . import names
from .wants import Wants

NOTHING_RECORDED: Mapping[str, Any] = {
    "managedBy": "gpugen",
    "method": "",
    "version": "",
    "modules": "",
    "packages": [],
    "installed": [],
}
GPU = re.compile(r"30[0-9A-F]{3}")  # class of a 3D or VGA controller
RUNNING = ("active", "activating", "reloading")


class Host:
    """The answers of one host, parsed where they are used; a class because parsing is kept."""

    def __init__(self, seen: Mapping[str, Any], own: Wants) -> None:
        self._seen = seen
        self._own = own

    def text(self, path: str) -> str:
        """Return a file's text; empty where there is none."""
        found = self._seen.get("files", {}).get(path)
        return str(found["text"]) if found else ""

    def has_file(self, path: str) -> bool:
        """Tell whether a file was there."""
        return self._seen.get("files", {}).get(path) is not None

    def globbed(self, pattern: str) -> list[str]:
        """Return the paths of a pattern."""
        return list(self._seen.get("globs", {}).get(pattern, ()))

    def out(self, command: str) -> str:
        """Return what a command printed."""
        return str(self.answer(command)["out"])

    def answer(self, command: str) -> Mapping[str, Any]:
        """Return the answer of a command; as of a missing program where it was not asked."""
        found = self._seen.get("commands", {}).get(command)
        return found or {"rc": 127, "out": "", "err": ""}

    def was_asked(self, command: str) -> bool:
        """Tell whether a command was run."""
        return command in self._seen.get("commands", {})

    def was_listed(self, packages: Iterable[str]) -> bool:
        """Tell whether each of these packages was asked for."""
        return set(packages) <= set(self._seen.get("patterns", ()))

    def status(self, url: str) -> Mapping[str, Any]:
        """Return status and reason of an address; 200 where it was not asked."""
        found = self._seen.get("urls", {}).get(url)
        return found or {"status": 200, "msg": ""}

    @property
    def job(self) -> Mapping[str, Any]:
        """What an earlier run left; empty where it left nothing."""
        return self._seen.get("job") or {}

    @property
    def packages(self) -> Mapping[str, Mapping[str, Any]]:
        """What is installed: name -> version, held."""
        return self._seen.get("packages") or {}

    @property
    def is_dnf(self) -> bool:
        """Whether the host has dnf, not apt."""
        return system.package_manager(self._seen, self._own.around.os) == "dnf"

    @property
    def is_debian(self) -> bool:
        """Whether the system is Debian itself."""
        return system.os_release(self._seen).get("ID") == "debian"

    @property
    def kernel(self) -> str:
        """Release of the kernel that runs."""
        return self.out("kernel").strip() or str(self._seen.get("host", {}).get("kernel", ""))

    @property
    def kubelet_runs(self) -> bool:
        """Whether the host is a node at work."""
        return bool(self.out("kubelet"))

    @property
    def displaced(self) -> list[str]:
        """Modules of the kernel's own that are loaded."""
        folders = self._own.places.kernels_own()
        return [name for folder, name in folders.items() if self.globbed(folder)]

    @property
    def has_fabric(self) -> bool:
        """Whether the host owns NVSwitches."""
        return self._own.installs and bool(self.out("switches"))

    @cached_property
    def recorded(self) -> Mapping[str, Any]:
        """The role's record, complete."""
        return {**NOTHING_RECORDED, **_json(self.text(names.RECORD))}

    @property
    def is_recorded(self) -> bool:
        """Whether the role installed the driver."""
        return bool(self.recorded["method"])

    @property
    def stopped(self) -> list[str]:
        """Services that were stopped for an exchange and did not all start again yet (DRV-17)."""
        return list(_json(self.text(names.STOPPED)).get("units", ()))

    @cached_property
    def loaded(self) -> str:
        """Version of the loaded driver; empty where none is."""
        line = self.text(self._own.places.loaded).partition("NVRM version:")[2].partition("\n")[0]
        return next((word for word in line.split() if names.is_driver_version(word)), "")

    @property
    def flavour(self) -> str:
        """Flavour of the loaded driver."""
        is_open = "Open Kernel Module" in self.text(self._own.places.loaded)
        return "open" if is_open else "proprietary"

    @property
    def answers(self) -> bool:
        """Whether nvidia-smi works."""
        return bool(self.answer("smi")["rc"] == 0)

    @property
    def gpus(self) -> list[str]:
        """A line per GPU: version, persistence mode."""
        return self.out("smi").splitlines() if self.answers else []

    @property
    def unpersistent(self) -> list[str]:
        """GPUs without persistence mode."""
        return [line for line in self.gpus if not line.rstrip(" ").endswith(", Enabled")]

    @property
    def modules_beside(self) -> list[str]:
        """The driver's modules that are loaded beside its main one."""
        paths = self.globbed(self._own.places.modules)
        return [name for name in (path.rpartition("/")[2] for path in paths) if name != "nvidia"]

    @property
    def secure_boot(self) -> bool:
        """Whether the firmware checks signatures: the last of the variable's bytes (DRV-11)."""
        return self.text(self._own.places.secure_boot)[-1:] == "\x01"

    @property
    def key(self) -> str:
        """The key with which DKMS signs."""
        return next((path for path in names.KEYS if self.globbed(path)), "")

    @property
    def key_is_enrolled(self) -> bool:
        """Whether the firmware knows that key."""
        command = "key_of_shim" if self.key == names.KEYS[0] else "key_of_dkms"
        return bool(self.key) and "already enrolled" in self.out(command)

    @property
    def free_mib(self) -> tuple[int, int]:
        """Free MiB below / and /boot, which need not be there."""
        found = [int(line) for line in self.out("df").splitlines()[1:] if line.strip().isdigit()]
        return (found[0], found[1] if len(found) > 1 else found[0]) if found else (0, 0)

    @cached_property
    def bound(self) -> list[str]:
        """What the GPUs' PCI functions are bound to, "driver slot"."""
        found = (
            f"{each['DRIVER']} {each['PCI_SLOT_NAME']}"
            for each in _functions(self.out("pci"))
            if {"DRIVER", "PCI_SLOT_NAME", "PCI_CLASS"} <= each.keys()
            and GPU.fullmatch(each["PCI_CLASS"])
            and each.get("PCI_ID", "").startswith("10DE:")
        )
        return sorted(found)

    @property
    def taken(self) -> list[str]:
        """GPUs bound to a driver that neither is NVIDIA's nor makes way for it."""
        known = {"nvidia", *(_flat(name) for name in self.displaced)}
        return [each for each in self.bound if _flat(each.split(" ")[0]) not in known]

    def units_in(self, field: str, values: Sequence[str]) -> list[str]:
        """Return the units of which a field of systemd has one of the values."""
        units = self._seen.get("units", {})
        return [name for name, state in units.items() if state.get(field) in values]

    @property
    def running(self) -> list[str]:
        """Units that run, or are about to."""
        return self.units_in("ActiveState", RUNNING)

    @property
    def known_units(self) -> list[str]:
        """Units that the host has."""
        return self.units_in("LoadState", ("loaded",))

    @property
    def apps(self) -> list[str]:
        """Processes that compute on the GPUs."""
        return [line for line in self.out("apps").splitlines() if line.isdigit()]

    @property
    def holders(self) -> list[str]:
        """Other processes that have a device open, less agents of the driver and the node."""
        found = self._seen.get("users", {}).get("gpus", ())
        pids = (str(each["pid"]) for each in found if each["name"] not in names.AGENTS)
        return names.without(pids, self.apps)


def _json(text: str) -> Mapping[str, Any]:
    """Return what a file of the role says; an empty one, as a full disk leaves it, says nothing."""
    found = json.loads(text or "{}")
    return found if isinstance(found, dict) else {}


def _functions(uevents: str) -> Iterable[Mapping[str, str]]:
    """Return the PCI functions of concatenated uevent files, of which the driver comes first."""
    found: list[dict[str, str]] = [{}]
    for line in uevents.splitlines():
        name, _dummy, value = line.partition("=")
        starts = name == "DRIVER" or (name == "PCI_CLASS" and found[-1].keys() != {"DRIVER"})
        if starts:
            found.append({})
        found[-1][name] = value
    return found


def _flat(driver: str) -> str:
    """Return a driver's name as compared; the kernel writes nova_core's as NovaCore."""
    return driver.lower().replace("_", "")

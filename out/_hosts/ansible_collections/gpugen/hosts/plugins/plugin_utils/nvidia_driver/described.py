# Copyright: the gpugen authors. Apache-2.0.
"""A host that is just as its variables say, in the shape of a probe's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common import host as system
from . import files, names, transaction
from .choice import family_of
from .host import Host
from .state import state
from .wants import Wants, wants

KERNEL = "described"
LOADED = "NVRM version: NVIDIA UNIX {}Kernel Module  {}  \n"


def described(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of that host; it owns NVSwitches where the spec has packages for them."""
    own = wants(wanted)
    seen = _bare(own)
    if not own.installs:
        return seen
    host = Host(seen, own)
    expected = state(own, host)
    seen["packages"] = {
        **{name: {"version": "0-1", "held": False} for name in (*expected.extra, "dkms")},
        **(_pinned(own, expected.expected) if own.by_packages else {}),
    }
    _add_files(seen, own)
    return seen


def _bare(own: Wants) -> dict[str, Any]:
    """Return a host on which the driver runs."""
    flavour = "Open " if own.modules == "open" else ""
    unit = {"LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled"}
    os = own.around.os
    outputs = {
        "smi": f"{own.version}, Enabled\n" * own.expected_gpus,
        "switches": "switch" if own.fabric_packages else "",
        "dkms": f"nvidia/{own.version}, {KERNEL}, x86_64: installed\n",
    }
    return {
        "host": {
            "os_release": f"ID={os.partition('-')[0]}\n",
            "kernel": KERNEL,
            "pkg_mgr": system.package_manager({}, os),
        },
        "files": {own.places.loaded: _file(LOADED.format(flavour, own.version))},
        "globs": {},
        "packages": {},
        "units": dict.fromkeys(names.OWN_UNITS, unit),
        "commands": {name: {"rc": 0, "out": out, "err": ""} for name, out in outputs.items()},
    }


def _pinned(own: Wants, expected: list[str]) -> dict[str, Any]:
    found = {"version": f"{own.version}-1", "held": True}
    return dict.fromkeys(expected, found)


def _add_files(seen: dict[str, Any], own: Wants) -> None:
    """Add what the role writes in view of what is installed."""
    host = Host(seen, own)
    now = state(own, host)
    written = files.modules(own, host)
    if own.by_packages:
        written.append(transaction.lock(now, family_of(now))["file"])
    if own.stream and host.is_dnf:
        module, _dummy, stream = own.stream.partition(":")
        written.append(files.file(names.STREAM, f"[{module}]\nstate=enabled\nstream={stream}\n"))
    written.append(files.file(names.RECORD, files.as_json(files.record(now))))
    seen["files"].update({each["path"]: _file(each["content"]) for each in written})
    if own.method == "runfile":
        seen["globs"][names.UNINSTALLER] = [names.UNINSTALLER]


def _file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 0.0}

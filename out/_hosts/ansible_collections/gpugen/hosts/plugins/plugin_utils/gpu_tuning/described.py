# Copyright: the gpugen authors. Apache-2.0.
"""The answers of a host that has the settings that are stated."""

from __future__ import annotations

from typing import Any

from . import kernel, limits, places, units
from .host import Gpu, Host, Seen, Wanted, read

UNBOUND = "99999"  # no spec states what a GPU can take


def described(wanted: Wanted) -> dict[str, Any]:
    """Return what such a host would answer."""
    seen = _machine(wanted)
    own = read(seen, wanted)
    texts = {
        own.tree.cmdline: " ".join(kernel.words(own)),
        own.kernel_file: kernel.text(own),
        places.SYSCTL_FILE: kernel.sysctl(own),
        places.MODULES_FILE: kernel.modules(own),
        places.ACS_SCRIPT: places.ACS_PROGRAM if own.acs else "",
        **{places.limits_file(name): limits.text(own) for name in own.services},
        **{places.unit_file(each.name): each.text for each in units.expected(own)},
    }
    return {**seen, "files": {**seen["files"], **_files(texts)}}


def _machine(wanted: Wanted) -> Seen:
    """Return what is not written by the role."""
    own = read({}, wanted)
    tree = own.tree
    values = kernel.parameters(own)
    driver = "NVRM version: NVIDIA UNIX Open Kernel Module\n"
    active = {"LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled"}
    names = [f"{each.name}.service" for each in units.expected(own)]
    said = {
        "smi": ", ".join(_gpu(own)),
        "vendor": "vendor_id : GenuineIntel",
        "grub": "/boot/grub/grub.cfg",
        "peers": "ib_register_peer_memory_client",
    }
    return {
        "host": {"pkg_mgr": "apt", "kernel": "6.8.0", "python": units.PYTHON},
        "files": _files(
            {
                tree.driver: driver,
                tree.nr_pages: values.get(kernel.PAGES, "0"),
                tree.balancing: values.get(kernel.BALANCING, "1"),
            }
        ),
        "globs": {
            tree.cards: [tree.cards],
            tree.peermem: [tree.peermem] if own.needs_peermem else [],
            tree.pages: ["hugepages-2048kB", "hugepages-1048576kB"],
            places.UPDATE_GRUB: [places.UPDATE_GRUB],
        },
        "units": {
            name: {**active, "ActiveEnterTimestamp": ""}
            for name in [*names, *own.services, *own.kubelets]
        },
        "commands": {
            **{name: {"rc": 0, "out": out, "err": ""} for name, out in said.items()},
            "machine": {"rc": 1, "out": "none", "err": ""},
        },
        "bridges": {tree.sysfs: []},
    }


def _gpu(own: Host) -> Gpu:
    word = own.ecc.capitalize() or "Enabled"
    clock = str(own.clocks[-1]) if own.clocks else UNBOUND
    return Gpu(
        name="0",
        limit=str(own.power or UNBOUND),
        lowest="0",
        highest=UNBOUND,
        default=UNBOUND,
        ecc=word,
        ecc_pending=word,
        mode=units.MODES.get(own.mode, "DEFAULT"),
        clock=clock,
        highest_clock=UNBOUND,
    )


def _files(texts: dict[str, str]) -> dict[str, Any]:
    return {path: {"text": text, "mtime": 0.0} for path, text in texts.items() if text}

"""Creates instances through the mock of NVML itself, in every order, and says what came about.

It knows no rule of MIG: it asks for one instance more until the mock has refused every one.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from support.lab.node import Node, text_of

Layout = tuple[tuple[str, int], ...]  # profile and how many, sorted
Placed = tuple[tuple[str, int], ...]  # profile and start of each instance, sorted


class _Info(ctypes.Structure):
    """nvmlGpuInstanceInfo_t of nvml.h."""

    _fields_ = (
        ("device", ctypes.c_void_p),
        *((name, ctypes.c_uint) for name in ("id", "profile", "start", "size")),
    )


class Placer:
    """The mock in this process, with one empty GPU whose MIG mode is on."""

    def __init__(self, library: Path, node: Node, folder: Path) -> None:
        """Load the mock with a node; folder: where its files may be."""
        geometry = node.played.gpu.geometry
        assert geometry is not None
        self._profiles = {name: number for number, name in enumerate(geometry.profiles)}
        self._mock = ctypes.CDLL(str(library))
        (folder / "node").write_text(text_of(node), encoding="utf-8")
        (folder / "state").write_text("gpu 0 1 1\n", encoding="utf-8")
        os.environ["MOCK_NVML_NODE"] = str(folder / "node")
        os.environ["MOCK_NVML_STATE"] = str(folder / "state")
        self._ask("Init_v2")
        os.environ["MOCK_NVML_STATE"] = os.devnull  # from here on nobody else reads it
        self._gpu = ctypes.c_void_p()
        self._ask("DeviceGetHandleByIndex_v2", 0, ctypes.byref(self._gpu))

    def reachable(self) -> set[Layout]:
        """Return every set of instances that some order of creation leads to."""
        seen: set[Placed] = set()
        self._grow((), seen)
        return {_layout(placed) for placed in seen}

    def close(self) -> None:
        """Leave the mock as another user wants it: it reads its files anew."""
        self._ask("Shutdown")

    def _grow(self, placed: Placed, seen: set[Placed]) -> None:
        """Create each profile beside what is placed, and go on from there; then destroy it."""
        for name, number in self._profiles.items():
            instance, info = ctypes.c_void_p(), _Info()
            created = self._mock.nvmlDeviceCreateGpuInstance(
                self._gpu, number, ctypes.byref(instance)
            )
            if created != 0:
                continue
            self._ask("GpuInstanceGetInfo", instance, ctypes.byref(info))
            after = tuple(sorted((*placed, (name, int(info.start)))))
            if after not in seen:
                seen.add(after)
                self._grow(after, seen)
            self._ask("GpuInstanceDestroy", instance)

    def _ask(self, function: str, *arguments: object) -> None:
        assert getattr(self._mock, f"nvml{function}")(*arguments) == 0, function


def _layout(placed: Placed) -> Layout:
    names = [name for name, _ in placed]
    return tuple((name, names.count(name)) for name in sorted(set(names)))

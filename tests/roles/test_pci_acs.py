"""The program that switches ACS off, on PCI configurations of all kinds (TUN-05)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT
from support.collection import collections

PROGRAM = ROOT / "plugins" / "module_utils" / "pci_acs.py"
BRIDGE, GPU = "0x060400", "0x030200"


def configuration(*capabilities: tuple[int, int], control: bytes = b"\x1d\x00") -> bytes:
    """Return a configuration space. capabilities: (id, where), chained in this order."""
    space = bytearray(4096)
    for n, (kind, at) in enumerate(capabilities):
        after = capabilities[n + 1][1] if n + 1 < len(capabilities) else 0
        space[at : at + 4] = (kind | 1 << 16 | after << 20).to_bytes(4, "little")
        if kind == 0x000D:
            space[at + 6 : at + 8] = control
    return bytes(space)


def run(sysfs: Path, word: str) -> list[str]:
    command = [sys.executable, str(PROGRAM), word, str(sysfs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    devices = {
        "0000:00:01.0": (BRIDGE, configuration((0x000D, 0x100))),
        "0000:00:02.0": (BRIDGE, configuration((0x0001, 0x100), (0x000D, 0x148))),
        "0000:00:03.0": (BRIDGE, configuration((0x000D, 0x100), control=b"\0\0")),
        "0000:00:04.0": (BRIDGE, configuration((0x0001, 0x100))),
        "0000:00:05.0": (BRIDGE, bytes(256)),
        "0000:00:06.0": (BRIDGE, b"\xff" * 4096),
        "0000:01:00.0": (GPU, configuration((0x000D, 0x100))),
    }
    for name, (kind, content) in devices.items():
        folder = tmp_path / "bus/pci/devices" / name
        folder.mkdir(parents=True)
        (folder / "class").write_text(f"{kind}\n")
        (folder / "config").write_bytes(content)
    loop = configuration((0x0001, 0x100), (0x0002, 0x140))
    looped = bytearray(loop)
    looped[0x140:0x144] = (0x0002 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    (tmp_path / "bus/pci/devices/0000:00:04.0/config").write_bytes(looped)
    return tmp_path


def test_bridges_whose_control_is_on_are_shown(sysfs: Path) -> None:
    assert run(sysfs, "show") == ["0000:00:01.0", "0000:00:02.0"]
    assert run(sysfs, "show") == ["0000:00:01.0", "0000:00:02.0"]  # and left alone


def test_the_probe_answers_with_them(sysfs: Path, tmp_path: Path) -> None:
    """It imports the program; where there is no PCI, nothing is on."""
    code = (
        "import json; from ansible_collections.gpugen.hosts.plugins.module_utils import reading;"
        f"print(json.dumps(reading.answer({{'bridges': [{str(sysfs)!r}, '/missing']}})['bridges']))"
    )
    own = {**os.environ, "PYTHONPATH": str(collections(tmp_path / "own"))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True
    )
    on = ["0000:00:01.0", "0000:00:02.0"]
    assert json.loads(done.stdout) == {str(sysfs): on, "/missing": []}


def test_they_are_switched_off_and_nothing_else_is_written(sysfs: Path) -> None:
    folder = sysfs / "bus/pci/devices"
    before = {path.parent.name: path.read_bytes() for path in folder.glob("*/config")}
    assert run(sysfs, "clear") == ["0000:00:01.0", "0000:00:02.0"]
    assert run(sysfs, "clear") == []
    after = {path.parent.name: path.read_bytes() for path in folder.glob("*/config")}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"0000:00:01.0", "0000:00:02.0"}
    (first, second) = (before["0000:00:01.0"], after["0000:00:01.0"])
    assert [n for n in range(4096) if first[n] != second[n]] == [0x106]

"""The agents of a node that hold its GPUs are found by name, and ended."""

from __future__ import annotations

from support import ROOT

import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SOURCE = ROOT / "plugins" / "module_utils" / "gpu_agents.py"


@pytest.fixture
def agents() -> Any:
    spec = importlib.util.spec_from_file_location("gpu_agents", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def process(folder: Path, pid: int, stat: str) -> None:
    (folder / str(pid)).mkdir()
    (folder / str(pid) / "stat").write_text(stat)


def test_agents_are_found_by_the_names_that_the_kernel_keeps(agents: Any, tmp_path: Path) -> None:
    """MIG-06: names are cut after 15 characters, and the dead hold nothing."""
    process(tmp_path, 12, "12 (nvidia-device-p) S 1")
    process(tmp_path, 3, "3 (dcgm-exporter) S 1")
    process(tmp_path, 4, "4 (dcgm-exporter) Z 1")
    process(tmp_path, 5, "5 (a (b) c) S 1")
    (tmp_path / "6").mkdir()
    (tmp_path / "self").mkdir()
    assert agents.found(tmp_path) == [(3, "dcgm-exporter"), (12, "nvidia-device-p")]


def test_agents_are_ended(agents: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "gpugen-agent"
    shutil.copy(shutil.which("sleep") or "", program)
    monkeypatch.setattr(agents, "NAMES", {"gpugen-agent"})
    with subprocess.Popen([program, "60"]) as own:
        ended, left = agents.end()
    assert (ended, left) == ([(own.pid, "gpugen-agent")], [])

"""What the role kube_scheduler reads on a host: flags, files of settings that clash with ours."""

from __future__ import annotations

from support import ROOT

import runpy
from pathlib import Path
from typing import Any

import pytest

PROGRAM = ROOT / "roles" / "kube_scheduler" / "files" / "scheduler.py"
OURS = "kube-scheduler-arg+:\n  - config=/etc/rancher/k3s/gpugen-kube-scheduler.yaml\n"


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """Return what the program defines."""
    return runpy.run_path(str(PROGRAM))


def test_flags_are_read_as_the_scheduler_reads_them(program: dict[str, Any]) -> None:
    """DIST-11: leader-elect is the flag that wins over the file."""
    argv = ["kube-scheduler", "--leader-elect=false", "--profiling", "--v=2", "x"]
    assert program["flags"](argv) == {"leader-elect": "false", "profiling": "true", "v": "2"}


@pytest.mark.parametrize(
    ("name", "text", "is_clash"),
    [
        ("config.yaml", "kube-scheduler-arg:\n- v=2\nkubelet-arg:\n- config=/x\n", False),
        ("config.yaml", "kube-scheduler-arg:\n  - config=/etc/own.yaml\n", True),
        ("config.yaml", 'kube-scheduler-arg: ["v=2", "config=/etc/own.yaml"]\n', True),
        ("config.yaml", "# kube-scheduler-arg: [config=/x]\ntoken: t\n", False),
        ("config.yaml.d/10-site.yaml", "kube-scheduler-arg: [v=2]\n", False),
        ("config.yaml.d/99-site.yaml", "kube-scheduler-arg: [v=2]\n", True),
        ("config.yaml.d/99-site.yaml", "kube-scheduler-arg+: [v=2]\n", False),
    ],
)
def test_settings_that_would_replace_ours_are_found(
    program: dict[str, Any], tmp_path: Path, name: str, text: str, is_clash: bool
) -> None:
    """A later file without a plus replaces the list, an earlier one is added to."""
    own = tmp_path / "config.yaml.d" / "90-gpugen-kube-scheduler.yaml"
    own.parent.mkdir()
    own.write_text(OURS)
    (tmp_path / name).write_text(text)
    others = [str(own.parent / "*.yaml"), str(tmp_path / "config.yaml")]
    found = program["clashes"]({"own": str(own), "others": others, "unit": ""})
    assert found == ([str(tmp_path / name)] if is_clash else [])


def test_a_host_without_a_scheduler_is_told_so(program: dict[str, Any], tmp_path: Path) -> None:
    """DIST-10: neither is there a kubeconfig."""
    ask = {"unit": "", "in_process": "k3s", "file": "/none", "own": "", "others": [], "wait": 0}
    found = program["main"]({**ask, "kubeconfig": str(tmp_path / "none"), "kubectl": ["false"]})
    assert found["missing"] == "no main kube-scheduler runs"
    assert found["has_kubeconfig"] is False

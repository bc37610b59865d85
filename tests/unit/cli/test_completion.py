"""Completion: the scripts are printed, and names of clusters, GPU models and rows come back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.commands import ROOT, gpugen


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script(shell: str) -> None:
    answer = gpugen("completion", shell)
    assert answer.code == 0
    assert f"_GPUGEN_COMPLETE={shell}_complete" in answer.out


def test_unknown_shell() -> None:
    assert gpugen("completion", "tcsh").code == 2


def complete(line: str) -> list[str]:
    """Ask as the script of bash does."""
    answer = subprocess.run(
        [sys.executable, "-m", "gpugen"],
        env={
            **os.environ,
            "_GPUGEN_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [row.partition(",")[2] for row in answer.stdout.splitlines() if row]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("gpugen re", {"render"}),
        ("gpugen render --ch", {"--check"}),
        ("gpugen render be", {"berlin-a", "berlin-b"}),
        ("gpugen validate la", {"lab"}),
        ("gpugen explain tr", {"train"}),
        ("gpugen catalog gp", {"gpus"}),
        ("gpugen catalog distributions k3", {"k3s"}),
        ("gpugen mig check a100-sxm4-8", {"a100-sxm4-80gb"}),
        ("gpugen mig list t4", set()),
    ],
)
def test_names_come_back(line: str, wanted: set[str]) -> None:
    assert set(complete(line)) == wanted

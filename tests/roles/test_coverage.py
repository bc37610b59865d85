"""What roles decide is covered by values alone, branch by branch, without Ansible."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support import ROOT

MODULES = ROOT / "plugins" / "plugin_utils"
RUNS = {"control", "turn"}  # commands and kubectl, so they are not pure
NAMES = sorted({path.stem for path in MODULES.glob("[a-z]*")} - RUNS)
LOADER = re.compile(r"from gpugen\.hosts(\.decisions import| import decisions)")
LEAST = 95  # per cent of branches and lines


@cache
def measured(folder: Path) -> dict[str, Any]:
    """Run the tests by values under coverage; return its report by file."""
    data = folder / "data"
    others = [path for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    tests = sorted(str(path) for path in others if LOADER.search(path.read_text("utf-8")))
    run = [sys.executable, "-m", "coverage", "run", "--branch", f"--data-file={data}"]
    run += [f"--include={MODULES}/*", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    alone = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    done = subprocess.run(run, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    report = [sys.executable, "-m", "coverage", "json", f"--data-file={data}", "-o", "-", "-q"]
    shown = subprocess.run(report, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(shown.stdout)["files"]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("coverage")


@pytest.mark.parametrize("name", NAMES)
def test_branches_of_decisions(name: str, folder: Path) -> None:
    own = [
        found["summary"]
        for path, found in measured(folder).items()
        if Path(path).parts[2].removesuffix(".py") == name
    ]
    reached = sum(each["covered_branches"] for each in own)
    branches = sum(each["num_branches"] for each in own)
    lines = [sum(each[key] for each in own) for key in ("covered_lines", "num_statements")]
    assert lines[1] > 0
    assert 100 * lines[0] / lines[1] >= LEAST
    assert 100 * reached >= LEAST * branches

"""Whole trees: every example cluster, and the cases of this folder, render to what is committed.

``pytest --regold`` rewrites the trees; the difference is reviewed like code.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen import pipeline, write
from gpugen.model.finding import is_fatal
from gpugen.workspace import Workspace
from support import ROOT

HERE = Path(__file__).parent
ROOTS = [root for root in (ROOT, HERE) if (root / "inventories").is_dir()]
CASES = [(root, name) for root in ROOTS for name in Workspace(root).clusters()]


@pytest.mark.parametrize(("root", "name"), CASES, ids=lambda v: getattr(v, "name", v))
def test_tree_is_current(root: Path, name: str, request: pytest.FixtureRequest) -> None:
    workspace = Workspace(root)
    outcome = pipeline.run(workspace.spec_path(name), workspace)
    assert not is_fatal(outcome.findings), outcome.findings
    tree = pipeline.build(outcome)
    out = root / "out"
    if request.config.getoption("--regold"):
        write.write(tree, out, name, force=True)
    changes = write.compare(tree, out, name)
    assert not changes, f"review 'gpugen render --diff {name}', then pytest --regold: {changes}"


def test_no_tree_without_spec() -> None:
    for root in ROOTS:
        assert write.orphans(root / "out", Workspace(root).clusters()) == []

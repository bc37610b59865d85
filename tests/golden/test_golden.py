"""Whole trees: every example cluster renders to what is committed.

``pytest --regold`` rewrites the trees; the difference is reviewed like code.
"""

from __future__ import annotations

import pytest

from gpugen import pipeline, write
from gpugen.hosts.collection import SHARED
from gpugen.model.finding import is_fatal
from gpugen.workspace import Workspace
from support import ROOT

OUT = ROOT / "out"
WORKSPACE = Workspace(ROOT)


@pytest.mark.parametrize("name", WORKSPACE.clusters())
def test_tree_is_current(name: str, request: pytest.FixtureRequest) -> None:
    workspace = Workspace(ROOT)
    outcome = pipeline.run(workspace.spec_path(name), workspace)
    assert not is_fatal(outcome.findings), outcome.findings
    tree = pipeline.build(outcome)
    if request.config.getoption("--regold"):
        write.write(tree, OUT, name, force=True)
    changes = write.compare(tree, OUT, name)
    assert not changes, f"review 'gpugen render --diff {name}', then pytest --regold: {changes}"


def test_the_shared_collection_is_current(request: pytest.FixtureRequest) -> None:
    tree = pipeline.collection_tree()
    if request.config.getoption("--regold"):
        write.write(tree, OUT, SHARED, force=True)
    assert not write.compare(tree, OUT, SHARED), "review 'gpugen render --diff', then --regold"


def test_no_tree_without_spec() -> None:
    assert write.surroundings(OUT, WORKSPACE.clusters()).orphans == []

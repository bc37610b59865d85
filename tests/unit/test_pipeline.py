"""The stages in order: what comes of a spec that is sound, misnamed, or no spec at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen import pipeline
from gpugen.workspace import Workspace
from support.commands import begin


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return the spec of a starter repository whose packages come from a mirror with a key."""
    begin(tmp_path, "--cluster", "a")
    return tmp_path / "inventories" / "a" / "cluster.yaml"


def test_a_sound_spec_is_built_with_the_keys_that_it_names(spec: Path) -> None:
    outcome = pipeline.run(spec, Workspace(spec.parents[2]))
    assert outcome.findings == []
    assert list(outcome.keys) == ["keys/mirror.asc"]
    tree = pipeline.build(outcome)
    assert tree["ansible/files/keys/mirror.asc"] == outcome.keys["keys/mirror.asc"]
    assert tree.below("kustomize")


def test_a_spec_of_no_repository_has_no_keys(spec: Path) -> None:
    outcome = pipeline.run(spec, Workspace(None))
    assert outcome.spec is not None
    assert not outcome.keys


def test_the_folder_has_the_clusters_name(spec: Path) -> None:
    moved = spec.parent.rename(spec.parent.with_name("b")) / spec.name
    (found,) = pipeline.run(moved, Workspace(moved.parents[2])).findings
    assert (found.id, found.at) == ("cluster-name-folder", "/name")
    assert "write name: b" in found.hint


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n", "kind: Cluster\n"])
def test_what_is_no_spec_has_findings_alone(spec: Path, text: str) -> None:
    spec.write_text(text)
    outcome = pipeline.run(spec, Workspace(spec.parents[2]))
    assert outcome.spec is None
    assert outcome.findings

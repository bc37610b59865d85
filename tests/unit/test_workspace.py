"""Which specs are a repository's own, how they are named, and what they may extend."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen.workspace import Workspace, find_root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with one cluster, a layer beside it, and a spec of nobody's."""
    for name in ("repo/inventories/a/cluster.yaml", "repo/inventories/_b/x.yaml", "else/c.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("{}\n")
    return tmp_path / "repo"


def test_the_root_is_the_nearest_folder_with_inventories(root: Path) -> None:
    assert find_root(root / "inventories" / "a") == root
    assert find_root(root) == root
    assert find_root(root.parent / "else") is None


def test_only_clusters_are_owned(root: Path) -> None:
    workspace = Workspace(root)
    assert workspace.clusters() == ["a"]
    assert workspace.owns(workspace.spec_path("a"))
    assert not workspace.owns(root / "inventories" / "cluster.yaml")
    assert not workspace.owns(root.parent / "else" / "c.yaml")
    assert not Workspace(None).owns(workspace.spec_path("a"))


def test_a_spec_of_the_repository_reaches_to_its_root_and_others_to_their_folder(
    root: Path,
) -> None:
    workspace = Workspace(root)
    other = root.parent / "else" / "c.yaml"
    assert workspace.boundary(workspace.spec_path("a")) == root
    assert workspace.boundary(other) == other.parent
    assert Workspace(None).boundary(workspace.spec_path("a")) == root / "inventories" / "a"


def test_a_link_out_of_the_repository_does_not_leave_its_boundary(root: Path) -> None:
    """A pull request may commit a link; layers next to its target stay out of reach."""
    link = root / "inventories" / "d"
    link.symlink_to(root.parent / "else")
    workspace = Workspace(root)
    assert workspace.boundary(link / "c.yaml") == root
    assert not workspace.owns(link / "c.yaml")


def test_output_names_a_spec_by_its_path_in_the_repository(root: Path) -> None:
    workspace = Workspace(root)
    assert workspace.source_name(workspace.spec_path("a")) == "inventories/a/cluster.yaml"
    assert workspace.source_name(root.parent / "else" / "c.yaml") == "c.yaml"

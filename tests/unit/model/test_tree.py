"""A tree is write-once and nothing in it leaves it."""

from __future__ import annotations

import pytest

from gpugen.model.tree import Tree


def test_content_and_order() -> None:
    tree = Tree()
    tree.add("b/c.yaml", "x\n")
    tree.add("a", b"\xff")
    assert list(tree) == [("a", b"\xff"), ("b/c.yaml", b"x\n")]
    assert "a" in tree
    assert tree.below("b") == ["b/c.yaml"]


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a/../../x", "a//b", "a/", "", ".", "a/.", "a\\b", "a\0b", "./a"]
)
def test_paths_that_leave_or_confuse(path: str) -> None:
    with pytest.raises(ValueError, match=r"leaves|cannot"):
        Tree().add(path, "")


def test_two_writers() -> None:
    tree = Tree()
    tree.add("a/b", "")
    for path in ("a/b", "a", "a/b/c"):
        with pytest.raises(ValueError, match=r"two writers|cannot be|file and a folder"):
            tree.add(path, "")

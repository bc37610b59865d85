"""The diff is what ``git apply`` understands, and safe to print."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpugen.errors import NotOursError
from gpugen.write import INDEX, compare, diff
from support.trees import FIRST, SECOND, render, snapshot, stamps, tree_of


def _diff(content: dict[str, str | bytes] | dict[str, str], out: Path) -> str:
    return "".join(f"{line}\n" for line in diff(tree_of(content), out, "lab"))


def test_new_cluster_is_all_additions(out: Path) -> None:
    assert _diff({"a": "1\n2\n"}, out) == "--- /dev/null\n+++ b/lab/a\n@@ -0,0 +1,2 @@\n+1\n+2\n"
    assert not out.exists()


def test_same_tree_has_no_diff(out: Path) -> None:
    render(FIRST, out)
    assert _diff(FIRST, out) == ""


def test_diff_applied_gives_the_new_tree(out: Path) -> None:
    old = {**FIRST, "tail": "no line feed", "twice": "a\nb\nc\n" * 9, "cr": "a\rb\n"}
    new = {**SECOND, "tail": "none still", "twice": "a\nb\nc\n" * 8 + "x\n", "fresh": "\n"}
    render(old, out)
    before = stamps(out)
    text = _diff(new, out).replace(r"\r", "\r")
    assert stamps(out) == before
    shutil.copytree(out, out.parent / "copy")
    subprocess.run(
        ["git", "apply", "-"], input=text.encode(), cwd=out.parent / "copy", check=True
    )  # fmt: skip
    render(new, out)
    wanted, got = snapshot(out / "lab"), snapshot(out.parent / "copy/lab")
    assert wanted.pop(INDEX) != got.pop(INDEX)
    assert got == wanted


def test_controls_are_escaped_and_binary_is_told(out: Path) -> None:
    render({"a": "x\x1b[2J\u202e\x85\tt\n", "b": b"\0", "c": b"\xff"}, out)
    text = _diff({"a": "\x07\n", "b": "text\n", "c": "text\n"}, out)
    assert text == (
        "--- a/lab/a\n+++ b/lab/a\n@@ -1 +1 @@\n-x\\x1b[2J\\u202e\\x85\tt\n+\\x07\n"
        "Binary files a/lab/b and b/lab/b differ\nBinary files a/lab/c and b/lab/c differ\n"
    )


def test_what_no_diff_shows_is_told_in_words(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/notes\x1b").write_text("mine")
    (out / "lab/site.yml").chmod(0o755)
    (out / "lab/roles/gpu/main.yml").unlink()
    (out / "lab/roles/gpu/main.yml").symlink_to("/etc/hostname")
    text = _diff(FIRST, out)
    assert "Only in output: lab/notes\\x1b (foreign)\n" in text
    assert "old mode 100755\nnew mode 100644\n" in text
    assert "--- /dev/null\n+++ b/lab/roles/gpu/main.yml\n@@ -0,0 +1 @@\n+b\n" in text


def test_edited_file_is_shown_against_the_tree(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/site.yml").write_text("mine\n")
    assert "-mine\n+a\n" in _diff(FIRST, out)
    assert "-mine\n" in _diff({"other": "x"}, out)


def test_every_difference_shows(out: Path) -> None:
    render(FIRST, out)
    text = _diff(SECOND, out)
    for change in compare(tree_of(SECOND), out, "lab"):
        assert change.path == INDEX or change.path in text


def test_damaged_index_alone_shows(out: Path) -> None:
    render(FIRST, out)
    (out / "lab" / INDEX).write_text("{")
    assert _diff(FIRST, out) == f"Only the index differs: lab/{INDEX} (changed)\n"


def test_link_is_refused(out: Path) -> None:
    out.mkdir()
    (out / "lab").symlink_to("/etc")
    with pytest.raises(NotOursError, match="link"):
        _diff(FIRST, out)

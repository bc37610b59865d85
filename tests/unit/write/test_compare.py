"""Which differences are found, which are repaired, and what becomes ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen.errors import NotOursError
from gpugen.write import INDEX, compare
from support.trees import (
    FIRST,
    SECOND,
    is_current,
    kinds,
    render,
    snapshot,
    stamps,
    tree_of,
)


def test_foreign_files_beside_ours_are_reported_and_left_alone(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/waves/10/notes").write_text("mine")
    (out / "lab/vendor/deep").mkdir(parents=True)
    (out / "lab/vendor/deep/x").write_text("mine")
    (out / "lab/empty").mkdir()
    reported = {"waves/10/notes": "foreign", "vendor/": "foreign"}
    assert kinds(compare(tree_of(FIRST), out, "lab")) == reported
    assert render(FIRST, out) == []
    assert not is_current(FIRST, out)
    assert "notes" not in str(render(SECOND, out))
    assert (out / "lab/waves/10/notes").read_text() == "mine"
    left = {"waves/10/": "foreign", "vendor/": "foreign"}
    assert kinds(compare(tree_of(SECOND), out, "lab")) == left


def test_kinds_of_difference(out: Path) -> None:
    render({**FIRST, "gone": "1", "run": "2", "old": "3", "link": "4"}, out)
    lab = out / "lab"
    (lab / "gone").unlink()
    (lab / "run").chmod(0o755)
    (lab / "link").unlink()
    (lab / "link").symlink_to("run")
    (lab / "roles/gpu/main.yml").write_text("edited")
    wanted = {**FIRST, "gone": "1", "run": "2", "link": "4", "new": "5", "site.yml": "6"}
    before = snapshot(out), stamps(out)
    assert kinds(compare(tree_of(wanted), out, "lab")) == {
        INDEX: "changed", "gone": "missing", "run": "mode", "link": "replaced-by-link",
        "roles/gpu/main.yml": "edited", "new": "added", "site.yml": "changed", "old": "deleted",
    }  # fmt: skip
    assert (snapshot(out), stamps(out)) == before


def test_missing_file_and_wrong_mode_are_repaired(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/site.yml").unlink()
    (out / "lab/roles/gpu/main.yml").chmod(0o755)
    assert not is_current(FIRST, out)
    assert kinds(render(FIRST, out)) == {"site.yml": "missing", "roles/gpu/main.yml": "mode"}
    assert (out / "lab/roles/gpu/main.yml").stat().st_mode & 0o777 == 0o644
    assert is_current(FIRST, out)


def test_at_most_ten_paths_are_named_and_controls_are_escaped(out: Path) -> None:
    content = {f"f{number:02}": "x" for number in range(14)}
    render(content, out)
    for path in content:
        (out / "lab" / path).write_text("mine")
    with pytest.raises(NotOursError) as caught:
        render(content, out)
    assert caught.value.message.count("(edited)") == 10
    assert "and 4 more" in caught.value.message
    (out / "lab/\x1b[2Jx").write_text("mine")
    with pytest.raises(NotOursError, match=r"\\x1b\[2Jx"):
        render({"\x1b[2Jx": "ours"}, out)


def test_same_bytes_are_adopted(out: Path) -> None:
    render({"other": "x"}, out)
    (out / "lab/site.yml").write_text(FIRST["site.yml"])
    before = stamps(out)[str(out / "lab/site.yml")]
    render({"other": "x", "site.yml": FIRST["site.yml"]}, out)
    assert stamps(out)[str(out / "lab/site.yml")] == before
    render({"other": "x"}, out)
    assert not (out / "lab/site.yml").exists()


def test_index_torn_at_any_byte_loses_nothing(out: Path) -> None:
    content = {"site.yml": FIRST["site.yml"]}
    render(content, out)
    index = out / "lab" / INDEX
    whole = index.read_bytes()
    (out / "lab/site.yml").write_text("mine")
    for length in range(len(whole) - 1):
        index.write_bytes(whole[:length])
        with pytest.raises(NotOursError, match=r"site\.yml \((foreign|edited)\)"):
            render(content, out)
    index.unlink()
    with pytest.raises(NotOursError):
        render(content, out)
    (out / "lab/site.yml").write_text(FIRST["site.yml"])
    assert kinds(render(content, out)) == {INDEX: "added"}
    assert index.read_bytes() == whole


def test_older_index_swapped_in_loses_nothing(out: Path) -> None:
    render(FIRST, out)
    old = (out / "lab" / INDEX).read_bytes()
    render(SECOND, out)
    (out / "lab" / INDEX).write_bytes(old)
    with pytest.raises(NotOursError, match=r"site\.yml \(edited\)"):
        render(FIRST, out)
    assert kinds(render(SECOND, out)) == {INDEX: "changed"}


def conflicted(ours: str, theirs: str, base: str | None = None) -> str:
    """Return a file as git leaves it, with the base in the styles diff3 and zdiff3."""
    between = "" if base is None else f"||||||| 1234567\n{base}"
    return f"first\n<<<<<<< HEAD\n{ours}{between}=======\n{theirs}>>>>>>> topic\nlast\n"


def merged(out: Path, text: str) -> None:
    """Let two branches have rendered two texts, and git have left this one, and both's lines."""
    indexes = []
    for content in (f"first\n{side}last\n" for side in ("ours\n", "theirs\n")):
        render({"a": content}, out)
        indexes.append((out / "lab" / INDEX).read_text())
    ours, theirs = (text.splitlines(keepends=True)[-1] for text in indexes)
    head = indexes[0].removesuffix(ours)
    lines = f"{head}<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> topic\n"
    (out / "lab" / INDEX).write_text(lines)
    (out / "lab/a").write_text(text)


@pytest.mark.parametrize(
    "base", [None, "base\n", "", "<<<<<<<<< a\nx\n=========\ny\n>>>>>>>>> b\n"]
)
@pytest.mark.parametrize("wanted", [{"a": "new\n"}, {"b": "new\n"}], ids=["changed", "deleted"])
def test_what_git_left_of_two_renders_is_ours(out: Path, wanted: dict[str, str], base: str) -> None:
    merged(out, conflicted("ours\n", "theirs\n", base))
    render(wanted, out)
    assert is_current(wanted, out)


@pytest.mark.parametrize(
    "text",
    [
        conflicted("mine\n", "theirs\n"),
        conflicted("ours\n", "mine\n"),
        conflicted("ours\n", "theirs\n").replace("last", "mine"),
        conflicted("ours\n", "theirs\n").replace("=======\n", ""),
        conflicted("ours\n", "theirs\n").replace(">>>>>>> topic\n", ""),
        conflicted("ours\n", "theirs\n") + "=======\n",
        conflicted("ours\n", "theirs\n") + "<<<<<<< HEAD\n",
        conflicted("<<<<<<< HEAD\n", "theirs\n"),
        conflicted("ours\n", "theirs\n", "base\n||||||| 1\n"),
        "first\nours\ntheirs\nlast\n",
        "mine\n",
    ],
)
def test_an_edit_in_a_conflict_is_an_edit(out: Path, text: str) -> None:
    merged(out, text)
    before = snapshot(out)
    with pytest.raises(NotOursError, match=r"a \(edited\)"):
        render({"a": "new\n"}, out)
    assert snapshot(out) == before
    render({"a": "new\n"}, out, overwrite=["a"])
    assert is_current({"a": "new\n"}, out)


def test_only_what_is_named_is_overwritten(out: Path) -> None:
    render(FIRST, out)
    for path in FIRST:
        (out / "lab" / path).write_text("mine\n")
    named = list(FIRST)[:2]
    with pytest.raises(NotOursError, match=f": {list(FIRST)[2]} \\(edited\\);"):
        render(FIRST, out, overwrite=named)
    (out / "lab" / list(FIRST)[2]).write_text(FIRST[list(FIRST)[2]])
    assert set(kinds(render(FIRST, out, overwrite=named))) == set(named)

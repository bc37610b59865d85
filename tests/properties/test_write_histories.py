"""Any history of renders and edits: no byte of the user's is lost, and every render is settled."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gpugen.errors import NotOursError
from gpugen.write import INDEX, compare, prune
from support.trees import names, orphans, render, snapshot, stamps, tree_of

PATHS = ["a", "b", "a/x", "a/y", "b/x/y", "b/x", "c/d/e", "c/d/f"]
TEXTS = ["", "1\n", "2\n"]


@dataclass(frozen=True)
class Edit:
    """Something the user does to a path."""

    path: str
    deed: str


@dataclass(frozen=True)
class Render:
    """A run of gpugen; content None prunes."""

    content: Mapping[str, str] | None
    is_forced: bool


@st.composite
def contents(draw: st.DrawFn) -> dict[str, str]:
    """Draw files of which none is a folder of another."""
    chosen: dict[str, str] = {}
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=6)):
        if not any(path.startswith(f"{p}/") or p.startswith(f"{path}/") for p in chosen):
            chosen[path] = draw(st.sampled_from(TEXTS))
    return chosen


DEEDS = ["write", "delete", "folder", "link", "fifo", "run", "torn", "no index", "notes"]
STEPS = st.one_of(
    st.builds(Edit, st.sampled_from(PATHS), st.sampled_from(DEEDS)),
    st.builds(Render, st.one_of(contents(), contents(), contents(), st.none()), st.booleans()),
)


def _clear(path: Path) -> None:
    """Delete whatever stands there, as a user may."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def _edit(lab: Path, edit: Edit, number: int) -> None:
    """Do what the user does; where that cannot be done, nothing happens."""
    path = lab / edit.path
    index = lab / INDEX
    with suppress(FileExistsError, FileNotFoundError, NotADirectoryError):
        if edit.deed == "run":
            if path.is_file() and not path.is_symlink():
                path.chmod(0o755)
            return
        if edit.deed in ("torn", "no index"):
            if index.is_file():
                index.unlink() if edit.deed == "no index" else index.write_bytes(
                    index.read_bytes()[:40]
                )
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if edit.deed == "notes":
            (path.parent / f"notes-{number}").write_text(f"mine {number}")
            return
        _clear(path)
        match edit.deed:
            case "write":
                path.write_text(f"mine {number}")
            case "folder":
                path.mkdir()
                (path / "inside").write_text(f"mine {number}")
            case "link":
                path.symlink_to("nowhere")
            case "fifo":
                os.mkfifo(path)


def _mine(lab: Path) -> dict[str, str | bytes]:
    """Return what only the user can have made."""
    return {
        path: found
        for path, found in snapshot(lab).items()
        if (isinstance(found, bytes) and found.startswith(b"mine"))
        or (isinstance(found, str) and not found.startswith("kind 4"))
    }


def _run(out: Path, step: Render) -> bool:
    """Render or prune; tell whether it was done rather than refused."""
    try:
        if step.content is None:
            prune(out, "lab", force=step.is_forced)
        else:
            render(step.content, out, force=step.is_forced)
    except NotOursError:
        return False
    return True


def _check(out: Path, content: Mapping[str, str]) -> None:
    """A render that was done is settled: what is wanted is there, and a second writes nothing."""
    lab = out / "lab"
    assert {path: (lab / path).read_text() for path in content} == content
    left = compare(tree_of(content), out, "lab")
    assert {change.kind for change in left} <= {"foreign"}
    before = stamps(out)
    assert render(content, out) == []
    assert stamps(out) == before


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@settings(max_examples=300)
@given(st.lists(STEPS, min_size=2, max_size=9))
def test_no_history_loses_a_byte(steps: list[Edit | Render]) -> None:
    with _folder() as root:
        out = root / "out"
        for number, step in enumerate(steps):
            if isinstance(step, Edit):
                _edit(out / "lab", step, number)
                continue
            before, mine = snapshot(root), _mine(out / "lab")
            done = _run(out, step)
            assert done or snapshot(root) == before
            if not step.is_forced:
                kept = snapshot(out / "lab")
                assert {path: kept.get(path) for path in mine} == mine
            if done and step.content is not None:
                _check(out, step.content)
            if done and step.content is None:
                assert orphans(out, []) == []
            assert not out.exists() or set(names(out)) <= {"lab"}


@settings(max_examples=100)
@given(contents(), contents(), st.lists(st.sampled_from(PATHS), max_size=3))
def test_force_keeps_what_is_not_in_the_way(
    first: dict[str, str], second: dict[str, str], edited: list[str]
) -> None:
    with _folder() as root:
        out = root / "out"
        render(first, out)
        for number, path in enumerate(edited):
            _edit(out / "lab", Edit(path, "notes"), number)
            _edit(out / "lab", Edit(path, "write"), number)
        mine = _mine(out / "lab")
        if not _run(out, Render(second, is_forced=True)):
            return
        _check(out, second)
        in_the_way = set(second) | set(first)
        needed = {str(above) for path in second for above in Path(path).parents}
        kept = snapshot(out / "lab")
        for path, found in mine.items():
            assert path in in_the_way or path in needed or kept.get(path) == found

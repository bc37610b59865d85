"""What is not ours stops the run before a byte is written, unless it is forced."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from gpugen.errors import ExitCode, NotOursError
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


# What may stand where the tree wants site.yml, and is not ours.
def _edit(path: Path) -> None:
    path.write_text("mine\n")


def _read_only(path: Path) -> None:
    path.write_text("mine\n")
    path.chmod(0o444)


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "notes").write_text("mine")


def _repository(path: Path) -> None:
    _folder(path)
    (path / ".git").mkdir()
    (path / ".git/config").write_text("[core]")


def _link(path: Path) -> None:
    path.unlink(missing_ok=True)
    target = path.parents[2] / "target"
    target.write_text("outside")
    path.symlink_to(target)


def _dangling(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")


def _fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.unlink(missing_ok=True)
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


FOREIGN: list[Callable[[Path], None]] = [
    _edit, _read_only, _folder, _repository, _link, _dangling, _fifo, _socket,
]  # fmt: skip
REMOVABLE = [make for make in FOREIGN if make not in (_folder, _repository)]


@pytest.mark.parametrize("make", FOREIGN)
@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "unlisted"])
def test_what_is_not_ours_stops_the_run(
    out: Path, make: Callable[[Path], None], is_listed: bool
) -> None:
    render(FIRST if is_listed else {"other": "x"}, out)
    make(out / "lab/site.yml")
    before = snapshot(out.parent), stamps(out)
    with pytest.raises(NotOursError, match=r"site\.yml") as caught:
        render(SECOND, out)
    assert caught.value.exit_code == ExitCode.NOT_OURS
    assert snapshot(out.parent) == before[0]
    after = stamps(out)
    after.pop(str(out)), before[1].pop(str(out))  # lock and staging came and went
    assert after == before[1]
    assert not is_current(SECOND, out)
    assert "site.yml" in {path.rstrip("/").partition("/notes")[0] for path in kinds(
        compare(tree_of(SECOND), out, "lab")
    )}  # fmt: skip


@pytest.mark.parametrize("make", REMOVABLE)
@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "unlisted"])
def test_force_takes_over(out: Path, make: Callable[[Path], None], is_listed: bool) -> None:
    render(FIRST if is_listed else {"other": "x"}, out)
    make(out / "lab/site.yml")
    render(SECOND, out, force=True)
    assert compare(tree_of(SECOND), out, "lab") == []
    target = out.parent / "target"
    assert not target.exists() or target.read_text() == "outside"


@pytest.mark.parametrize("make", REMOVABLE)
def test_obsolete_file_that_was_replaced_stops_the_run(
    out: Path, make: Callable[[Path], None]
) -> None:
    render(FIRST, out)
    make(out / "lab/site.yml")
    before = snapshot(out)
    with pytest.raises(NotOursError):
        render({"other": "x"}, out)
    assert snapshot(out) == before
    render({"other": "x"}, out, force=True)
    assert compare(tree_of({"other": "x"}), out, "lab") == []


@pytest.mark.parametrize("make", [_folder, _repository])
def test_not_even_force_deletes_a_folder(out: Path, make: Callable[[Path], None]) -> None:
    render(FIRST, out)
    make(out / "lab/site.yml")
    before = snapshot(out)
    with pytest.raises(NotOursError, match="site") as caught:
        render(SECOND, out, force=True)
    assert "move them away" in caught.value.hint
    assert snapshot(out) == before


def test_folder_in_place_of_an_obsolete_file_stops_the_run_and_is_kept_by_force(out: Path) -> None:
    render(FIRST, out)
    _folder(out / "lab/site.yml")
    with pytest.raises(NotOursError):
        render({"other": "x"}, out)
    render({"other": "x"}, out, force=True)
    assert (out / "lab/site.yml/notes").read_text() == "mine"


@pytest.mark.parametrize("make", REMOVABLE)
def test_thing_where_a_folder_goes(out: Path, make: Callable[[Path], None]) -> None:
    render({"other": "x"}, out)
    make(out / "lab/roles")
    before = snapshot(out)
    with pytest.raises(NotOursError, match="roles"):
        render(FIRST, out)
    assert snapshot(out) == before
    render(FIRST, out, force=True)
    assert compare(tree_of(FIRST), out, "lab") == []


def test_index_that_is_no_file(out: Path) -> None:
    render(FIRST, out)
    (out / "lab" / INDEX).unlink()
    (out / "lab" / INDEX).symlink_to("/etc/hostname")
    with pytest.raises(NotOursError, match="gpugen-index"):
        render(FIRST, out)
    render(FIRST, out, force=True)
    assert is_current(FIRST, out)
    (out / "lab" / INDEX).unlink()
    _folder(out / "lab" / INDEX)
    with pytest.raises(NotOursError, match="gpugen-index"):
        render(FIRST, out, force=True)


def test_empty_folder_where_a_file_goes_is_no_loss(out: Path) -> None:
    render({"other": "x"}, out)
    (out / "lab/site.yml").mkdir()
    render(FIRST, out)
    assert compare(tree_of(FIRST), out, "lab") == []

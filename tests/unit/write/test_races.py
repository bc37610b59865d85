"""What happens between the survey and the end of a commit is seen, and nothing of it is lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gpugen.errors import GpugenError, NotOursError
from gpugen.write import Lock
from support.trees import FIRST, names, render


def test_folder_swapped_for_a_link_in_the_middle_of_a_commit(tmp_path: Path) -> None:
    """What was surveyed as a folder is opened again without following links."""
    out, outside = tmp_path / "out", tmp_path / "outside"
    content = {f"d{number}/f": "old" for number in range(3)}
    render(content, out)
    outside.mkdir()
    (outside / "f").write_text("old")

    class Swapping(Lock):
        """Swaps a folder once the survey is done, when the stage is first asked for."""

        def stage(self) -> int:
            if not (out / "lab/d2").is_symlink():
                shutil.rmtree(out / "lab/d2")
                (out / "lab/d2").symlink_to(outside)
            return super().stage()

    with Swapping(out) as lock, pytest.raises(GpugenError, match="d2/f: Not a directory"):
        render(dict.fromkeys(content, "new"), out, lock=lock)
    assert (outside / "f").read_text() == "old"
    assert (out / "lab/d0/f").read_text() == "old"


def test_file_edited_in_the_middle_of_a_commit_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render(FIRST, out)

    class Editing(Lock):
        """Edits a file once the survey is done."""

        def stage(self) -> int:
            (out / "lab/waves/10/pool.yaml").write_text("mine\n")
            return super().stage()

    for content in ({**FIRST, "site.yml": "x", "waves/10/pool.yaml": "y"}, {"site.yml": "x"}):
        render(FIRST, out, force=True)
        with Editing(out) as lock, pytest.raises(NotOursError, match="changed by another"):
            render(content, out, lock=lock)
        assert names(out) == ["lab"]
    assert (out / "lab/waves/10/pool.yaml").read_text() == "mine\n"
    assert (out / "lab/site.yml").read_text() == FIRST["site.yml"]


def test_file_made_in_the_middle_of_a_commit_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render(FIRST, out)

    class Making(Lock):
        """Makes a file once the survey is done."""

        def stage(self) -> int:
            (out / "lab/new").write_text("mine\n")
            return super().stage()

    with Making(out) as lock, pytest.raises(NotOursError, match="new was made"):
        render({**FIRST, "new": "x", "site.yml": "y"}, out, lock=lock)
    assert (out / "lab/new").read_text() == "mine\n"
    assert (out / "lab/site.yml").read_text() == FIRST["site.yml"]


def test_file_saved_between_two_moves_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file is set aside, the new one not yet there, and an editor saves."""
    out, link = tmp_path / "out", os.link
    render({**FIRST, "a": "x"}, out)

    def saving(source: str, name: str, **folders: int) -> None:
        if name in ("site.yml", "x"):
            (out / "lab/site.yml").write_text("mine\n")
            (out / "lab/new/notes").write_text("mine\n")
        link(source, name, **folders)

    monkeypatch.setattr(os, "link", saving)
    with pytest.raises(NotOursError, match=r"site\.yml was made"):
        render({**FIRST, "a": "y", "new/file": "x", "site.yml": "y"}, out)
    assert (out / "lab/site.yml").read_text() == "mine\n"
    assert (out / "lab/new/notes").read_text() == "mine\n"
    assert (out / "lab/a").read_text() == "x"
    assert names(out / "lab/new") == ["notes"]
    assert names(out) == ["lab"]

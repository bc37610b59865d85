"""Deleting a cluster deletes what the index lists and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen.errors import NotOursError
from gpugen.write import INDEX, prune
from support.trees import FIRST, kinds, names, orphans, render, snapshot


def test_prune_deletes_what_the_index_lists(out: Path) -> None:
    render(FIRST, out)
    render(FIRST, out, cluster="kept")
    assert orphans(out, ["kept"]) == ["lab"]
    assert set(kinds(prune(out, "lab")).values()) == {"deleted"}
    assert names(out) == ["kept"]
    assert prune(out, "lab") == []


def test_prune_leaves_foreign_files_and_says_so(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/waves/notes").write_text("mine")
    assert kinds(prune(out, "lab"))["waves/notes"] == "foreign"
    assert snapshot(out) == {"lab": "kind 40000", "lab/waves": "kind 40000",
                             "lab/waves/notes": b"mine"}  # fmt: skip
    assert orphans(out, []) == []


def test_prune_stops_at_an_edited_file(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/site.yml").write_text("mine")
    before = snapshot(out)
    with pytest.raises(NotOursError, match=r"site\.yml"):
        prune(out, "lab")
    assert snapshot(out) == before
    prune(out, "lab", force=True)
    assert names(out) == []


def test_prune_without_a_sound_index_deletes_nothing(out: Path) -> None:
    render(FIRST, out)
    (out / "lab" / INDEX).write_text("{")
    assert orphans(out, []) == ["lab"]
    with pytest.raises(NotOursError, match="damaged"):
        prune(out, "lab", force=True)
    assert (out / "lab/site.yml").exists()


def test_orphans_are_folders_with_an_index(out: Path) -> None:
    assert orphans(out, []) == []
    render(FIRST, out)
    (out / "plain").mkdir()
    (out / ".hidden" / INDEX).parent.mkdir(parents=True)
    (out / ".hidden" / INDEX).write_text("")
    (out / "file").write_text("")
    (out / "link").symlink_to("lab")
    assert orphans(out, []) == ["lab"]
    assert orphans(out, {"lab"}) == []

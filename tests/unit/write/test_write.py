"""What a write leaves, what it leaves alone, and that a second one does nothing."""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from gpugen import __version__
from gpugen.model.tree import Tree
from gpugen.write import INDEX, Lock, compare, listed, write
from support.trees import (
    FIRST,
    SECOND,
    is_current,
    kinds,
    names,
    render,
    snapshot,
    stamps,
    tree_of,
)


def test_first_write_holds_exactly_the_tree_and_its_index(out: Path) -> None:
    changes = render(FIRST, out)
    assert kinds(changes) == dict.fromkeys((*FIRST, INDEX), "added")
    found = snapshot(out / "lab")
    index = str(found.pop(INDEX), "utf-8").splitlines()
    assert {p: c for p, c in found.items() if isinstance(c, bytes)} == {
        path: text.encode() for path, text in FIRST.items()
    }
    lines = [f"{sha256(FIRST[path].encode()).hexdigest()} {path}" for path in sorted(FIRST)]
    assert index[0].startswith("# ")
    assert index[1:] == [f"gpugen {__version__}", *lines]
    assert names(out) == ["lab"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_modes_do_not_depend_on_the_umask(out: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        render(FIRST, out)
        render(SECOND, out)
    finally:
        assert os.umask(before) == umask
    for path in [out, *out.rglob("*")]:
        assert path.stat().st_mode & 0o7777 == (0o755 if path.is_dir() else 0o644)


def test_second_write_writes_nothing_at_all(out: Path) -> None:
    render(FIRST, out)
    before = stamps(out)
    assert render(FIRST, out) == []
    assert stamps(out) == before
    assert is_current(FIRST, out)


def test_files_that_stay_the_same_are_not_touched(out: Path) -> None:
    render(FIRST, out)
    before = stamps(out)
    assert kinds(render(SECOND, out)) == {
        INDEX: "changed",
        "site.yml": "changed",
        "waves/10/pool.yaml": "deleted",
        "waves/20/pool.yaml": "added",
    }
    same = str(out / "lab/roles/gpu/main.yml")
    assert stamps(out)[same] == before[same]
    assert names(out / "lab/waves") == ["20"]
    assert names(out) == ["lab"]


def test_files_and_folders_trade_places(out: Path) -> None:
    one = {"a": "1", "b/c": "2", "b/d/e": "3"}
    two = {"a/b": "1", "b": "2"}
    for content in (one, two, one):
        render(content, out)
        assert compare(tree_of(content), out, "lab") == []


def test_empty_folder_is_filled(out: Path) -> None:
    (out / "lab").mkdir(parents=True)
    render(FIRST, out)
    assert is_current(FIRST, out)


def test_clusters_of_one_run_share_a_lock(out: Path) -> None:
    with Lock(out) as lock:
        for cluster in ("a", "b"):
            render(FIRST, out, cluster=cluster, lock=lock)
    render(SECOND, out, cluster="b")
    assert is_current(FIRST, out, "a")
    assert names(out) == ["a", "b"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".gpugen", "../out"])
def test_cluster_cannot_leave_the_folder(out: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a valid folder name"):
        render(FIRST, out, cluster=name)


def test_listed(out: Path) -> None:
    assert listed(out, "lab") == []
    render(FIRST, out)
    assert listed(out, "lab") == sorted(FIRST)


def test_a_pool_has_an_index_of_its_own(out: Path) -> None:
    def tree(**texts: str) -> Tree:
        made = tree_of({"site.yml": "shared\n"})
        for pool, text in texts.items():
            made.add(f"waves/{pool}/x", text, pool)
        return made

    def indexes() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (out / "lab" / INDEX).parent.iterdir()}

    write(tree(a="1", b="1"), out, "lab")
    first = indexes()
    assert sorted(first) == ["cluster", "pool-a", "pool-b"]
    assert kinds(write(tree(a="2", b="1"), out, "lab")) == {
        "waves/a/x": "changed", ".gpugen-index/pool-a": "changed",
    }  # fmt: skip
    assert indexes() == {**first, "pool-a": indexes()["pool-a"]}
    assert "waves/a/x" in kinds(write(tree(b="1"), out, "lab"))
    assert indexes() == {name: first[name] for name in ("cluster", "pool-b")}


def test_thousands_of_files(out: Path) -> None:
    content = {f"d{number % 50}/f{number}": f"{number}\n" for number in range(4000)}
    render(content, out)
    assert is_current(content, out)
    del content["d1/f1"]
    assert kinds(render(content, out)) == {"d1/f1": "deleted", INDEX: "changed"}


def test_folder_deleted_by_hand_is_written_anew(out: Path) -> None:
    render(FIRST, out)
    shutil.rmtree(out / "lab")
    assert compare(tree_of(FIRST), out, "lab")
    render(FIRST, out)
    assert is_current(FIRST, out)


def test_empty_tree(out: Path) -> None:
    write(tree_of({}), out, "lab")
    assert names(out / "lab") == [".gpugen-index"]
    assert is_current({}, out)

"""Trees for the tests of the write stage, and what stands in a folder as a comparable value."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from gpugen.errors import NotOursError
from gpugen.model.tree import Tree
from gpugen.write import Change, Lock, compare, surroundings, write

FIRST = {"site.yml": "a\n", "roles/gpu/main.yml": "b\n", "waves/10/pool.yaml": "c\n"}
SECOND = {"site.yml": "A\n", "roles/gpu/main.yml": "b\n", "waves/20/pool.yaml": "d\n"}
MORE = {**FIRST, "site.yml": "A\n", "sync/app.yaml": "e\n"}
OTHER = {"site.yml": "other\n", "roles": "a file\n", "waves/20/pool.yaml": "D\n", "sync/x": "f\n"}
ROWS = "rows:\n  - a: 1\n  - b: 1\n"
POOLS = {"policy.yaml": ROWS, "same.yaml": ROWS, "pools/a/x": "1\n", "pools/b/x": "1\n"}
CHANGED_POOL = {**POOLS, "policy.yaml": ROWS.replace("a: 1", "a: 2"), "pools/a/x": "2\n"}
TREES = {
    "first": FIRST, "second": SECOND, "more": MORE, "other": OTHER,
    "pools": POOLS, "changed-pool": CHANGED_POOL,
}  # fmt: skip


def tree_of(content: Mapping[str, str | bytes]) -> Tree:
    """Return a tree that holds these files; what lies in ``pools/a`` is of the pool a."""
    tree = Tree()
    for path, text in content.items():
        tree.add(path, text, path.split("/")[1] if path.startswith("pools/") else "")
    return tree


def render(
    content: Mapping[str, str | bytes],
    out: Path,
    *,
    cluster: str = "lab",
    force: bool = False,
    overwrite: Collection[str] = (),
    lock: Lock | None = None,
) -> list[Change]:
    """Write these files as a cluster."""
    return write(tree_of(content), out, cluster, force=force, overwrite=overwrite, lock=lock)


def orphans(out: Path, clusters: Collection[str]) -> list[str]:
    """Return the folders with an index that belong to none of the clusters."""
    return surroundings(out, clusters).orphans


def kinds(changes: list[Change]) -> dict[str, str]:
    """Return path -> kind."""
    return {change.path: str(change.kind) for change in changes}


def is_current(content: Mapping[str, str | bytes], out: Path, cluster: str = "lab") -> bool:
    """Tell whether these files stand there with their index, and nothing else."""
    with suppress(NotOursError):
        return compare(tree_of(content), out, cluster) == []
    return False


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def snapshot(folder: Path) -> dict[str, str | bytes]:
    """Return what stands below a folder without following links or opening what is no file."""
    found: dict[str, str | bytes] = {}
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(above) / name
            mode = path.lstat().st_mode
            value: str | bytes = f"kind {stat.S_IFMT(mode):o}"
            if stat.S_ISLNK(mode):
                value = f"link to {path.readlink()}"
            elif stat.S_ISREG(mode):
                value = path.read_bytes()
            found[str(path.relative_to(folder))] = value
    return found


def stamps(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return what changes when anything at all is written below a folder."""
    paths = [folder, *sorted(folder.rglob("*"))]
    return {str(p): (s.st_ino, s.st_mtime_ns, s.st_ctime_ns) for p in paths for s in [p.lstat()]}

"""Figures of the write stage beside two floors, measured in one process, nothing asserted.

    python tests/benchmarks/bench_write.py [CLUSTERS] [FILES]

The floors are what plain Python costs: ``open``/``write``/``close`` of the same files into folders
of the same shape, and ``open``/``read``/SHA-256 of them. Best of three; in-process, not start-up.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gpugen.model.tree import Tree
from gpugen.write import Lock, compare, write
from gpugen.write.files import folders_of

ROUNDS = 3
FOLDERS = (
    "ansible/inventory/group_vars",
    "ansible/roles/nvidia_driver/tasks",
    "ansible/roles/nvidia_driver/meta",
    "ansible/roles/gpu_node/tasks",
    "kustomize/10-devices/cluster",
    "kustomize/10-devices/train",
    "kustomize/20-monitoring/cluster",
    "kustomize/20-monitoring/train",
    "sync",
)


def make_tree(files: int, salt: str = "") -> Tree:
    """Return a tree of about 1.5 kB a file, spread over folders as a cluster's are."""
    tree = Tree()
    for number in range(files):
        body = "".join(f"key-{number}-{line}: value{salt}\n" for line in range(70))
        tree.add(f"{FOLDERS[number % len(FOLDERS)]}/object-{number:04}.yaml", body)
    return tree


def write_plainly(tree: Tree, out: Path, clusters: int) -> None:
    """Write the same files as simply as Python can."""
    for number in range(clusters):
        root = f"{out}/c{number:04}"
        Path(root).mkdir(parents=True)
        for folder in sorted(folders_of(path for path, _ in tree)):
            Path(f"{root}/{folder}").mkdir()
        for path, content in tree:
            with open(f"{root}/{path}", "wb") as file:  # noqa: PTH123  # the floor itself
                file.write(content)


def hash_plainly(tree: Tree, out: Path, clusters: int) -> None:
    """Read and hash the same files as simply as Python can."""
    for number in range(clusters):
        for path, _ in tree:
            with open(f"{out}/c{number:04}/{path}", "rb") as file:  # noqa: PTH123
                hashlib.sha256(file.read()).hexdigest()


def write_all(tree: Tree, out: Path, clusters: int) -> None:
    """Write every cluster under one lock, as the command line does."""
    with Lock(out) as lock:
        for number in range(clusters):
            write(tree, out, f"c{number:04}", lock=lock)


def compare_all(tree: Tree, out: Path, clusters: int) -> None:
    """Compare every cluster with its tree, as ``--check`` does."""
    assert not any(compare(tree, out, f"c{number:04}") for number in range(clusters))


def measure(what: Callable[[Tree, Path, int], None], tree: Tree, out: Path, clusters: int) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    what(tree, out, clusters)
    return time.perf_counter() - start


def main() -> None:
    """Print the figures."""
    clusters, files = (int(text) for text in (*sys.argv[1:], "100", "60")[:2])
    tree, other = make_tree(files), make_tree(files, "!")
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        for turn in range(ROUNDS):
            plain, ours = Path(name) / f"plain{turn}", Path(name) / f"out{turn}"
            steps = (
                ("floor: open, write, close", write_plainly, tree, plain),
                ("write, new clusters", write_all, tree, ours),
                ("floor: open, read, SHA-256", hash_plainly, tree, plain),
                ("compare, nothing changed", compare_all, tree, ours),
                ("write, every file changed", write_all, other, ours),
            )
            for label, what, content, out in steps:
                taken = measure(what, content, out, clusters)
                best[label] = min(taken, best.get(label, taken))
            shutil.rmtree(plain)
            shutil.rmtree(ours)
    floors = ("floor: open, write, close", "floor: open, read, SHA-256")
    print(f"{clusters} clusters of {files} files, {sum(len(c) for _, c in tree)} bytes each")
    for label, taken in best.items():
        floor = best[floors["read" in label or "current" in label or "compare" in label]]
        print(f"{label:28} {taken:8.3f} s  {taken / floor:5.2f} x floor")


if __name__ == "__main__":
    main()

"""Prints whole-process figures of gpugen beside two floors measured in the same run.

    python tests/benchmarks/bench_render.py [--runs 5] [--fleet 100 1000] [--folder DIR]

Floors: ``python -c pass``, and the same files written from memory with plain open and write.
Wall and CPU seconds are medians; memory is the peak of the process. Nothing is asserted. Bytecode
is cached in a folder of the benchmark's own, as an installed package has it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]

WRITER = """
import os, pickle, sys
files = pickle.load(open(sys.argv[1], "rb"))
start = sys.argv[2]
for folder in dict.fromkeys(os.path.dirname(path) for path, _ in files):
    os.makedirs(os.path.join(start, folder), exist_ok=True)
for path, content in files:
    with open(os.path.join(start, path), "wb") as file:
        file.write(content)
"""
HASHER = """
import hashlib, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            hashlib.sha256(file.read()).digest()
"""


KEEPER = """
import pathlib, pickle, sys
out = pathlib.Path(sys.argv[1])
paths = [path for path in sorted(out.rglob("*")) if path.is_file()]
files = [(path.relative_to(out).as_posix(), path.read_bytes()) for path in paths]
pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps(files))
print(f"    {len(files)} files, {sum(len(c) for _, c in files) / 1e6:.1f} MB", flush=True)
"""


class Bench:
    """Runs commands one after another and keeps what they cost."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.folder = folder
        self.runs = runs
        self.environment = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "PYTHONPATH": str(ROOT / "generator"),
        }

    def run(self, title: str, *command: str, before: Callable[[], None] | None = None) -> float:
        """Run a command several times after one warm-up and print its medians."""
        figures = []
        for _ in range(self.runs + 1):
            if before is not None:
                before()
            figures.append(self._once(command))
        wall, cpu, memory = (statistics.median(column) for column in zip(*figures[1:], strict=True))
        print(f"{title:<58}{wall:>8.3f} s wall{cpu:>8.3f} s CPU{memory / 1024:>7.0f} MiB")
        return wall

    def _once(self, command: tuple[str, ...]) -> tuple[float, float, float]:
        start = time.perf_counter()
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, *command],
            self.environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                (
                    os.POSIX_SPAWN_OPEN,
                    2,
                    str(self.folder / "stderr"),
                    os.O_WRONLY | os.O_CREAT,
                    0o644,
                ),
            ],
        )
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - start
        if os.waitstatus_to_exitcode(status) not in (0, 3):
            sys.exit(f"{command}: {(self.folder / 'stderr').read_text()}")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def fleet(folder: Path, size: int) -> Path:
    """Make a repository with copies of the example ``train``, each with hosts of its own."""
    text = (ROOT / "inventories" / "train" / "cluster.yaml").read_text()
    root = folder / f"fleet-{size}"
    shutil.copytree(ROOT / "keys", root / "keys")
    for number in range(size):
        home = root / "inventories" / f"train-{number:04}"
        home.mkdir(parents=True)
        named = text.replace("name: train\n", f"name: {home.name}\n", 1)
        (home / "cluster.yaml").write_text(named.replace(".train.example", f".{home.name}.example"))
    return root


def many_hosts(folder: Path, count: int) -> Path:
    """Write a spec that lists its hosts one by one."""
    text = (ROOT / "inventories" / "train" / "cluster.yaml").read_text()
    hosts = "".join(f"\n      - hgx-{n:05}.train.example" for n in range(count))
    path = folder / "many-hosts.yaml"
    path.write_text(text.replace(' ["hgx-[01:16].train.example"]', hosts))
    return path


def writing_floor(folder: Path, out: Path) -> Path:
    """Keep the files of a rendered tree for the floor that only writes them.

    In a process of its own: the peak memory of a child counts what its parent held.
    """
    kept = folder / "files.pickle"
    subprocess.run([sys.executable, "-c", KEEPER, str(out), str(kept)], check=True)
    return kept


def measure(bench: Bench, sizes: list[int]) -> None:
    """Print every figure."""
    floor = bench.run("floor: python -c pass", "-c", "pass")
    bench.run("gpugen --version", "-m", "gpugen", "--version")
    out = bench.folder / "out"

    def clean() -> None:
        shutil.rmtree(out, ignore_errors=True)

    def render(root: Path, *more: str) -> tuple[str, ...]:
        return ("-m", "gpugen", "render", *more, "-q", "--root", str(root), "--out", str(out))

    one = fleet(bench.folder, 1)
    bench.run("render 1 cluster", *render(one), before=clean)
    bench.run("render 1 cluster, nothing changed", *render(one))
    for size in sizes:
        root = fleet(bench.folder, size)
        wall = bench.run(f"render {size} clusters", *render(root), before=clean)
        kept = writing_floor(bench.folder, out)
        plain = bench.run(
            f"floor: write the same files, {size} clusters",
            *("-c", WRITER, str(kept), str(out)),
            before=clean,
        )
        clean()
        bench._once(render(root))
        read = bench.run(f"floor: read and hash what is there, {size}", "-c", HASHER, str(out))
        same = bench.run(f"render {size} clusters, nothing changed", *render(root))
        bench.run(f"render ONE of {size} clusters, nothing changed", *render(root, "train-0000"))
        print(
            f"    {wall / plain:.1f} x the floor of writing; {(wall - floor) / size * 1000:.2f} ms"
            f" a cluster; unchanged: {(same - read) / size * 1000:.2f} ms a cluster beyond reading"
        )
        clean()
    hosts = many_hosts(bench.folder, 10_000)
    bench.run("validate 10,000 listed hosts", "-m", "gpugen", "validate", str(hosts))


def main() -> None:
    """Measure in a folder of its own and remove it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--fleet", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--folder", help="where to measure, for example a tmpfs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        measure(Bench(Path(folder), arguments.runs), arguments.fleet)


if __name__ == "__main__":
    main()

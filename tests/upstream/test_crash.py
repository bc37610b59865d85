"""Runs that are killed, stopped or refused by the disk at every system call that changes something.

strace does the killing and the refusing. Calls are counted in one undisturbed run; then the run is
repeated once for each of them. A run is a process of its own, ``crash_driver.py``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

import gpugen
from gpugen.errors import ExitCode
from gpugen.write import Lock, compare, prune
from gpugen.write.index import FOLDER
from gpugen.write.lock import STATE
from support import TESTS, trees
from support.required import missing
from support.trees import OTHER, TREES, render, snapshot, tree_of

pytestmark = pytest.mark.slow

CHANGING = (
    "write", "pwrite64", "openat", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
    "unlinkat", "mkdir", "mkdirat", "rmdir", "fchmod", "ftruncate",
)  # fmt: skip
NOTES = "lab/waves/notes"  # a file of the user's, where there was a tree before
SHAPES = {  # what a run writes -> from what
    "first": None, "more": "first", "other": "first", "prune": "first", "changed-pool": "pools",
}  # fmt: skip


@dataclass(frozen=True)
class Point:
    """The when-th use of a system call, counted from 1."""

    call: str
    when: int


@pytest.fixture(scope="module")
def strace() -> str:
    """Return the program, once it has shown that it may trace."""
    program = shutil.which("strace")
    works = (
        program
        and not subprocess.run(
            [program, "-o", os.devnull, "true"], capture_output=True, check=False
        ).returncode
    )
    if program is None or not works:
        message = "strace is missing or may not trace: `apt-get install strace`"
        missing(message)
    return program


def _prepare(root: Path, shape: str) -> Path:
    """Make the folder that a run starts from."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    out = root / "out"
    before = SHAPES[shape]
    if before is not None:
        render(TREES[before], out)
        (out / NOTES).parent.mkdir(exist_ok=True)
        (out / NOTES).write_text("mine\n")
    return out


def _command(out: Path, shape: str) -> list[str]:
    driver = Path(trees.__file__).with_name("crash_driver.py")
    source = Path(gpugen.__file__).parents[1]
    return [sys.executable, "-I", "-S", "-B", str(driver), str(source), str(out), shape]


def _run(
    strace: str, options: list[str], out: Path, shape: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [strace, *options, *_command(out, shape)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def _points(strace: str, root: Path, shape: str) -> list[Point]:
    """Count the changing calls of an undisturbed run; opening counts where it creates."""
    out, log = _prepare(root, shape), root / "log"
    calls = ",".join(f"?{call}" for call in CHANGING)
    ran = _run(strace, ["-e", f"trace={calls}", "-o", str(log)], out, shape)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    seen: Counter[str] = Counter()
    points = []
    for line in log.read_text().splitlines():
        if found := re.match(r"(\w+)\(", line):
            call = found[1]
            seen[call] += 1
            if call != "openat" or "O_CREAT" in line:
                points.append(Point(call, seen[call]))
    assert len(points) > 15
    return points


def _disturbed(
    strace: str, root: Path, shape: str, faults: list[str], *, forever: bool = False
) -> Iterator[tuple[Point, Path, subprocess.CompletedProcess[str]]]:
    """Yield every point with what the run disturbed there left behind; the faults take turns."""
    for number, point in enumerate(_points(strace, root, shape)):
        out = _prepare(root, shape)
        when = f"{point.when}+" if forever else str(point.when)
        inject = f"inject={point.call}:{faults[number % len(faults)]}:when={when}"
        options = ["-e", f"trace={point.call}", "-e", inject, "-o", os.devnull]
        yield point, out, _run(strace, options, out, shape)


def _finish(out: Path, shape: str) -> None:
    if shape == "prune":
        prune(out, "lab")
    else:
        render(TREES[shape], out)


def _clean(root: Path, shape: str) -> dict[str, str | bytes]:
    """Return what an undisturbed run leaves."""
    out = _prepare(root, shape)
    _finish(out, shape)
    return snapshot(out)


def _lines(state: dict[str, str | bytes]) -> Iterator[bytes]:
    """Yield what an index may say of a state."""
    for path, found in state.items():
        if isinstance(found, bytes):
            yield f"{sha256(found).hexdigest()} {path.partition('/')[2]}".encode()
            yield from found.split(b"\n") if FOLDER in path else ()


def _check_files(out: Path, states: list[dict[str, str | bytes]]) -> None:
    """Every file is one of its whole states or absent, and the user's is there.

    The index may say more: what stood and what was to come, each file as a whole.
    """
    lines = {line for state in states for line in _lines(state)}
    for path, found in snapshot(out).items():
        if path.startswith(STATE) or not isinstance(found, bytes):
            continue
        if FOLDER in path:
            assert lines.issuperset(found.split(b"\n")), path
        else:
            assert found in [state.get(path) for state in states], path
    if any(NOTES in state for state in states):
        assert (out / NOTES).read_bytes() == b"mine\n"


@pytest.mark.parametrize("shape", SHAPES)
def test_killed_at_any_call(strace: str, tmp_path: Path, shape: str) -> None:
    """No torn file, the difference is reported, and any next run completes what it wants."""
    root = tmp_path / "root"
    old, new = snapshot(_prepare(root, shape)), _clean(root, shape)
    third = _clean_third(root, shape)
    kept = tmp_path / "kept"
    for point, out, ran in _disturbed(strace, root, shape, ["signal=KILL"]):
        assert ran.returncode == -9, (point, ran)
        _check_files(out, [old, new])
        lab = {path: f for path, f in snapshot(out).items() if not path.startswith(STATE)}
        if shape != "prune":
            changes = compare(tree_of(TREES[shape]), out, "lab")
            assert {c.path for c in changes} - {NOTES[4:]} or lab == new, point
        shutil.rmtree(kept, ignore_errors=True)
        if out.exists():
            shutil.copytree(out, kept / "out", symlinks=True)
        _finish(out, shape)
        assert snapshot(out) == new, point
        kept.mkdir(exist_ok=True)
        render(OTHER, kept / "out")  # the spec changed meanwhile
        assert snapshot(kept / "out") == third, point


def _clean_third(root: Path, shape: str) -> dict[str, str | bytes]:
    out = _prepare(root, shape)
    render(OTHER, out)
    return snapshot(out)


@pytest.mark.parametrize("shape", ["first", "other", "prune"])
def test_refused_once_at_any_call(strace: str, tmp_path: Path, shape: str) -> None:
    """Success means the new tree; otherwise the old one stands and nothing is left behind."""
    root = tmp_path / "root"
    old, new = snapshot(_prepare(root, shape)), _clean(root, shape)
    if SHAPES[shape] is None:
        old = {}
    faults = ["error=ENOSPC", "error=EIO", "error=EDQUOT", "error=EROFS"]
    for point, out, ran in _disturbed(strace, root, shape, faults):
        found = {p: f for p, f in snapshot(out).items() if not p.startswith(STATE)}
        if ran.returncode == 0:
            assert found == new, (point, ran)
        else:
            assert ran.returncode == ExitCode.ENVIRONMENT, (point, ran)
            assert ran.stdout.startswith("cannot write "), (point, ran)
            assert found == old, (point, ran)
        _finish(out, shape)
        assert snapshot(out) == new, point


@pytest.mark.parametrize("shape", ["first", "other"])
def test_refused_from_any_call_on(strace: str, tmp_path: Path, shape: str) -> None:
    """A disk that stays full may leave a mixture, but says so; the next run repairs it."""
    root = tmp_path / "root"
    old, new = snapshot(_prepare(root, shape)), _clean(root, shape)
    for point, out, ran in _disturbed(strace, root, shape, ["error=ENOSPC"], forever=True):
        _check_files(out, [old, new])
        found = {p: f for p, f in snapshot(out).items() if not p.startswith(STATE)}
        assert ran.returncode in (0, ExitCode.ENVIRONMENT), (point, ran)
        assert ran.returncode != 0 or found == new, (point, ran)
        assert ran.returncode == 0 or found in (old, {}) or "halfway" in ran.stdout, (point, ran)
        _finish(out, shape)
        assert snapshot(out) == new, point


@pytest.mark.parametrize("shape", ["first", "other"])
def test_stopped_at_any_call(strace: str, tmp_path: Path, shape: str) -> None:
    """A signal leaves the old tree or the new one, nothing staged, and its exit code."""
    root = tmp_path / "root"
    old, new = snapshot(_prepare(root, shape)), _clean(root, shape)
    faults = ["signal=INT", "signal=TERM"]
    codes = set()
    for point, out, ran in _disturbed(strace, root, shape, faults):
        codes.add(ran.returncode)
        assert (snapshot(out) if out.exists() else {}) in (old, new), point
    assert codes == {ExitCode.INTERRUPTED, ExitCode.TERMINATED}


@pytest.mark.parametrize("shape", ["more", "other", "prune"])
def test_file_system_without_hard_links(strace: str, tmp_path: Path, shape: str) -> None:
    root = tmp_path / "root"
    new = _clean(root, shape)
    for code in ("EPERM", "EOPNOTSUPP"):
        out = _prepare(root, shape)
        inject = f"inject=linkat:error={code}"
        ran = _run(strace, ["-e", "trace=linkat", "-e", inject, "-o", os.devnull], out, shape)
        assert ran.returncode == 0, ran
        assert snapshot(out) == new


def test_lock_file_that_was_replaced_meanwhile_is_no_lock(strace: str, tmp_path: Path) -> None:
    """A run that waits at the file of a holder who left must not pass the next holder."""
    out = tmp_path / "out"
    (out / STATE).mkdir(parents=True)
    (out / STATE / "kept").write_text("")  # so the folder of the lock stays the same
    delay = ["-e", "trace=flock", "-e", "inject=flock:delay_enter=1200000:when=1", "-o", os.devnull]
    with Lock(out) as first:
        first.acquire()
        waiting = subprocess.Popen([strace, *delay, *_command(out, "first")])
        time.sleep(0.6)  # it has opened the file by now
    with Lock(out) as second:
        second.acquire()
        time.sleep(1.2)  # it has locked that file by now
        assert waiting.poll() is None
        assert not (out / "lab").exists()
    assert waiting.wait(30) == 0
    assert compare(tree_of(TREES["first"]), out, "lab") == []


RACER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from support import trees
names = sorted(trees.TREES)
for turn in range(int(sys.argv[3])):
    trees.render(trees.TREES[names[(turn + int(sys.argv[2])) % len(names)]], Path(sys.argv[1]))
"""


def test_four_at_once_never_mix(tmp_path: Path) -> None:
    out = tmp_path / "out"
    paths = [str(TESTS), str(Path(gpugen.__file__).parents[1])]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(out), str(number), "200", *paths],
            stderr=subprocess.PIPE, text=True,
        )
        for number in range(4)
    ]  # fmt: skip
    for racer in racers:
        errors = racer.communicate(timeout=120)[1]
        assert racer.returncode == 0, errors
    whole = [compare(tree_of(content), out, "lab") == [] for content in TREES.values()]
    assert whole.count(True) == 1
    assert trees.names(out) == ["lab"]

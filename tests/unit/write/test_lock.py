"""Two runs at once: one waits or says who is in its way; a dead one is in nobody's way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpugen.errors import ExitCode, GpugenError
from gpugen.write import Lock
from gpugen.write.lock import STATE
from support.trees import FIRST, SECOND, is_current, names, render, snapshot

HOLDER = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from gpugen.write import Lock
with Lock(Path(sys.argv[1])) as lock:
    lock.acquire()
    lock.stage()
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _holder(out: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(out), str(seconds), *(p for p in sys.path if p)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=10)


def test_second_run_names_the_holder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = _holder(out, 60)
    try:
        with Lock(out, wait=0.2) as lock, pytest.raises(GpugenError, match="locked") as caught:
            render(FIRST, out, lock=lock)
        assert caught.value.exit_code == ExitCode.ENVIRONMENT
        assert f"process {process.pid} on {os.uname().nodename} since 20" in caught.value.message
        assert names(out) == [STATE]
    finally:
        _end(process)


def test_killed_holder_is_in_nobodys_way(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(5):
        _end(_holder(out, 60))
        assert (out / STATE / "stage").exists()
        assert (out / STATE / ".gitignore").read_text() == "*\n"
        with Lock(out, wait=0) as lock:
            render(FIRST, out, lock=lock)
        assert names(out) == ["lab"]


def test_second_run_waits(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = _holder(out, 0.4)
    try:
        render(FIRST, out)
    finally:
        process.communicate(timeout=10)
    assert names(out) == ["lab"]


def test_nothing_to_do_needs_no_lock(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    process = _holder(out, 60)
    try:
        with Lock(out, wait=0) as lock:
            assert render(FIRST, out, lock=lock) == []
            assert is_current(FIRST, out)
    finally:
        _end(process)


def test_lock_that_was_removed_meanwhile_is_not_taken(tmp_path: Path) -> None:
    """Who waited for a lock file that its holder removed has to begin again."""
    out = tmp_path / "out"
    with Lock(out) as first:
        first.acquire()
        waiting = Lock(out, wait=0)
        with pytest.raises(GpugenError, match="locked"):
            waiting.acquire()
    with Lock(out) as second:
        second.acquire()
        second.acquire()
        with pytest.raises(GpugenError, match="locked"):
            waiting.acquire()
    assert not out.exists()


def test_holder_file_is_hostile_input(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Lock(out) as lock:
        lock.acquire()
        for text in ("", "[1]", '{"pid": "\x1b[2J"}', '{"host": "\\u001b[2J"}', "{" * 1000):
            (out / STATE / "lock").write_text(text)
            with pytest.raises(GpugenError, match="locked") as caught:
                Lock(out, wait=0).acquire()
            assert caught.value.message.isprintable()


def test_entering_clears_what_a_killed_run_left(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    _end(_holder(out, 60))
    with Lock(out):
        pass
    assert names(out) == ["lab"]


def test_refused_run_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    (out / "lab/site.yml").write_text("mine")
    before = snapshot(tmp_path)
    with pytest.raises(GpugenError):
        render(SECOND, out)
    assert snapshot(tmp_path) == before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Take SIGINT as Python does, even where who started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_commit_holds_signals_until_it_is_done(tmp_path: Path) -> None:
    done = []

    def commit() -> None:
        lock.acquire()
        signal.raise_signal(signal.SIGINT)  # to this thread: a test runner may have others
        done.append("all of it")

    with pytest.raises(KeyboardInterrupt), Lock(tmp_path / "out") as lock:
        commit()
    assert done
    assert names(tmp_path) == []


@pytest.mark.usefixtures("interruptible")
def test_signal_stops_a_run_before_the_next_cluster(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def run() -> None:
        with Lock(out) as lock:
            render(FIRST, out, cluster="a", lock=lock)
            signal.raise_signal(signal.SIGINT)
            render(FIRST, out, cluster="b", lock=lock)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert names(out) == ["a"]

"""Programs that run beside the tests and never outlive them, not even when pytest is killed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType

POLL = 0.05  # seconds between two looks
_NUMBERS = count(os.getpid())
PATIENCE = 60.0  # seconds; a starved machine is slow, a broken program is found at once


class ProgramError(Exception):
    """A program ended, or did not do in time what was expected; the text holds its last lines."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody has.

    Every worker has ports of its own, none twice in a row, below those that clients are given: a
    port is bound only later, by the program that it is for.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    while True:
        port = 12000 + 2000 * worker + next(_NUMBERS) % 2000
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def bound_to_parent(command: Sequence[str | Path], root: Path | None = None) -> list[str]:
    """Return a command line that the kernel kills together with the process that starts it.

    root: the folder that the program sees as ``/``; its path then is one below it. Changing the
    root takes rights that root has, and others in a user namespace of their own; entering one
    clears the tie to the parent, so it is made afterwards.
    """
    tie = [tool("setpriv"), "--pdeathsig", "KILL", "--"]
    words = [str(word) for word in command]
    if root is None:
        return [*tie, *words]
    enter = [] if os.geteuid() == 0 else own_space()
    return [*enter, *tie, tool("unshare"), f"--root={root}", "--", *words]


def own_space(*flags: str) -> list[str]:
    """Return how a command line begins that runs in namespaces of its own, as root there."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return [tool("unshare"), *user, *flags, "--"]


def space_refusal() -> str:
    """Say why this machine allows no namespaces and roots of one's own; empty where it does."""
    try:
        probe = own_space("--pid", "--fork", "--mount-proc", "--root=/")
        done = subprocess.run(
            [*probe, "/bin/true"], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except ProgramError as missing:
        return str(missing)
    return done.stderr.strip() if done.returncode else ""


def tool(name: str) -> str:
    """Return the path of a program of util-linux. Raises ProgramError: it is missing."""
    found = shutil.which(name)
    if found is None:
        raise ProgramError(f"there is no {name} (util-linux)")
    return found


class Program:
    """A running program whose output goes to ``<folder>/<name>.log``."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        *,
        root: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._start = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                bound_to_parent(command, root),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,  # an interrupt at the terminal is pytest's alone
            )

    @property
    def is_running(self) -> bool:
        """Tell whether the program has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process that the command line became."""
        return self._process.pid

    @property
    def output(self) -> str:
        """What it has printed since it was started."""
        return self.log.read_bytes()[self._start :].decode(errors="replace")

    def wait_for(self, what: str, is_done: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until something holds. Raises ProgramError: it ended before, or time is up."""
        end = time.monotonic() + seconds
        while not is_done():
            if not self.is_running:
                raise ProgramError(self._told(f"ended with {self._process.returncode}"))
            if time.monotonic() > end:
                raise ProgramError(self._told(f"no {what} after {seconds:.0f} s"))
            time.sleep(POLL)

    def end(self, seconds: float = PATIENCE) -> int:
        """Wait for the program to end by itself and return its status."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired as late:
            raise ProgramError(self._told(f"still runs after {seconds:.0f} s")) from late

    def stop(self, *, gently: bool = False) -> None:
        """End the program. gently: let it write what it has, for what is read afterwards."""
        if gently and self.is_running:
            self._process.terminate()
            self.end(20)
        elif self.is_running:
            self._process.kill()
        self._process.wait()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _told(self, fault: str) -> str:
        tail = "\n".join(self.output.splitlines()[-12:])
        return f"{self.name}: {fault}\n{tail}"


def wait_until(what: str, is_done: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something holds. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} after {seconds:.0f} s")
        time.sleep(POLL)

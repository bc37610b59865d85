"""The lock on one ``out/`` folder, and the private folder for lock and staging.

``out/.gpugen/`` holds lock and staging: on the file system of the clusters, never moved, and hidden
from git by a ``.gitignore`` of its own in case a killed run leaves it behind. The lock is advisory
on an open file, so it ends with its process; the last holder removes the file.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from gpugen.errors import GpugenError
from gpugen.text.spelling import printable
from gpugen.write import files

STATE = ".gpugen"
STAGE = "stage"
_POLL = 0.05  # seconds between two tries
_LONGEST = 150  # bytes of what says who holds the lock; a host name has 64
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Lock:
    """Locks ``out/`` from the first change until the block ends. wait: seconds for another run.

    Entering it takes the lock only if an interrupted run left something to clean up. is_held: this
    process may write now, with plain modes whatever the umask, and signals that stop it wait for
    the end of a cluster. out: handle of the folder while it may.
    """

    def __init__(self, out: Path, *, wait: float = 10.0) -> None:
        self.path = str(out)
        self.is_held = False
        self.out = self._state = -1
        self._place = f"{out}/{STATE}"
        self._wait = wait
        self._made_out = False
        self._held = ExitStack()

    def __enter__(self) -> Lock:
        with suppress(OSError, GpugenError):
            if os.lstat(self._place):
                self._try()
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_held:
            self._release()

    def acquire(self) -> None:
        """Take the lock unless it is held already.

        Raises GpugenError: another run holds it too long. OSError: ``out/`` cannot be written.
        SystemExit: a signal waits that stops the process.
        """
        end = time.monotonic() + self._wait
        while not self.is_held and not self._try():
            if time.monotonic() >= end:
                raise GpugenError(f"{self.path} is locked{self._holder()}", "wait for that run")
            time.sleep(_POLL)
        for number in signal.sigpending() & set(_STOPPING):
            if signal.getsignal(number) is not signal.SIG_IGN:
                raise SystemExit(128 + number)

    def stage(self) -> int:
        """Return the handle of a new staging folder, which the caller closes."""
        with files.named(self._place):
            os.mkdir(STAGE, 0o700, dir_fd=self._state)
            return os.open(STAGE, files.OPEN_FOLDER, dir_fd=self._state)

    def clear_stage(self) -> None:
        """Delete what is staged. Leftovers are harmless: the next run deletes them."""
        with suppress(OSError):
            files.remove_tree(STAGE, self._state)

    def _try(self) -> bool:
        """Lock without waiting; where that fails, nothing stays open or changed."""
        with ExitStack() as held, suppress(BlockingIOError, FileNotFoundError):  # held by another
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
            held.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
            held.callback(os.umask, os.umask(0o022))
            self._open_out(held)
            with files.named(self._place):
                if self._is_locked(held):
                    self._held = held.pop_all()
                    self.is_held = True
        return self.is_held

    def _open_out(self, held: ExitStack) -> None:
        try:
            Path(self.path).mkdir()
            self._made_out = True
        except FileExistsError:
            pass
        except FileNotFoundError as error:
            raise GpugenError(f"cannot create {self.path}: its parent folder is missing") from error
        self.out = held.enter_context(files.folder(self.path))

    def _is_locked(self, held: ExitStack) -> bool:
        """Lock the file, unless its last holder has removed it, and clean up after a killed run."""
        with suppress(FileExistsError):
            os.mkdir(STATE, 0o700, dir_fd=self.out)
        state = self._state = held.enter_context(files.folder(STATE, self.out))
        file = os.open("lock", _OPEN, 0o600, dir_fd=state)
        held.callback(os.close, file)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_ino != os.stat("lock", dir_fd=state, follow_symlinks=False).st_ino:
            return False
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {os.uname().nodename} since {since}".encode(), 0)
        with suppress(FileExistsError):
            files.create(".gitignore", b"*\n", state)
        with suppress(FileNotFoundError):
            files.remove_tree(STAGE, state)
        return True

    def _holder(self) -> str:
        with suppress(OSError), files.folder(self._place) as state:
            text = (files.read_below(state, "lock") or b"")[:_LONGEST].decode(errors="replace")
            return f" by {printable(text) or 'another run'}"
        return " by another run"

    def _release(self) -> None:
        self.clear_stage()
        with suppress(OSError):
            if STAGE not in {entry.name for entry in files.entries(self._state)}:
                os.unlink(".gitignore", dir_fd=self._state)
            os.unlink("lock", dir_fd=self._state)
            os.rmdir(STATE, dir_fd=self.out)
            if self._made_out:
                Path(self.path).rmdir()  # only if nothing was written
        self.is_held = False
        self._held.close()

"""The lock on one ``out/`` folder, and the private folder for lock and staging.

``out/.gpugen/`` holds lock and staging: on the file system of the clusters, never moved, and hidden
from git by a ``.gitignore`` of its own in case a killed run leaves it behind. The lock is advisory
on an open file, so it ends with its process; the last holder removes the file.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from gpugen.errors import GpugenError
from gpugen.write import files
from gpugen.write.signals import held

STATE = ".gpugen"
STAGE = "stage"
IGNORED = b"*\n"  # content of the .gitignore that hides the folder
_POLL = 0.05  # seconds between two tries
_LONGEST = 150  # bytes of what says who holds the lock; a host name has 64


class Lock:
    """Locks ``out/`` from the first change until the block ends. wait: seconds for another run.

    Entering it takes the lock only if an interrupted run left something to clean up. is_held: this
    process may write now; out, state: handles of the two folders while it may; place: where locks
    and staging are, for messages.
    """

    def __init__(self, out: Path, *, wait: float = 10.0) -> None:
        self.path = str(out)
        self.place = f"{out}/{STATE}"
        self.is_held = False
        self.out = -1
        self.state = -1
        self._file = -1
        self._stage = -1
        self._wait = wait
        self._made_out = False

    def __enter__(self) -> Lock:
        with suppress(OSError, GpugenError):
            if os.lstat(self.place):
                self._try()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self.is_held:
            with held():
                self._release()

    def acquire(self) -> None:
        """Take the lock unless it is held already.

        Raises GpugenError: another run holds it too long. OSError: ``out/`` cannot be written.
        """
        end = time.monotonic() + self._wait
        while not self.is_held and not self._try():
            if time.monotonic() >= end:
                raise GpugenError(f"{self.path} is locked{self._holder()}", "wait for that run")
            time.sleep(_POLL)

    def stage(self) -> int:
        """Return the handle of an empty staging folder."""
        if self._stage < 0:
            with files.named(self.place):
                os.mkdir(STAGE, 0o700, dir_fd=self.state)
                self._stage = files.open_folder(STAGE, self.state)
        return self._stage

    def clear_stage(self) -> None:
        """Delete what is staged. Leftovers are harmless: the next run deletes them."""
        if self._stage >= 0:
            os.close(self._stage)
            self._stage = -1
        with suppress(OSError):
            files.remove_tree(STAGE, self.state)

    def _try(self) -> bool:
        """Open everything and lock, without waiting; on failure nothing stays open."""
        with held(), files.plain_modes():
            try:
                self._open()
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                there = os.stat("lock", dir_fd=self.state, follow_symlinks=False)
                self.is_held = os.fstat(self._file).st_ino == there.st_ino
                if self.is_held:
                    with files.named(self.place):
                        self._settle()
            except (BlockingIOError, FileNotFoundError):
                pass  # another run holds it, or has just removed it
            finally:
                if not self.is_held:
                    self._close()
            return self.is_held

    def _open(self) -> None:
        try:
            self.out = files.open_folder(self.path)
        except FileNotFoundError:
            self._make_out()
            self.out = files.open_folder(self.path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        with files.named(self.place):
            with suppress(FileExistsError):
                os.mkdir(STATE, 0o700, dir_fd=self.out)
            self.state = files.open_folder(STATE, self.out)
            self._file = os.open("lock", flags, 0o600, dir_fd=self.state)

    def _make_out(self) -> None:
        try:
            Path(self.path).mkdir(0o755)
        except FileNotFoundError as error:
            raise GpugenError(f"cannot create {self.path}: its parent folder is missing") from error
        self._made_out = True

    def _settle(self) -> None:
        """Write who holds the lock, hide the folder from git, delete what a killed run staged."""
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.ftruncate(self._file, 0)
        holder = f"process {os.getpid()} on {os.uname().nodename} since {since}"
        os.pwrite(self._file, holder.encode(), 0)
        with suppress(FileExistsError):
            files.create(".gitignore", IGNORED, self.state)
        with suppress(FileNotFoundError):
            files.remove_tree(STAGE, self.state)

    def _holder(self) -> str:
        with suppress(OSError), files.folder(self.place) as state:
            text = (files.read_below(state, "lock") or b"")[:_LONGEST].decode(errors="replace")
            return f" by {files.printable(text) or 'another run'}"
        return " by another run"

    def _release(self) -> None:
        self.clear_stage()
        with suppress(OSError):
            if STAGE not in {entry.name for entry in files.entries(self.state)}:
                os.unlink(".gitignore", dir_fd=self.state)
            os.unlink("lock", dir_fd=self.state)
            os.rmdir(STATE, dir_fd=self.out)
        with suppress(OSError):
            if self._made_out:
                Path(self.path).rmdir()  # only if nothing was written
        self._close()

    def _close(self) -> None:
        for handle in (self._stage, self._file, self.state, self.out):
            if handle >= 0:
                os.close(handle)
        self._stage = self._file = self.state = self.out = -1
        self.is_held = False

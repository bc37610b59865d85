"""Changes of one cluster's folder: all of them, or on an error none.

Before the first new file one more index file gets the lines of what is there and what is to come,
so that a killed commit differs from an edit; it goes after the last move. What is replaced or
deleted waits in the staging folder until then, and an error puts it back.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping

from gpugen.errors import GpugenError, NotOursError
from gpugen.text.spelling import printable
from gpugen.write import files, index
from gpugen.write.index import FOLDER, UNFINISHED, is_index
from gpugen.write.lock import Lock
from gpugen.write.survey import Survey

# Errors of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_TOP = ""  # the cluster's folder itself
_Call = Callable[..., None]


def change(lock: Lock, cluster: str, survey: Survey) -> None:
    """Change a cluster's folder from what was surveyed to what is expected.

    Raises NotOursError: a file was changed after the survey. OSError: an error of the disk. In both
    cases everything is as before the call; GpugenError: it is not, as the message says.
    """
    stage = lock.stage()
    contents = {path: survey.expected[path] for path in survey.write}
    contents[UNFINISHED] = index.unfinished(survey.before, survey.expected)
    staged = {path: f"new-{number}" for number, path in enumerate(contents)}
    moves = _Moves(lock.out, cluster, stage, survey)
    try:
        for path, name in staged.items():
            with files.named(path):
                files.create(name, contents[path], stage)
        _carry_out(moves, survey, staged)
    except BaseException as error:
        moves.revert(error)
        raise
    finally:
        moves.close()
        os.close(stage)
        lock.clear_stage()


def _carry_out(moves: _Moves, survey: Survey, staged: Mapping[str, str]) -> None:
    """Delete, then create; index files last, as the next run reads them if this one is killed."""
    for path in survey.delete:
        if not is_index(path):
            moves.set_aside(path)
    spare = {*survey.spare_folders} - {FOLDER}
    moves.change_folders(os.rmdir, sorted(spare, reverse=True), os.mkdir)
    moves.change_folders(os.mkdir, (_TOP, FOLDER), os.rmdir)
    moves.place(UNFINISHED, staged[UNFINISHED], os.rename)
    moves.change_folders(os.mkdir, sorted(files.folders_of(survey.write)), os.rmdir)
    for path in sorted(survey.write, key=is_index):
        if path in survey.stamps:
            moves.set_aside(path)
        moves.place(path, staged[path], _link)
    for path in sorted(filter(is_index, {*survey.delete, UNFINISHED})):
        moves.set_aside(path)
    if not survey.expected:
        moves.change_folders(os.rmdir, (FOLDER, _TOP), os.mkdir)


class _Moves:
    """Moves between a cluster's folder and the staging folder, each of which can be reverted."""

    def __init__(self, out: int, cluster: str, stage: int, survey: Survey) -> None:
        self._out, self._cluster, self._stage = out, cluster, stage
        self._stamps = survey.stamps
        self._undo: list[tuple[_Call, str, str]] = []
        self._above, self._folder = "", -1  # the folder of the last move, which stays open

    def set_aside(self, path: str) -> None:
        """Move a path's content to staging. Raises NotOursError: it is not what was surveyed."""
        aside = f"old-{len(self._undo)}"
        try:
            self.do(_take, path, aside)
        except FileNotFoundError:
            raise _meanwhile("deleted", path) from None
        self._undo.append((_link, path, aside))
        status = os.stat(aside, dir_fd=self._stage, follow_symlinks=False)
        if path != UNFINISHED and files.stamp(status) != self._stamps[path]:
            raise _meanwhile("changed", path)

    def place(self, path: str, staged: str, call: _Call) -> None:
        """Put a staged file in place. Raises NotOursError: something is there by now."""
        if not self.do(call, path, staged):
            raise _meanwhile("made", path)
        if path != UNFINISHED or path not in self._stamps:  # else that of a killed commit is there
            self._undo.append((os.unlink, path, ""))

    def change_folders(self, call: _Call, paths: Iterable[str], revert: _Call) -> None:
        """Create those that are missing, or delete those that are empty."""
        for path in paths:
            if self.do(call, path):
                self._undo.append((revert, path, ""))

    def revert(self, cause: BaseException) -> None:
        """Revert every move, the last first; what an editor made meanwhile stays.

        Raises GpugenError: an error of the disk; the next run completes the commit.
        """
        try:
            while self._undo:
                self.do(*self._undo.pop())
        except OSError as error:
            raise GpugenError(
                f"failed halfway ({cause}), and reverting failed: {error.strerror}",
                "repair the disk and render again, which completes the commit",
            ) from cause

    def do(self, call: _Call, path: str, staged: str = "") -> bool:
        """Call a function of ``os`` for a path, with a staged file if it takes two.

        Returns False if something has the name already, or a folder is not empty.
        """
        above, _, name = f"{self._cluster}/{path}".rstrip("/").rpartition("/")
        try:
            with files.named(path):
                folder = self._open(above)
                if staged:
                    call(staged, name, src_dir_fd=self._stage, dst_dir_fd=folder)
                else:
                    call(name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            return False
        return True

    def close(self) -> None:
        """Close the folder that is open."""
        if self._folder >= 0:
            os.close(self._folder)
        self._folder = -1

    def _open(self, above: str) -> int:
        if self._folder < 0 or above != self._above:
            self.close()
            self._above, self._folder = above, files.open_below(self._out, above)
        return self._folder


def _meanwhile(what: str, path: str) -> NotOursError:
    return NotOursError(f"{printable(path)} was {what} by another program in the meantime")


def _take(staged: str, name: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
    os.rename(name, staged, src_dir_fd=dst_dir_fd, dst_dir_fd=src_dir_fd)


def _link(staged: str, name: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
    """Link, which fails if the name is taken; where there are no hard links, rename."""
    try:
        os.link(staged, name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(staged, name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

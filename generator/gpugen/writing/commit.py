"""Puts staged files in place: all of them, or on an error none.

Whatever is replaced or deleted is first set aside in the staging folder. An error brings it back;
after a kill the journal tells the next run which new content is ours as well.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from functools import partial

from gpugen.errors import GpugenError, NotOursError
from gpugen.writing import files, journal
from gpugen.writing.files import Stamp
from gpugen.writing.index import INDEX
from gpugen.writing.lock import Lock
from gpugen.writing.signals import held
from gpugen.writing.state import State
from gpugen.writing.survey import Survey

# What file systems without hard links answer.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_link = partial(os.link, follow_symlinks=False)


def commit_fresh(lock: Lock, cluster: str, content: Mapping[str, bytes], index: bytes) -> None:
    """Write a cluster that does not exist yet: staged as a whole, moved by one rename."""
    stage = lock.stage()
    with files.named(""):
        os.mkdir("new", 0o755, dir_fd=stage)
    with files.folder("new", stage) as root:
        for folder in sorted(files.folders_of(content)):
            os.mkdir(folder, 0o755, dir_fd=root)
        for path, data in content.items():
            files.create(path, data, root)
        files.create(INDEX, index, root)
    with files.named(""):
        os.rename("new", cluster, src_dir_fd=stage, dst_dir_fd=lock.out)
    journal.drop(lock.state, cluster)


def commit_changes(
    lock: Lock, cluster: str, state: State, wanted: Mapping[str, bytes] | None
) -> None:
    """Bring an existing cluster from what was surveyed to what is wanted; None deletes it.

    Raises NotOursError: somebody changed a file after the survey. OSError: the disk refuses. In
    both cases everything is as before the call; GpugenError: it is not, and the message says so.
    """
    survey, stage = state.survey, lock.stage()
    content = wanted or {}
    for number, path in enumerate(survey.put):
        with files.named(path):
            files.create(f"new-{number}", content[path], stage)
    if wanted is not None and survey.index:
        files.create("new-index", state.index.to_bytes(), stage)
    try:
        _write_journal(lock, cluster, state)
        with files.folder(cluster, lock.out) as root, held():
            last = partial(_remove_if_empty, cluster, lock.out) if wanted is None else None
            _move(_Move(root, stage, survey.stamps), survey, last)
            journal.drop(lock.state, cluster)
    except _HalfWayError:
        raise
    except BaseException:
        if not state.journal:
            journal.drop(lock.state, cluster)
        raise


def _move(move: _Move, survey: Survey, last: Callable[[], object] | None) -> None:
    try:
        move.carry_out(survey, last)
    except BaseException as error:
        move.undo(error)
        raise
    finally:
        move.close()


def _write_journal(lock: Lock, cluster: str, state: State) -> None:
    """Note which content will be ours, so that a killed commit can be told from an edit."""
    ours = {path: list(hashes) for path, hashes in state.journal.items()}
    for path in state.survey.put:
        ours.setdefault(path, []).append(state.index.files[path])
    if ours:
        with files.named(f"{lock.place}/{journal.JOURNALS}"):
            journal.write(lock.state, lock.stage(), cluster, ours)


class _HalfWayError(GpugenError):
    """Neither the old nor the new files: the journal has to stay."""


class _Move:
    """The moves of one commit, and how to take each of them back."""

    def __init__(self, root: int, stage: int, stamps: Mapping[str, Stamp]) -> None:
        self.root = root
        self.stage = stage
        self.stamps = stamps
        self._undo: list[Callable[[], None]] = []
        self._folder = ""
        self._handle = -1

    def close(self) -> None:
        """Let go of the folder that is open."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def carry_out(self, survey: Survey, last: Callable[[], object] | None) -> None:
        """Do everything; the index comes last, and where it is deleted one more thing."""
        for path in survey.clear:
            self._do(path, self._take_away)
        for folder in sorted(survey.spare, reverse=True):
            self._do(folder, self._remove_folder)
        for path in survey.modes:
            self._do(path, partial(self._set_mode, mode=0o644, before=survey.modes[path]))
        for folder in sorted(files.folders_of(survey.put)):
            self._do(folder, self._make_folder)
        for number, path in enumerate(survey.put):
            self._do(path, partial(self._put, name=f"new-{number}"))
        if last:
            self._do(INDEX, self._take_away)
            last()
        elif survey.index:
            self._do(INDEX, partial(self._put, name="new-index"))

    def undo(self, cause: BaseException) -> None:
        """Take every move back, the last first.

        Raises GpugenError: the disk refuses even that; the next run completes the commit.
        """
        steps, self._undo = self._undo, []
        try:
            for step in reversed(steps):
                step()
        except OSError as error:
            raise _HalfWayError(
                f"stopped half way ({cause}) and cannot go back: {error.strerror}",
                "render again once the disk is well; it completes what was begun",
            ) from cause

    def _do(self, path: str, move: Callable[[str], None]) -> None:
        with files.named(path):
            move(path)

    def _at(self, folder: str) -> int:
        """Return the handle of a folder, opened step by step so that no link is followed."""
        if folder == self._folder and self._handle >= 0:
            return self._handle
        self.close()
        handle = os.dup(self.root)
        for step in folder.split("/") if folder else ():
            try:
                inner = files.open_folder(step, handle)
            finally:
                os.close(handle)
            handle = inner
        self._folder, self._handle = folder, handle
        return handle

    def _take_away(self, path: str) -> None:
        self._set_aside(path, os.rename)

    def _put(self, path: str, name: str) -> None:
        if path in self.stamps or path == INDEX:
            self._replace(path, name)
        else:
            self._add(path, name)

    def _replace(self, path: str, name: str) -> None:
        try:
            self._set_aside(path, _link)
        except FileNotFoundError:
            if path != INDEX:
                raise
            self._add(path, name)
            return
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._set_aside(path, os.rename)
        self._rename(name, path)

    def _set_aside(self, path: str, how: Callable[..., None]) -> None:
        aside = f"old-{len(self._undo)}"
        folder, name = self._at(files.parent(path)), path.rpartition("/")[2]
        how(name, aside, src_dir_fd=folder, dst_dir_fd=self.stage)
        self._undo.append(lambda: self._rename(aside, path))
        status = os.stat(aside, dir_fd=self.stage, follow_symlinks=False)
        if path in self.stamps and files.stamp(status) != self.stamps[path]:
            raise NotOursError(f"{files.printable(path)} was changed by somebody else just now")

    def _add(self, path: str, name: str) -> None:
        """Put a file where nothing stands, and fail if something does by now."""
        folder, last = self._at(files.parent(path)), path.rpartition("/")[2]
        try:
            _link(name, last, src_dir_fd=self.stage, dst_dir_fd=folder)
        except FileExistsError as error:
            raise NotOursError(f"{files.printable(path)} was made by somebody just now") from error
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._rename(name, path)
        self._undo.append(lambda: self._remove(path))

    def _rename(self, name: str, path: str) -> None:
        folder, last = self._at(files.parent(path)), path.rpartition("/")[2]
        os.rename(name, last, src_dir_fd=self.stage, dst_dir_fd=folder)

    def _remove(self, path: str) -> None:
        os.unlink(path.rpartition("/")[2], dir_fd=self._at(files.parent(path)))

    def _set_mode(self, path: str, mode: int, before: int) -> None:
        files.set_mode(path.rpartition("/")[2], mode, self._at(files.parent(path)))
        self._undo.append(lambda: self._set_mode(path, before, mode))

    def _make_folder(self, path: str) -> None:
        folder, name = self._at(files.parent(path)), path.rpartition("/")[2]
        try:
            os.mkdir(name, 0o755, dir_fd=folder)
        except FileExistsError:
            return
        self._undo.append(lambda: self._remove_folder(path))

    def _remove_folder(self, path: str) -> None:
        if _remove_if_empty(path.rpartition("/")[2], self._at(files.parent(path))):
            self._undo.append(lambda: self._make_folder(path))


def _remove_if_empty(name: str, within: int) -> bool:
    """Delete a folder and tell so, unless something is left in it."""
    try:
        os.rmdir(name, dir_fd=within)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True

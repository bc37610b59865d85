"""The moves of a commit inside a cluster's folder, each of which can be taken back."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from functools import partial

from gpugen.errors import GpugenError, NotOursError
from gpugen.write import files
from gpugen.write.files import Stamp
from gpugen.write.index import INDEX
from gpugen.write.survey import Survey

# What file systems without hard links answer.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_link = partial(os.link, follow_symlinks=False)


class HalfWayError(GpugenError):
    """Neither the old nor the new files: the journal has to stay."""


class Move:
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
            raise HalfWayError(
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
        if self._save(path):
            self._remove(path)

    def _put(self, path: str, name: str) -> None:
        if path in self.stamps or path == INDEX:
            self._replace(path, name)
        else:
            self._add(path, name)

    def _replace(self, path: str, name: str) -> None:
        try:
            self._save(path)
        except FileNotFoundError:
            if path != INDEX:
                raise
            self._add(path, name)
        else:
            self._rename(name, path)

    def _save(self, path: str) -> bool:
        """Keep what stands there in the staging folder; tell whether it still stands there too."""
        try:
            self._set_aside(path, _link)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._set_aside(path, os.rename)
            return False
        return True

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
        if remove_if_empty(path.rpartition("/")[2], self._at(files.parent(path))):
            self._undo.append(lambda: self._make_folder(path))


def remove_if_empty(name: str, within: int) -> bool:
    """Delete a folder and tell so, unless something is left in it."""
    try:
        os.rmdir(name, dir_fd=within)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True

"""Changes of one cluster's folder: all of them, or on an error none.

Before the first move the index gets the lines of the new files in addition to those of the old
ones, so that a killed commit differs from an edit; after the last move it gets its final text.
Replaced and deleted files wait in the staging folder until then, and an error restores them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

from gpugen import __version__
from gpugen.errors import GpugenError, NotOursError
from gpugen.write import files
from gpugen.write.files import Stamp, remove_if_empty
from gpugen.write.index import FOLDER, INDEX, is_index, line
from gpugen.write.lock import Lock
from gpugen.write.signals import held
from gpugen.write.survey import Survey

# Errors of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_link = partial(os.link, follow_symlinks=False)
_BEFORE, _BOTH = "before", "both"  # the staged index as it was, and with the new lines


def write_new(lock: Lock, cluster: str, expected: Mapping[str, bytes]) -> None:
    """Write a cluster that does not exist yet: staged as a whole, moved by one rename."""
    stage = lock.stage()
    with files.named(""):
        os.mkdir("new", 0o755, dir_fd=stage)
    with files.folder("new", stage) as root:
        for folder in sorted(files.folders_of(expected)):
            os.mkdir(folder, 0o755, dir_fd=root)
        for path, content in expected.items():
            files.create(path, content, root)
    with files.named(""):
        os.rename("new", cluster, src_dir_fd=stage, dst_dir_fd=lock.out)


def change(lock: Lock, cluster: str, survey: Survey) -> None:
    """Change an existing cluster from what was surveyed to what is expected.

    Raises NotOursError: a file was changed after the survey. OSError: an error of the disk. In both
    cases everything is as before the call; GpugenError: it is not, as the message says.
    """
    stage, expected = lock.stage(), survey.expected
    paths = [*survey.write, INDEX] if INDEX not in survey.write and expected else survey.write
    staged = {path: f"new-{number}" for number, path in enumerate(paths)}
    for path, name in staged.items():
        with files.named(path):
            files.create(name, expected[path], stage)
    with files.named(INDEX):
        files.create(_BOTH, _both(survey), stage)
        if INDEX in survey.index.texts:
            files.create(_BEFORE, survey.index.texts[INDEX], stage)
    with files.folder(cluster, lock.out) as root, held():
        moves = _Moves(root, stage, survey.stamps)
        try:
            _carry_out(moves, survey, staged)
            if not expected:
                remove_if_empty(cluster, lock.out)
        except BaseException as error:
            moves.undo(error)
            raise
        finally:
            moves.close()


def _both(survey: Survey) -> bytes:
    """Return the text of an index with the lines of existing and of new files."""
    known = survey.index.files.items()
    lines = [f"{hash_} {path}\n" for path, hashes in known for hash_ in hashes]
    lines += [line(path, survey.expected[path]) for path in survey.write if not is_index(path)]
    return "".join((f"gpugen {__version__}\n", *lines)).encode()


def _carry_out(moves: _Moves, survey: Survey, staged: Mapping[str, str]) -> None:
    """Do all moves; the index files come last, and of these the cluster's own."""
    texts = survey.index.texts
    for path in (FOLDER, INDEX):
        if path in survey.stamps and path not in texts:  # somebody's link or file
            moves.replace(path)
    moves.make_folders([FOLDER])
    moves.overwrite(INDEX, _BOTH, before=_BEFORE if INDEX in texts else "")
    for path in survey.delete:
        if not is_index(path) and path != FOLDER:
            moves.replace(path)
    moves.remove_folders(folder for folder in survey.spare_folders if folder != FOLDER)
    moves.make_folders(files.folders_of(survey.write))
    paths = [path for path in survey.write if not is_index(path)]
    paths += filter(is_index, {*survey.write, *survey.delete} - {INDEX})
    for path in paths:
        moves.replace(path, staged.get(path, ""))
    if survey.expected:
        moves.overwrite(INDEX, staged[INDEX])
    else:
        moves.replace(INDEX)
        moves.remove_folders([FOLDER])


class _Moves:
    """Moves between a cluster's folder and the staging folder, each of which can be reverted."""

    def __init__(self, root: int, stage: int, stamps: Mapping[str, Stamp]) -> None:
        self._root = root
        self._stage = stage
        self._stamps = stamps
        self._undo: list[Callable[[], object]] = []
        self._folder = ""
        self._handle = -1

    def close(self) -> None:
        """Close the open folder."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def replace(self, path: str, staged: str = "") -> None:
        """Move a path's content to staging, and put a staged file there if one is given.

        Raises NotOursError: it is not what the survey found.
        """
        with files.named(path):
            self._set_aside(path)
            if staged:
                self._put(path, staged)

    def overwrite(self, path: str, staged: str, before: str = "") -> None:
        """Replace a file by a staged one in one step. before: what reverts it."""
        with files.named(path):
            folder, name = self._at(path)
            os.rename(staged, name, src_dir_fd=self._stage, dst_dir_fd=folder)
        undo = partial(self._bring_back, path, before) if before else partial(self._take_out, path)
        self._undo.append(undo)

    def make_folders(self, folders: Iterable[str]) -> None:
        """Create missing folders."""
        for path in sorted(folders):
            with files.named(path), suppress(FileExistsError):
                self._make_folder(path)
                self._undo.append(partial(self._remove_folder, path))

    def remove_folders(self, folders: Iterable[str]) -> None:
        """Delete empty folders, innermost first."""
        for path in sorted(folders, reverse=True):
            with files.named(path):
                if self._remove_folder(path):
                    self._undo.append(partial(self._make_folder, path))

    def undo(self, cause: BaseException) -> None:
        """Revert every move, the last first.

        Raises GpugenError: an error of the disk; the next run completes the commit.
        """
        try:
            while self._undo:
                self._undo.pop()()
        except OSError as error:
            raise GpugenError(
                f"failed halfway ({cause}), and reverting failed: {error.strerror}",
                "repair the disk and render again, which completes the commit",
            ) from cause

    def _at(self, path: str) -> tuple[int, str]:
        """Return the handle of a path's folder, opened without following links, and its name."""
        folder, _, name = path.rpartition("/")
        if folder != self._folder or self._handle < 0:
            self.close()
            self._handle = files.open_below(self._root, folder)
            self._folder = folder
        return self._handle, name

    def _set_aside(self, path: str) -> None:
        (folder, name), aside = self._at(path), f"old-{len(self._undo)}"
        try:
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=self._stage)
        except FileNotFoundError:
            if path in self._stamps:
                raise NotOursError(f"{files.printable(path)} was deleted in the meantime") from None
            return
        self._undo.append(partial(self._bring_back, path, aside))
        status = os.stat(aside, dir_fd=self._stage, follow_symlinks=False)
        if not is_index(path) and files.stamp(status) != self._stamps.get(path):
            done = "changed" if path in self._stamps else "made"
            raise NotOursError(
                f"{files.printable(path)} was {done} by another program in the meantime"
            )

    def _bring_back(self, path: str, aside: str) -> None:
        folder, name = self._at(path)
        os.rename(aside, name, src_dir_fd=self._stage, dst_dir_fd=folder)

    def _put(self, path: str, staged: str) -> None:
        """Create a file, and fail if it exists by now."""
        folder, name = self._at(path)
        place = _link if path not in self._stamps else os.rename
        try:
            place(staged, name, src_dir_fd=self._stage, dst_dir_fd=folder)
        except FileExistsError as error:
            raise NotOursError(
                f"{files.printable(path)} was created by another program in the meantime"
            ) from error
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.rename(staged, name, src_dir_fd=self._stage, dst_dir_fd=folder)
        self._undo.append(partial(self._take_out, path))

    def _take_out(self, path: str) -> None:
        folder, name = self._at(path)
        os.unlink(name, dir_fd=folder)

    def _make_folder(self, path: str) -> None:
        folder, name = self._at(path)
        os.mkdir(name, 0o755, dir_fd=folder)

    def _remove_folder(self, path: str) -> bool:
        folder, name = self._at(path)
        return remove_if_empty(name, folder)

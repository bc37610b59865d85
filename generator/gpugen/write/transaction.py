"""Changes of one cluster's folder: all of them, or on an error none.

Before the first move the index gets the lines of what is to come beside those of what stands, so
that a killed commit can be told from an edit; after the last it gets its own text. Whatever is
replaced or deleted waits in the staging folder until then, and an error brings it back.
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

# What file systems without hard links answer.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_link = partial(os.link, follow_symlinks=False)
_BEFORE, _BOTH = "before", "both"  # the staged index as it stood, and with what is to come


def write_new(lock: Lock, cluster: str, wanted: Mapping[str, bytes]) -> None:
    """Write a cluster that does not exist yet: staged as a whole, moved by one rename."""
    stage = lock.stage()
    with files.named(""):
        os.mkdir("new", 0o755, dir_fd=stage)
    with files.folder("new", stage) as root:
        for folder in sorted(files.folders_of(wanted)):
            os.mkdir(folder, 0o755, dir_fd=root)
        for path, content in wanted.items():
            files.create(path, content, root)
    with files.named(""):
        os.rename("new", cluster, src_dir_fd=stage, dst_dir_fd=lock.out)


def change(lock: Lock, cluster: str, survey: Survey) -> None:
    """Bring an existing cluster from what was surveyed to what is wanted.

    Raises NotOursError: somebody changed a file after the survey. OSError: the disk refuses. In
    both cases everything is as before the call; GpugenError: it is not, and the message says so.
    """
    stage, wanted = lock.stage(), survey.wanted
    paths = [*survey.write, INDEX] if INDEX not in survey.write and wanted else survey.write
    staged = {path: f"new-{number}" for number, path in enumerate(paths)}
    for path, name in staged.items():
        with files.named(path):
            files.create(name, wanted[path], stage)
    with files.named(INDEX):
        files.create(_BOTH, _both(survey), stage)
        if INDEX in survey.index.texts:
            files.create(_BEFORE, survey.index.texts[INDEX], stage)
    with files.folder(cluster, lock.out) as root, held():
        moves = _Moves(root, stage, survey.stamps)
        try:
            _carry_out(moves, survey, staged)
            if not wanted:
                remove_if_empty(cluster, lock.out)
        except BaseException as error:
            moves.undo(error)
            raise
        finally:
            moves.close()


def _both(survey: Survey) -> bytes:
    """Return the text of an index that knows what stands, and what is to come."""
    known = survey.index.files.items()
    lines = [f"{hash_} {path}\n" for path, hashes in known for hash_ in hashes]
    lines += [line(path, survey.wanted[path]) for path in survey.write if not is_index(path)]
    return "".join((f"gpugen {__version__}\n", *lines)).encode()


def _carry_out(moves: _Moves, survey: Survey, staged: Mapping[str, str]) -> None:
    """Do everything; the index files come last, and of these the cluster's own."""
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
    if survey.wanted:
        moves.overwrite(INDEX, staged[INDEX])
    else:
        moves.replace(INDEX)
        moves.remove_folders([FOLDER])


class _Moves:
    """Moves between a cluster's folder and the staging folder, each of which can be taken back."""

    def __init__(self, root: int, stage: int, stamps: Mapping[str, Stamp]) -> None:
        self._root = root
        self._stage = stage
        self._stamps = stamps
        self._undo: list[Callable[[], object]] = []
        self._folder = ""
        self._handle = -1

    def close(self) -> None:
        """Let go of the folder that is open."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def replace(self, path: str, staged: str = "") -> None:
        """Set aside what stands at a path, and put a staged file there if one is named.

        Raises NotOursError: it is not what the survey saw.
        """
        with files.named(path):
            self._set_aside(path)
            if staged:
                self._put(path, staged)

    def overwrite(self, path: str, staged: str, before: str = "") -> None:
        """Let a staged file take the place of another in one step. before: what takes it back."""
        with files.named(path):
            folder, name = self._at(path)
            os.rename(staged, name, src_dir_fd=self._stage, dst_dir_fd=folder)
        undo = partial(self._bring_back, path, before) if before else partial(self._take_out, path)
        self._undo.append(undo)

    def make_folders(self, folders: Iterable[str]) -> None:
        """Make the folders that are not there."""
        for path in sorted(folders):
            with files.named(path), suppress(FileExistsError):
                self._make_folder(path)
                self._undo.append(partial(self._remove_folder, path))

    def remove_folders(self, folders: Iterable[str]) -> None:
        """Delete the folders in which nothing is left, the innermost first."""
        for path in sorted(folders, reverse=True):
            with files.named(path):
                if self._remove_folder(path):
                    self._undo.append(partial(self._make_folder, path))

    def undo(self, cause: BaseException) -> None:
        """Take every move back, the last first.

        Raises GpugenError: the disk refuses even that; the next run completes the commit.
        """
        try:
            while self._undo:
                self._undo.pop()()
        except OSError as error:
            raise GpugenError(
                f"stopped half way ({cause}) and cannot go back: {error.strerror}",
                "render again once the disk is well; it completes what was begun",
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
                raise NotOursError(f"{files.printable(path)} was deleted just now") from None
            return
        self._undo.append(partial(self._bring_back, path, aside))
        status = os.stat(aside, dir_fd=self._stage, follow_symlinks=False)
        if not is_index(path) and files.stamp(status) != self._stamps.get(path):
            done = "changed" if path in self._stamps else "made"
            raise NotOursError(f"{files.printable(path)} was {done} by somebody else just now")

    def _bring_back(self, path: str, aside: str) -> None:
        folder, name = self._at(path)
        os.rename(aside, name, src_dir_fd=self._stage, dst_dir_fd=folder)

    def _put(self, path: str, staged: str) -> None:
        """Put a file where nothing stands, and fail if something does by now."""
        folder, name = self._at(path)
        try:
            _link(staged, name, src_dir_fd=self._stage, dst_dir_fd=folder)
        except FileExistsError as error:
            raise NotOursError(f"{files.printable(path)} was made by somebody just now") from error
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

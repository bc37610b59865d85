"""The difference between a cluster's folder and its tree: changes, and what prevents them."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from gpugen.errors import NotOursError
from gpugen.model import NOTHING
from gpugen.model.tree import Tree
from gpugen.write import conflicts, files, index
from gpugen.write.files import Stamp
from gpugen.write.index import FOLDER, Index, is_index
from gpugen.write.merges import merged

_NO_INDEX = Index(NOTHING, "", NOTHING)


class Kind(StrEnum):
    """How a path in a cluster's folder differs from the rendered tree."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    EDITED = "edited"
    MISSING = "missing"
    FOREIGN = "foreign"
    REPLACED_BY_LINK = "replaced-by-link"
    MODE = "mode"


class Change(NamedTuple):
    """One difference. path: relative to the cluster's folder, a folder ends in ``/``."""

    path: str
    kind: Kind


class Survey:
    """All differences of one folder, sorted into what a commit has to do about them.

    expected: path -> content, index files included; index: their current content. refused: stops
    the run unless it is forced; immovable: even then. spare_folders: those that no expected file
    needs. stamps: of what is replaced or deleted.
    """

    def __init__(self, expected: Mapping[str, bytes], index: Index = _NO_INDEX) -> None:
        self.expected, self.index = expected, index
        self.changes: list[Change] = []
        self.refused: list[Change] = []
        self.immovable: list[Change] = []
        self.write: list[str] = []
        self.delete: list[str] = []
        self.spare_folders: list[str] = []
        self.stamps: dict[str, Stamp] = {}
        self.is_new = True

    def allow(self, paths: Collection[str]) -> None:
        """Take some files for ours after all."""
        self.refused = [change for change in self.refused if change.path not in paths]
        kinds = {p: Kind.CHANGED if p in self.expected else Kind.DELETED for p in paths}
        self.changes = [Change(c.path, kinds.get(c.path, c.kind)) for c in self.changes]

    @property
    def is_clean(self) -> bool:
        """Whether a commit would have nothing to do."""
        return not (self.write or self.delete or (self.spare_folders and not self.expected))


@contextmanager
def cluster_folder(out: Path, cluster: str) -> Iterator[int | None]:
    """Keep ``out/<cluster>`` open; None if it does not exist.

    Raises NotOursError: it or ``out`` is a link or a file. OSError: unreadable.
    """
    if "/" in cluster or cluster.startswith(".") or not cluster:
        raise ValueError(f"{cluster!r} is not a valid folder name for out/")
    handle = -1
    try:
        with files.folder(str(out)) as above:
            handle = files.open_folder(cluster, above)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        raise NotOursError(
            f"{out}/{cluster} cannot be used: it or {out} is a link or not a folder",
            "remove it, or choose another folder with --out; links are not followed",
        ) from error
    try:
        yield handle if handle >= 0 else None
    finally:
        if handle >= 0:
            os.close(handle)


def look(tree: Tree | None, out: Path, cluster: str) -> Survey:
    """Compare a cluster's folder with a tree; without one all is to be deleted, with the index.

    Raises OSError: unreadable folder.
    """
    with cluster_folder(out, cluster) as root:
        before = _NO_INDEX if root is None else index.read(root, f"{out}/{cluster}")
        expected = {} if tree is None else dict(tree) | index.texts_for(tree, before)
        walk = _Walk(Survey(expected, before))
        if root is None:
            return walk.finish()
        walk.visit(root, "")
        edited = [change.path for change in walk.survey.refused if change.kind is Kind.EDITED]
        texts = {path: files.read_below(root, path) or b"" for path in edited}
        walk.survey.allow(merged(out / cluster, texts))
        return walk.finish()


class _Walk:
    """The walk through one folder, and what it has found so far."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.expected = survey.expected
        self.known = survey.index.files
        self.needed = files.folders_of(self.expected)
        self.folders = self.needed | files.folders_of(self.known) | {FOLDER}
        self.seen: set[str] = set()

    def finish(self) -> Survey:
        """Add missing files, and return everything in order."""
        survey = self.survey
        for path in self.expected.keys() - self.seen:
            self._note(path, Kind.MISSING if path in self.known else Kind.ADDED)
            survey.write.append(path)
        for found in (survey.changes, survey.write, survey.delete):
            found.sort()
        return survey

    def visit(self, handle: int, prefix: str) -> None:
        """Examine every entry of a folder; prefix is its path with a slash at the end."""
        for entry in files.entries(handle):
            self.survey.is_new = False
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                self._visit_folder(entry, handle, path)
            elif path in self.expected or path in self.known or is_index(path):
                self._visit_file(entry, handle, path)
            elif path in self.needed:
                self._take_over(entry, path, Kind.FOREIGN)
            else:
                self._note(path, Kind.FOREIGN)

    def _note(self, path: str, kind: Kind, *, is_refused: bool = False) -> None:
        change = Change(path, kind)
        self.survey.changes.append(change)
        if is_refused:
            self.survey.refused.append(change)

    def _visit_folder(self, entry: os.DirEntry[str], handle: int, path: str) -> None:
        before = len(self.survey.changes)
        if path in self.folders:
            with files.folder(entry.name, handle) as inner:
                self.visit(inner, path + "/")
            if path not in self.needed:
                self.survey.spare_folders.append(path)
        elif (empty := files.empty_folders(path, entry.name, handle)) is not None:
            if path in self.expected:
                self.survey.spare_folders += empty
        else:
            is_listed = path in self.known and path not in self.expected
            self._note(path + "/", Kind.FOREIGN, is_refused=is_listed)
        if path in self.expected:
            below = self.survey.changes[before:]
            self.survey.immovable += [c for c in below if c.kind is Kind.FOREIGN]

    def _visit_file(self, entry: os.DirEntry[str], handle: int, path: str) -> None:
        """Examine the path of a present or former file of gpugen."""
        kind = Kind.EDITED if path in self.known and path not in self.needed else Kind.FOREIGN
        if not entry.is_file(follow_symlinks=False):
            is_link = entry.is_symlink()
            self._take_over(entry, path, Kind.REPLACED_BY_LINK if is_link else kind)
            return
        found = self._read(entry, handle)
        if found is None and not is_index(path):
            self._take_over(entry, path, kind)
            return
        content, mode = found or (b"", 0)
        if found is None or content != self.expected.get(path):
            is_ours = is_index(path) or self._is_ours(path, content)
            ours = Kind.CHANGED if path in self.expected else Kind.DELETED
            self._take_over(entry, path, ours if is_ours else kind, is_refused=not is_ours)
        elif mode & files.WRONG_BITS:
            self._take_over(entry, path, Kind.MODE, is_refused=False)
        else:
            self.seen.add(path)

    @staticmethod
    def _read(entry: os.DirEntry[str], handle: int) -> tuple[bytes, int] | None:
        with suppress(PermissionError):
            if found := files.read(entry.name, handle):
                return found[0], found[1].st_mode
        return None

    def _is_ours(self, path: str, content: bytes) -> bool:
        """Tell whether gpugen wrote this, or git merged it from what gpugen wrote."""
        owns = self.survey.index.owns
        sides = conflicts.sides(content) or (content,)
        return all(owns(path, side) for side in sides)

    def _take_over(
        self, entry: os.DirEntry[str], path: str, kind: Kind, *, is_refused: bool = True
    ) -> None:
        """Mark a path to be replaced or deleted."""
        self._note(path, kind, is_refused=is_refused)
        self.survey.stamps[path] = files.stamp(entry.stat(follow_symlinks=False))
        if path in self.expected:
            self.seen.add(path)
            self.survey.write.append(path)
        else:
            self.survey.delete.append(path)

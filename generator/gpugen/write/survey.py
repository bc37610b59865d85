"""The difference between a cluster's folder and its tree: changes, and what prevents them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
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


_NOT_OURS = (Kind.EDITED, Kind.FOREIGN, Kind.REPLACED_BY_LINK)


class Change(NamedTuple):
    """One difference. path: relative to the cluster's folder, a folder ends in ``/``.

    stamp: of what is there, if it is to be replaced or deleted.
    """

    path: str
    kind: Kind
    stamp: Stamp | None = None


@contextmanager
def cluster_folder(out: Path, cluster: str) -> Iterator[int | None]:
    """Keep ``out/<cluster>`` open; None if it does not exist.

    Raises NotOursError: it or ``out`` is a link or a file. OSError: unreadable.
    """
    if "/" in cluster or cluster.startswith(".") or not cluster:
        raise ValueError(f"{cluster!r} is not a valid folder name for out/")
    root = None
    with ExitStack() as opened:
        try:
            above = opened.enter_context(files.folder(str(out)))
            root = opened.enter_context(files.folder(cluster, above))
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            raise NotOursError(
                f"{out}/{cluster} cannot be used: it or {out} is a link or not a folder",
                "remove it, or choose another folder with --out; links are not followed",
            ) from error
        yield root


def look(
    tree: Tree | None, out: Path, cluster: str, *,
    keep: str = "", instead: Mapping[str, bytes] = NOTHING, force: bool = False,
) -> Survey:  # fmt: skip
    """Compare a cluster's folder with a tree; without one all is to be deleted, with the index.

    keep: beginning of the paths that stay then, if gpugen wrote them, or with force. instead: what
    is beside or in place of those. Raises OSError: unreadable folder.
    """
    with cluster_folder(out, cluster) as root:
        before = Index() if root is None else index.read(root, f"{out}/{cluster}")
        if root is not None and keep:
            tree = _kept(root, before, keep, instead, force=force)
        expected = dict(tree) | index.texts_for(tree, before) if tree is not None else {}
        return Survey(root, out / cluster, expected, before)


def _kept(
    root: int, before: Index, beginning: str, instead: Mapping[str, bytes], *, force: bool
) -> Tree | None:
    kept = Tree()
    for path in before.files.keys() - instead.keys():
        content = files.read_below(root, path) if path.startswith(beginning) else None
        if content is not None and (force or before.owns(path, content)):
            kept.add(path, content)
    if not len(kept):
        return None
    for path, content in instead.items():
        kept.add(path, content)
    return kept


class Survey:
    """All differences of one folder. expected: path -> content, index files included.

    before: the present index. stamps: of what is to be replaced or deleted. spare_folders: those
    that no expected file needs. refused: what is not gpugen's, and in the way unless a run is
    forced; immovable: even then, as it lies below a folder where a file goes.
    """

    def __init__(
        self, root: int | None, place: Path, expected: Mapping[str, bytes], before: Index
    ) -> None:
        self.expected, self.before = expected, before
        self.spare_folders: list[str] = []
        self._needed = files.folders_of(expected)
        self._entered = self._needed | files.folders_of(before.files) | {FOLDER}
        self._files = expected.keys() | before.files.keys() | self._needed
        self._seen: set[str] = set()
        self.changes = changes = sorted(self._changes(root, place))
        self.stamps = {change.path: change.stamp for change in changes if change.stamp}
        self.write = [change.path for change in changes if change.path in expected]
        self.delete = [path for path in self.stamps if path not in expected]
        not_ours = [change for change in changes if change.kind in _NOT_OURS]
        self.refused = [c for c in not_ours if c.stamp or c.path.rstrip("/") in before.files]
        foreign = [change for change in changes if change.kind is Kind.FOREIGN]
        self.immovable = [c for c in foreign if expected.keys() & files.folders_of([c.path])]
        spare = not expected and self.spare_folders
        self.is_clean = not (self.write or self.delete or spare)

    def _changes(self, root: int | None, place: Path) -> Iterator[Change]:
        if root is not None:
            found = list(self._visit(root, ""))
            unknown = [c.path for c in found if c.stamp and c.kind in (Kind.EDITED, Kind.FOREIGN)]
            ours = merged(place, {path: files.read_below(root, path) or b"" for path in unknown})
            yield from (c._replace(kind=self._ours(c.path)) if c.path in ours else c for c in found)
        for path in self.expected.keys() - self._seen:
            yield Change(path, Kind.MISSING if path in self.before.files else Kind.ADDED)

    def _visit(self, handle: int, prefix: str) -> Iterator[Change]:
        """Yield what differs in a folder; prefix is its path with a slash at the end."""
        for entry in files.entries(handle):
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self._folder(entry, handle, path)
            elif path not in self._files and not is_index(path):
                yield Change(path, Kind.FOREIGN)
            else:
                self._seen.add(path)
                is_file, found = entry.is_file(follow_symlinks=False), None
                with suppress(PermissionError):  # the status is of before: a later edit shows
                    found = files.read(entry.name, handle) if is_file else None
                if kind := self._kind(entry, path, found):
                    status = found[1] if found else entry.stat(follow_symlinks=False)
                    yield Change(path, kind, files.stamp(status))

    def _folder(self, entry: os.DirEntry[str], handle: int, path: str) -> Iterator[Change]:
        if path in self._entered:
            with files.folder(entry.name, handle) as inner:
                yield from self._visit(inner, path + "/")
            if path not in self._needed:
                self.spare_folders.append(path)
        elif (empty := files.empty_folders(path, entry.name, handle)) is None:
            yield Change(path + "/", Kind.FOREIGN)
        elif path in self.expected:
            self.spare_folders += empty

    def _kind(
        self, entry: os.DirEntry[str], path: str, found: tuple[bytes, os.stat_result] | None
    ) -> Kind | None:
        """Return how the path of a file of gpugen differs, or one where a folder is needed."""
        if entry.is_symlink():
            return Kind.REPLACED_BY_LINK
        if found and found[0] == self.expected.get(path):
            return Kind.MODE if found[1].st_mode & files.WRONG_BITS else None
        is_ours = found is not None and self._is_ours(path, found[0])
        if is_ours or (entry.is_file() and is_index(path)):
            return self._ours(path)
        is_listed = path in self.before.files and path not in self._needed
        return Kind.EDITED if is_listed else Kind.FOREIGN

    def _is_ours(self, path: str, content: bytes) -> bool:
        """Tell whether gpugen wrote this, or git merged it from what gpugen wrote."""
        sides = conflicts.sides(content) or (content,)
        return all(self.before.owns(path, side) for side in sides)

    def _ours(self, path: str) -> Kind:
        return Kind.CHANGED if path in self.expected else Kind.DELETED

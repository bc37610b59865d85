"""What stands in a cluster's folder beside what should: the changes, and what forbids them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from gpugen.write import files
from gpugen.write.files import Stamp
from gpugen.write.index import INDEX, sha256


class Kind(StrEnum):
    """How a path in a cluster's folder differs from what is rendered."""

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


@dataclass(slots=True)
class Survey:
    """All differences of one folder, sorted into what a commit has to do about them.

    blocked: stop the run unless it is forced; solid: stop it even then; put: to be written;
    clear: to be taken away; spare: folders that no wanted file needs; modes: path -> permissions to
    be put right; stamps: of what is replaced; index: what happens to the index, if anything.
    """

    changes: list[Change] = field(default_factory=list)
    blocked: list[Change] = field(default_factory=list)
    solid: list[Change] = field(default_factory=list)
    put: list[str] = field(default_factory=list)
    clear: list[str] = field(default_factory=list)
    spare: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    index: Kind | None = None
    is_fresh: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether a commit would have nothing to do."""
        return not (self.put or self.clear or self.modes or self.index)


def survey_new(wanted: Mapping[str, bytes]) -> Survey:
    """Return the survey of a folder that does not exist."""
    paths = sorted(wanted)
    changes = [Change(path, Kind.ADDED) for path in (*paths, INDEX)]
    return Survey(sorted(changes), put=paths, index=Kind.ADDED, is_fresh=True)


def survey_folder(
    handle: int, wanted: Mapping[str, bytes], owned: Mapping[str, Collection[str]]
) -> Survey:
    """Compare an open folder with the files wanted there. ``index`` is left to the caller.

    owned: path -> the hashes under which its content is ours. Raises OSError: unreadable folder.
    """
    walk = _Walk(wanted, owned)
    walk.visit(handle, "")
    for path in sorted(walk.wanted.keys() - walk.seen):
        walk.note(path, Kind.MISSING if path in owned else Kind.ADDED)
        walk.survey.put.append(path)
    survey = walk.survey
    survey.is_fresh = not walk.has_entries
    survey.changes.sort()
    for paths in (survey.put, survey.clear, survey.spare):
        paths.sort()
    return survey


class _Walk:
    """The walk through one folder, and what it has met so far."""

    def __init__(self, wanted: Mapping[str, bytes], owned: Mapping[str, Collection[str]]) -> None:
        self.wanted = wanted
        self.owned = owned
        self.needed = files.folders_of(wanted)
        self.folders = self.needed | files.folders_of(owned)
        self.survey = Survey()
        self.seen: set[str] = set()
        self.has_entries = False

    def note(self, path: str, kind: Kind, *, blocks: bool = False) -> None:
        change = Change(path, kind)
        self.survey.changes.append(change)
        if blocks:
            self.survey.blocked.append(change)

    def visit(self, handle: int, prefix: str) -> None:
        """Judge every entry of a folder; prefix is its path with a slash at the end."""
        for entry in files.entries(handle):
            self.has_entries = True
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                self._visit_folder(entry, handle, path)
            elif self._is_file_place(path) and entry.is_file(follow_symlinks=False):
                self._visit_file(entry, handle, path)
            else:
                self._visit_other(entry, path)

    def _is_file_place(self, path: str) -> bool:
        return path in self.owned or path not in self.needed

    def _visit_folder(self, entry: os.DirEntry[str], handle: int, path: str) -> None:
        before = len(self.survey.changes)
        if path in self.folders:
            with files.folder(entry.name, handle) as inner:
                self.visit(inner, path + "/")
            if path not in self.needed:
                self.survey.spare.append(path)
        elif (hollow := files.hollow(path, entry.name, handle)) is not None:
            if path in self.wanted or path == INDEX:
                self.survey.spare += hollow
        else:
            listed = path in self.owned and path not in self.wanted
            self.note(path + "/", Kind.FOREIGN, blocks=listed)
        if path in self.wanted or path == INDEX:
            below = self.survey.changes[before:]
            self.survey.solid += [c for c in below if c.kind is Kind.FOREIGN]

    def _visit_file(self, entry: os.DirEntry[str], handle: int, path: str) -> None:
        if path == INDEX:
            return
        if path not in self.wanted and path not in self.owned:
            self.note(path, Kind.FOREIGN)
            return
        found = self._read(entry, handle)
        if found is None:
            self._take_over(entry, path, Kind.EDITED if path in self.owned else Kind.FOREIGN)
            return
        content, status = found
        self.survey.stamps[path] = files.stamp(status)
        if self.wanted.get(path) == content:
            self._keep(path, status)
        else:
            self._replace(path, content)

    @staticmethod
    def _read(entry: os.DirEntry[str], handle: int) -> tuple[bytes, os.stat_result] | None:
        try:
            return files.read(entry.name, handle)
        except PermissionError:
            return None

    def _keep(self, path: str, status: os.stat_result) -> None:
        self.seen.add(path)
        if status.st_mode & files.WRONG_BITS:
            self.note(path, Kind.MODE)
            self.survey.modes[path] = status.st_mode & 0o7777

    def _replace(self, path: str, content: bytes) -> None:
        is_ours = sha256(content) in self.owned.get(path, ())
        if path in self.wanted:
            self.seen.add(path)
            self.survey.put.append(path)
            kind = Kind.CHANGED
        else:
            self.survey.clear.append(path)
            kind = Kind.DELETED
        if not is_ours:
            kind = Kind.EDITED if path in self.owned else Kind.FOREIGN
        self.note(path, kind, blocks=not is_ours)

    def _visit_other(self, entry: os.DirEntry[str], path: str) -> None:
        """Judge what is no folder and no file, or a file where a folder is needed."""
        is_link = entry.is_symlink()
        kind = Kind.REPLACED_BY_LINK if is_link else Kind.FOREIGN
        if path == INDEX:
            self.note(path, kind, blocks=True)
        elif path in self.wanted or path in self.owned or path in self.needed:
            if path in self.owned and not is_link and path not in self.needed:
                kind = Kind.EDITED
            self._take_over(entry, path, kind)
        else:
            self.note(path, kind if not is_link else Kind.FOREIGN)

    def _take_over(self, entry: os.DirEntry[str], path: str, kind: Kind) -> None:
        self.note(path, kind, blocks=True)
        self.survey.stamps[path] = files.stamp(entry.stat(follow_symlinks=False))
        if path in self.wanted:
            self.seen.add(path)
            self.survey.put.append(path)
        else:
            self.survey.clear.append(path)

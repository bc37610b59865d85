"""One file: its data, and the place of every value."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from gpugen.errors import GpugenError
from gpugen.load.faults import MAX_BYTES, OF_ONE_VALUE, Faults, Lines
from gpugen.load.reader import read
from gpugen.load.text import decode
from gpugen.model.finding import Location


class Places:
    """Places of the values of a file; it knows the collections of this very tree."""

    def __init__(
        self, root: Any, root_offset: int, offsets: dict[int, list[int]], lines: Lines, path: str
    ) -> None:
        self.root = root
        self._root_offset = root_offset
        self._offsets = offsets  # of keys and values in turn, or of items, by the collection's id
        self._positions: dict[int, dict[str, int]] = {}
        self._lines = lines
        self._path = path

    def of_root(self) -> Location:
        """Return the place of the first key."""
        return self._location(self._root_offset)

    def of(self, container: Any, part: str | int, *, key: bool) -> Location:
        """Return the place of an entry's value, or of its key."""
        offsets = self._offsets[id(container)]
        if isinstance(part, int):
            return self._location(offsets[part])
        if id(container) not in self._positions:
            self._positions[id(container)] = {name: n for n, name in enumerate(container)}
        return self._location(offsets[2 * self._positions[id(container)][part] + (not key)])

    def _location(self, offset: int) -> Location:
        return Location(self._path, *self._lines.place(offset))


class Source:
    """A file that was read, with data if it is readable. Nothing of it ever changes."""

    def __init__(self, path: Path, raw: bytes) -> None:
        self.path = path
        self.raw = raw
        self.data: dict[str, Any] = {}
        self._text, self.findings = decode(raw, path.as_posix())
        if self.findings:
            return
        faults = Faults(path.as_posix(), self._text)
        self._read = read(self._text, faults)
        if not faults.found:
            _refuse_root(self._read.root, faults)
        self.findings = faults.found
        is_local = all(finding.id in OF_ONE_VALUE for finding in self.findings)
        if is_local and not faults.is_full and isinstance(self._read.root, dict):
            self.data = self._read.root

    @property
    def is_readable(self) -> bool:
        """Tell whether nothing is wrong with the file but single values."""
        return bool(self.data)

    @cached_property
    def places(self) -> Places:
        """The place of every value. Only of a readable file."""
        read = self._read
        return Places(
            self.data, read.root_offset, read.offsets, Lines(self._text), self.path.as_posix()
        )


def _refuse_root(root: Any, faults: Faults) -> None:
    """Refuse a file that is no mapping, or an empty one."""
    if root is None:
        faults.add("spec-empty", 0, " but comments or null")
    elif not isinstance(root, dict):
        kind = "a list" if isinstance(root, list) else "a single value"
        faults.add("spec-not-a-mapping", 0, kind)
    elif not root:
        faults.add("spec-empty", 0, " but an empty mapping")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, and of a file that is too large a byte more than allowed.

    Raises GpugenError: it is not a regular file, or cannot be read.
    """
    try:
        if not path.is_file():
            why = "not a regular file" if path.exists() else "no such file"
            raise GpugenError(f"cannot read {path.as_posix()}: {why}")
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise GpugenError(f"cannot read {path.as_posix()}: {error.strerror}") from error

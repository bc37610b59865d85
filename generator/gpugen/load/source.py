"""One file: its text, its data and, when somebody asks, the place of every value."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from gpugen.errors import GpugenError
from gpugen.load.faults import MAX_BYTES, MAX_CAREFUL, Faults, Lines
from gpugen.load.flow import NotPlainError
from gpugen.load.marks import ROOT_MARK, Marks, Notes
from gpugen.load.plain import read_plain
from gpugen.load.scalars import DoubtfulError
from gpugen.load.text import decode
from gpugen.model.finding import Location


class Places(NamedTuple):
    """A file's data with its marks; the marks know the containers of this very tree."""

    root: Any
    marks: Marks
    lines: Lines
    path: str

    def of_root(self) -> Location:
        """Return where the first key stands."""
        return self._location(self.marks[ROOT_MARK][1])

    def of(self, container: Any, part: str | int, *, key: bool) -> Location:
        """Return where an entry's value stands, or its key."""
        key_offset, value_offset = self.marks[id(container), part]
        return self._location(key_offset if key else value_offset)

    def _location(self, offset: int) -> Location:
        return Location(self.path, *self.lines.place(offset))


class Source:
    """A file that was read, with data if it has no findings. Nothing of it ever changes."""

    def __init__(self, path: Path, raw: bytes) -> None:
        self.path = path
        self.raw = raw
        self.data: dict[str, Any] = {}
        self._careful: Places | None = None
        self._text, self.findings = decode(raw, path.as_posix())
        if not self.findings:
            self._read()

    @cached_property
    def places(self) -> Places:
        """The data once more, with the place of every value. Only without findings."""
        if self._careful is not None:
            return self._careful
        marks: Marks = {}
        root = read_plain(self._text, Notes(marks))
        return Places(root, marks, Lines(self._text), self.path.as_posix())

    def _read(self) -> None:
        try:
            self.data = read_plain(self._text)
        except NotPlainError as reason:
            faults = Faults(self.path.as_posix(), self._text)
            if reason.doubt is None or not _note_doubts(faults, self._text):
                self._read_carefully(faults, reason)
            self.findings = faults.found

    def _read_carefully(self, faults: Faults, reason: NotPlainError) -> None:
        from gpugen.load.careful import CarefulReader

        if len(self._text) > MAX_CAREFUL:
            _refuse_long(faults, reason)
            return
        reader = CarefulReader(self._text, faults)
        reader.read()
        if not faults.found:
            _judge_root(reader.root, faults)
        if not faults.found:
            self.data = reader.root
            self._careful = Places(reader.root, reader.marks, Lines(self._text), faults.path)


def _note_doubts(faults: Faults, text: str) -> bool:
    """Note every doubtful value of a text that is plain otherwise; return whether it is."""
    doubts: list[tuple[int, DoubtfulError]] = []
    try:
        read_plain(text, Notes(doubts=doubts))
    except NotPlainError:
        return False
    for offset, doubt in doubts:
        faults.add(doubt.id, offset, *doubt.values)
    return True


def _refuse_long(faults: Faults, reason: NotPlainError) -> None:
    """Say why a file is not plain, when it is too long for the careful reader."""
    if reason.doubt is not None:
        faults.add(reason.doubt.id, reason.offset, *reason.doubt.values)
    else:
        faults.add("spec-not-plain", reason.offset, MAX_CAREFUL // 1024**2)


def _judge_root(root: Any, faults: Faults) -> None:
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

    Raises GpugenError: it is no regular file, or cannot be read.
    """
    try:
        if not path.is_file():
            why = "no regular file" if path.exists() else "no such file"
            raise GpugenError(f"cannot read {path.as_posix()}: {why}")
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise GpugenError(f"cannot read {path.as_posix()}: {error.strerror}") from error

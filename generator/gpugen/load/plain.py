"""Reads YAML as people write it, line by line, and declines everything else.

The grammar is positive: it lists what a line may be. Text outside it raises NotPlainError, and the
careful reader decides. Within it both readers agree, which the tests hold.
"""

from __future__ import annotations

import re
from typing import Any

from gpugen.load.faults import MAX_DEPTH, MAX_NODES, MAX_SCALAR
from gpugen.load.flow import NotPlainError, bare_value, bounded, checked_key, read_flow
from gpugen.load.marks import NO_NOTES, ROOT_MARK, Notes
from gpugen.load.scalars import DoubtfulError

# Groups repeat greedily within bounds: Python before 3.11.5 matches possessive groups wrongly.
_TAIL = r"\ *+(?:(?<![^\ \n])\#[^\n]*+)?(?:\n|\Z)"
_TEXT = (
    r"(?:[A-Za-z0-9_/]|\.\.?/)[^\s:\#]*+"
    + r"(?:(?::(?=\S)|\#|\ ++(?=[^\s\#:]))[^\s:\#]*+)"
    + f"{{0,{MAX_SCALAR}}}"
)
_BLANKS = re.compile(r"(?:\ *+(?:\#[^\n]*+)?\n){0,1000}")
_MARKER = re.compile("---" + _TAIL)
_LINE = re.compile(
    r"(\ *+)(-\ ++)?"
    + r'(?:(?:([A-Za-z0-9_][A-Za-z0-9_./+-]{0,300}+)|"([^"\\\s]{1,300}+)"):(?=[ \n])\ *+)?'
    + r"(?:([\[{])|(?:\"([^\"\\\n\t]*+)\"|'([^'\n\t]*+)'|("
    + _TEXT
    + "))?"
    + _TAIL
    + ")"
)
_COMMENT = re.compile(r"\ *+(?:\#[^\n]*+)?")
_REST = re.compile(_TAIL)


def read_plain(text: str, notes: Notes = NO_NOTES) -> dict[str, Any]:
    """Return the mapping that the text holds.

    Raises NotPlainError: the careful reader must decide.
    """
    if len(text) > 2 * MAX_NODES and _most_nodes(text) > MAX_NODES:
        raise NotPlainError(0, DoubtfulError("spec-nodes", str(MAX_NODES)))
    reader = _PlainReader(text, notes)
    position, end = _after_blanks(text, 0), len(text)
    if marker := _MARKER.match(text, position):
        position = marker.end()
    if text.startswith("{", position):
        return reader.document(position + 1)
    match, line = _LINE.match, reader.line
    while position < end:
        found = match(text, position)
        if found is None:
            raise NotPlainError(position)
        position = line(found)
    if not reader.root:
        raise NotPlainError(0)
    return reader.root


def _after_blanks(text: str, position: int) -> int:
    """Return where the first line begins that is not blank."""
    while (found := _BLANKS.match(text, position)) and found.end() > position:
        position = found.end()
    return position


def _most_nodes(text: str) -> int:
    """Return a number that the nodes of the text cannot exceed."""
    return text.count("\n") + 2 * text.count(":") + sum(map(text.count, ",[{"))


class _PlainReader:
    """The block collections that are open, outermost first, and the key that awaits its value."""

    __slots__ = ("columns", "marks", "nodes", "notes", "pending", "root", "text")

    def __init__(self, text: str, notes: Notes) -> None:
        self.text = text
        self.notes = notes
        self.marks = notes.marks
        self.root: dict[str, Any] = {}
        self.columns = [0]
        self.nodes: list[Any] = [self.root]
        self.pending: str | None = None

    def document(self, position: int) -> dict[str, Any]:
        """Read a document that is one mapping in braces, such as JSON."""
        value, end = read_flow(self.text, position, 0, self.notes)
        rest = _REST.match(self.text, end)
        if rest is None or not value:
            raise NotPlainError(end)
        if not _COMMENT.fullmatch(self.text, _after_blanks(self.text, rest.end())):
            raise NotPlainError(end)
        if self.marks is not None:
            self.marks[ROOT_MARK] = (position - 1, position - 1)
        return value  # type: ignore[no-any-return]  # the bracket says so

    def line(self, found: re.Match[str]) -> int:
        """Take one line; return where the next one begins."""
        indent, dash, key, quoted, opener, double, single, word = found.groups()
        if quoted is not None:
            key = quoted
        elif key is None and dash is None:
            return self._last(found)
        node, part = self._place(len(indent), dash, key, found)
        self.pending = None
        end = found.end()
        if word is not None:
            node[part] = bare_value(word, found.start(8), self.notes)
        elif opener is not None:
            node[part], end = self._flow(found)
        elif double is not None or single is not None:
            node[part] = bounded(single if double is None else double, end)
        elif key is None:
            raise NotPlainError(end)
        else:
            self.pending = key
        if self.marks is not None:
            self.marks[id(node), part] = _offsets(found)
        return end

    def _place(
        self, column: int, dash: str | None, key: str | None, found: re.Match[str]
    ) -> tuple[Any, Any]:
        """Return the collection that the line adds to, and under which key or index."""
        if dash is None:
            node = self._mapping_at(column, found)
        else:
            node = self._sequence_at(column, found)
            if key is None:
                node.append(None)
                return node, len(node) - 1
            node = self._new_item(node, column + len(dash), found)
        if key in node:
            raise NotPlainError(found.end(1))
        node[checked_key(key or "", found.start(4) > 0, found.end(1))] = None
        return node, key

    def _last(self, found: re.Match[str]) -> int:
        """Take a blank line and those behind it; decline text without key or dash."""
        if found.lastindex != 1:
            raise NotPlainError(found.end(1))
        return _after_blanks(self.text, found.end())

    def _flow(self, found: re.Match[str]) -> tuple[Any, int]:
        """Read a collection in brackets and the rest of the line in which it ends."""
        value, end = read_flow(self.text, found.end(), len(self.columns), self.notes)
        rest = _REST.match(self.text, end)
        if rest is None:
            raise NotPlainError(end)
        return value, rest.end()

    def _mapping_at(self, column: int, found: re.Match[str]) -> Any:
        """Return the mapping whose keys stand at a column: a new one, or one that is open."""
        columns, nodes = self.columns, self.nodes
        if self.pending is not None and column > columns[-1]:
            return self._open({}, column, found)
        while columns[-1] > column or (columns[-1] == column and type(nodes[-1]) is list):
            columns.pop()
            nodes.pop()
            if not columns:
                raise NotPlainError(found.end(1))
        node = nodes[-1]
        if columns[-1] != column:
            raise NotPlainError(found.end(1))
        if self.marks is not None:
            self.marks.setdefault(ROOT_MARK, (found.end(1), found.end(1)))
        return node

    def _sequence_at(self, column: int, found: re.Match[str]) -> Any:
        """Return the list whose dashes stand at a column: a new one, or one that is open."""
        columns, nodes = self.columns, self.nodes
        if self.pending is not None and column >= columns[-1]:
            return self._open([], column, found)
        while columns[-1] > column:
            columns.pop()
            nodes.pop()
        node = nodes[-1]
        if columns[-1] != column or type(node) is not list:
            raise NotPlainError(found.end(1))
        return node

    def _open(self, node: Any, column: int, found: re.Match[str]) -> Any:
        """Make a new collection the value of the key that awaits one."""
        parent, key, offset = self.nodes[-1], self.pending, found.end(1)
        assert key is not None
        parent[key] = node
        if self.marks is not None:
            self.marks[id(parent), key] = (self.marks[id(parent), key][0], offset)
        return self._push(node, column, offset)

    def _new_item(self, parent: list[Any], column: int, found: re.Match[str]) -> Any:
        """Append a mapping whose first key stands behind the dash."""
        offset = found.end(2)
        node: dict[str, Any] = {}
        parent.append(node)
        if self.marks is not None:
            self.marks[id(parent), len(parent) - 1] = (offset, offset)
        return self._push(node, column, offset)

    def _push(self, node: Any, column: int, offset: int) -> Any:
        if len(self.columns) >= MAX_DEPTH:
            raise NotPlainError(offset, DoubtfulError("spec-depth", str(MAX_DEPTH)))
        self.columns.append(column)
        self.nodes.append(node)
        return node


def _offsets(found: re.Match[str]) -> tuple[int, int]:
    """Return where the key and the value of a line stand; without a value, the key twice."""
    bare, quoted, opener, double, single, word = (found.start(group) for group in range(3, 9))
    key = max(bare, quoted - 1)
    value = max(opener, double - 1, single - 1, word)
    return (value if key < 0 else key), (key if value < 0 else value)

"""Composes the events of a YAML parser into plain data, and refuses what has two meanings.

No recursion, no object of anybody's class, and every fault that lets the reading go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yaml import events

from gpugen.load.anchors import OPEN, Anchors
from gpugen.load.faults import MAX_DEPTH, MAX_EVENTS, MAX_SCALAR, Faults, StopReadingError
from gpugen.load.scalars import DoubtfulError, resolve
from gpugen.load.text import FORBIDDEN, named
from gpugen.text.spelling import shown

TEMPLATES = ("{{", "{%", "{#", "<%")
_BROKEN: Any = object()  # in place of a key that is no text


class _Frame:
    """A collection that is open. offsets: of its keys and values in turn, or of its items."""

    __slots__ = (
        *("anchor", "is_key", "is_mapping", "is_template", "is_two_items"),
        *("key", "node", "offset", "offsets"),
    )

    def __init__(self, node: Any, offset: int, anchor: str | None, *, is_mapping: bool) -> None:
        self.node = node
        self.offset = offset
        self.anchor = anchor
        self.is_mapping = is_mapping
        self.offsets: list[int] = []
        self.key: Any = None  # None: the next value of a mapping is a key
        self.is_key = self.is_template = False
        self.is_two_items = False  # by its look: keys of one item begin anew


class Composer:
    """Composes one text; the outermost frame is a list that holds the document.

    offsets: those of a frame by the id of its collection. spans: where scalars begin and end,
    and how they are quoted, if somebody asks. last: the offset of the last event.
    """

    def __init__(self, text: str, faults: Faults, *, keeps_spans: bool) -> None:
        self.offsets: dict[int, list[int]] = {}
        self.spans: list[tuple[int, int, str]] = []
        self.last = 0
        self._text = text
        self._faults = faults
        self._keeps_spans = keeps_spans
        self._has_escapes = "\\" in text
        self._frame = self._document = _Frame([], 0, None, is_mapping=False)
        self._frames = [self._frame]
        self._anchors = Anchors(text, self._refuse)

    @property
    def root(self) -> Any:
        """What the text means, if nothing is wrong with it."""
        return self._document.node[0] if self._document.node else None

    @property
    def root_offset(self) -> int:
        """Where that begins."""
        return self._document.offsets[0] if self._document.offsets else 0

    def compose(self, get_event: Callable[[], Any]) -> None:
        """Take all events; None ends them.

        Raises StopReadingError: a bound is crossed. And whatever the parser raises.
        """
        handlers: dict[type, Callable[[Any, int], None]] = {
            events.ScalarEvent: self._scalar,
            events.AliasEvent: self._alias,
            events.SequenceStartEvent: self._start,
            events.MappingStartEvent: self._start,
            events.SequenceEndEvent: self._end,
            events.MappingEndEvent: self._end,
            events.DocumentStartEvent: self._begin,
        }
        handler, offset = handlers.get, 0
        try:
            for count in range(MAX_EVENTS + 1):
                event = get_event()
                if event is None:
                    self._anchors.bound_expansion(self.root, count)
                    return
                offset = event.start_mark.index
                if handle := handler(type(event)):
                    handle(event, offset)
            self._stop("spec-nodes", offset, MAX_EVENTS)
        finally:
            self.last = offset

    def _begin(self, event: Any, offset: int) -> None:
        if self._document.node:
            self._stop("spec-several-documents", offset)

    def _start(self, event: Any, offset: int) -> None:
        if len(self._frames) > MAX_DEPTH:
            self._stop("spec-depth", offset, MAX_DEPTH)
        outer, is_mapping = self._frame, type(event) is events.MappingStartEvent
        node: Any = {} if is_mapping else []
        frame = _Frame(node, offset, event.anchor, is_mapping=is_mapping)
        self.offsets[id(node)] = frame.offsets
        self._refuse_tag(event, offset)
        self._anchors.name(event.anchor, offset, OPEN)
        if outer.is_mapping and outer.key is None:
            frame.is_key, outer.key = True, _BROKEN
            frame.is_template = self._text.startswith(TEMPLATES, outer.offset)
            if frame.is_template:
                self._refuse("spec-template", outer.offset)
            else:
                self._refuse("spec-collection-as-key", offset)
        self._frames.append(frame)
        self._frame = frame

    def _end(self, event: Any, offset: int) -> None:
        frame = self._frames.pop()
        self._frame = self._frames[-1]
        self._anchors.close(frame.anchor, frame.node)
        if not frame.is_key:
            self._place(frame.node, frame.offset)

    def _scalar(self, event: Any, offset: int) -> None:
        value = event.value
        if event.style or event.anchor or not self._text.startswith(value or "\n!", offset):
            value = self._unusual(event, offset)
        else:
            value = self._meaning(value, offset)
        if self._keeps_spans and offset < event.end_mark.index:
            self.spans.append((offset, event.end_mark.index, event.style or ""))
        frame = self._frame
        if frame.key is None and frame.is_mapping:
            self._key(value, offset)
        else:
            self._place(value, offset, is_empty=value is None and not event.value)

    def _meaning(self, text: str, offset: int) -> str | int | bool | None:
        """Return what unquoted text means; note the doubtful."""
        if len(text) > MAX_SCALAR:
            self._stop("spec-long-scalar", offset, len(text), MAX_SCALAR)
        try:
            return resolve(text)
        except DoubtfulError as doubt:
            if text != "<<" or not self._frame.is_mapping or self._frame.key is not None:
                self._refuse(doubt.id, offset, *doubt.values)
            return text

    def _unusual(self, event: Any, offset: int) -> Any:
        """Return what a scalar means that is quoted, empty, named, tagged or on many lines."""
        value = event.value
        if event.style:
            if len(value) > MAX_SCALAR:
                self._stop("spec-long-scalar", offset, len(value), MAX_SCALAR)
            if self._has_escapes and (match := FORBIDDEN.search(value)):
                self._refuse("spec-control-character", offset, named(match.group()))
        elif event.tag is None and not self._is_swallowing(offset, event.end_mark.index):
            value = self._meaning(value, offset)
        self._refuse_tag(event, offset)
        self._anchors.name(event.anchor, offset, value)
        return value

    def _is_swallowing(self, offset: int, end: int) -> bool:
        """Note lines of unquoted text that were meant as entries; tell whether there are any."""
        from gpugen.load.slips import swallowed_lines

        found = list(swallowed_lines(self._text, offset, end))
        for name, at, *values in found:
            self._refuse(name, at, *values)
            if name == "spec-missing-dash":
                raise StopReadingError
        return bool(found)

    def _refuse_tag(self, event: Any, offset: int) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._refuse("spec-tag", offset, shown(tag))

    def _key(self, value: Any, offset: int) -> None:
        frame = self._frame
        if type(value) is str and value[:1] not in "<-" and value not in frame.node:
            frame.key = value
            frame.node[value] = None
            frame.offsets.append(offset)
            return
        frame.key = _BROKEN
        if not isinstance(value, str):
            spelled = shown(self._text[offset : offset + 100].split(":", 1)[0].strip())
            fault = "spec-key-not-text" if spelled else "spec-missing-key-text"
            self._refuse(fault, offset, spelled)
        elif value in frame.node:
            self._duplicate(frame, value, offset)
        elif value == "<<" and self._text[offset] == "<":
            self._refuse("spec-merge-key", offset)
        elif value.startswith("-") and self._text[offset] == "-":
            rest = value.lstrip("-")
            self._refuse("spec-missing-space", offset, shown(value), shown(f"- {rest}"), "dash")
        else:
            frame.key = value
            frame.node[value] = None
            frame.offsets.append(offset)

    def _duplicate(self, frame: _Frame, key: str, offset: int) -> None:
        """Note a key that is used twice; once only where a dash is missing before the first."""
        if frame.is_two_items:
            return
        first = frame.offsets[2 * list(frame.node).index(key)]
        is_item = len(self._frames) > 2 and not self._frames[-2].is_mapping
        frame.is_two_items = is_item and key == next(iter(frame.node))
        hint = "begin it with '- ' if it is another entry, else remove one of the two"
        hint = hint if frame.is_two_items else "remove one of the two"
        self._refuse("spec-duplicate-key", offset, shown(key), self._faults.line(first), hint)

    def _alias(self, event: Any, offset: int) -> None:
        value, levels = self._anchors.value(event.anchor, offset, self._frame.key is not _BROKEN)
        if len(self._frames) - 1 + levels > MAX_DEPTH:
            self._stop("spec-depth", offset, MAX_DEPTH)
        if self._frame.is_mapping and self._frame.key is None:
            self._key(value, offset)
        else:
            self._place(value, offset)

    def _place(self, value: Any, offset: int, *, is_empty: bool = False) -> None:
        """Put a finished value where it belongs; an empty one has the place of its key or dash."""
        frame = self._frame
        if not frame.is_mapping:
            frame.offsets.append(self._text.rfind("-", 0, offset) if is_empty else offset)
            frame.node.append(value)
            return
        if frame.key is not _BROKEN:
            frame.node[frame.key] = value
            frame.offsets.append(frame.offsets[-1] if is_empty else offset)
        frame.key = None

    def _refuse(self, id: str, offset: int, *values: object) -> None:
        if not any(frame.is_template for frame in self._frames):
            self._faults.add(id, offset, *values)
        if self._faults.is_full:
            raise StopReadingError

    def _stop(self, id: str, offset: int, *values: object) -> None:
        self._refuse(id, offset, *values)
        raise StopReadingError

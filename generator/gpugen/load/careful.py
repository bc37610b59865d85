"""Reads any YAML, event by event, and refuses what has more than one meaning or no bound.

The reference of both readers: no recursion, plain data only, every fault that lets it read on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from gpugen.load.faults import MAX_DEPTH, MAX_EXPANSION, MAX_SCALAR, Faults
from gpugen.load.frame import Frame
from gpugen.load.marks import ROOT_MARK, Marks
from gpugen.load.scalars import DoubtfulError, resolve
from gpugen.load.slips import swallowed_lines, tab_in_indentation, template_mark
from gpugen.load.syntax import explain
from gpugen.load.text import FORBIDDEN, named
from gpugen.text.spelling import shown

MAX_EVENTS = 100_000
_FREE_EXPANSION = 1000  # values; no bomb is that small

_LONG_TAG = re.compile(
    r"(?<![^\s,\[{])![^\s,\[\]{}\"']{256}"
)  # the parser takes its square in time

_BROKEN = object()  # stands for a key that is no text, or for an anchor that is still open


class _StopReadingError(Exception):
    """A bound is crossed; what was found so far is all that is said."""


class CarefulReader:
    """Composes one text; afterwards ``root`` and ``marks`` hold it if ``faults`` is empty."""

    def __init__(self, text: str, faults: Faults) -> None:
        self.text = text
        self.faults = faults
        self.marks: Marks = {}
        self.root: Any = None
        self._frames: list[Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._spans: list[tuple[int, int]] = []  # quoted and block scalars of several lines
        self._events = self._size = 0
        self._has_begun = False
        self._heaviest = (0, 0)  # values behind an alias, its offset
        self._handlers: dict[str, Callable[[Any], None]] = {
            "ScalarEvent": self._scalar,
            "AliasEvent": self._alias,
            "SequenceStartEvent": lambda event: self._start(event, []),
            "MappingStartEvent": lambda event: self._start(event, {}),
            "SequenceEndEvent": self._end,
            "MappingEndEvent": self._end,
        }

    def read(self) -> None:
        """Compose the text, and note every fault."""
        try:
            for event in self._parse():
                name = type(event).__name__
                if name in self._handlers:
                    self._handlers[name](event)
                elif name == "DocumentStartEvent" and self._has_begun:
                    self._stop("spec-several-documents", event.start_mark.index)
                self._has_begun |= name == "DocumentStartEvent"
        except _StopReadingError:
            return
        if self._size > max(MAX_EXPANSION * self._events, _FREE_EXPANSION):
            self._fault("spec-alias-expansion", self._heaviest[1], self._events, self._size)
        tab = tab_in_indentation(self.text, self._spans)
        if tab is not None:
            self._fault("spec-tab", tab)

    def _parse(self) -> Iterator[Any]:
        """Yield the events of the text; a syntax error becomes a fault and ends them."""
        from ruamel.yaml import YAML

        if match := _LONG_TAG.search(self.text):
            self._stop("spec-tag", match.start(), shown(match.group()))
        offset = 0
        try:
            for event in YAML(typ="safe", pure=True, plug_ins=[]).parse(self.text):
                offset = event.start_mark.index
                self._events += 1
                if self._events > MAX_EVENTS:
                    break
                yield event
        except Exception as error:  # noqa: BLE001 - a parser may raise anything on hostile text
            self._fault(*explain(error, offset, self.text))
            raise _StopReadingError from None
        if self._events > MAX_EVENTS:
            self._stop("spec-nodes", offset, MAX_EVENTS)

    def _start(self, event: Any, node: Any) -> None:
        offset = event.start_mark.index
        if len(self._frames) >= MAX_DEPTH:
            self._stop("spec-depth", offset, MAX_DEPTH)
        self._refuse_tag(event)
        frame = Frame(node, offset, event.anchor, is_key=self._awaits_key())
        if frame.is_key:
            self._frames[-1].key = _BROKEN
            outer = self._frames[-1].offset
            is_template = template_mark(self.text, outer)
            fault = ("spec-template", outer) if is_template else ("spec-collection-as-key", offset)
            self._fault(*fault)
            frame.is_template = is_template
        self._name(event, _BROKEN)
        self._frames.append(frame)

    def _end(self, event: Any) -> None:
        frame = self._frames.pop()
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.node, frame.size)
        if not frame.is_key:
            self._place(frame.node, frame.offset, frame.size)

    def _scalar(self, event: Any) -> None:
        offset = event.start_mark.index
        is_bare = event.style is None and event.tag is None
        self._refuse_tag(event)
        self._refuse_content(event)
        value = self._meaning(event) if is_bare else event.value
        self._name(event, value)
        if self._awaits_key():
            self._key(value, offset)
        else:
            self._place(value, offset, 1, is_empty=is_bare and event.value == "")

    def _refuse_content(self, event: Any) -> None:
        """Refuse very long text and what escapes bring in; remember text of several lines."""
        offset, end = event.start_mark.index, event.end_mark.index
        if len(event.value) > MAX_SCALAR:
            self._stop("spec-long-scalar", offset, len(event.value), MAX_SCALAR)
        if event.style == '"' and (match := FORBIDDEN.search(event.value)):
            self._fault("spec-control-character", offset, named(match.group()))
        if event.style is not None and self.text.find("\n", offset, end) >= 0:
            self._spans.append((offset, end))

    def _meaning(self, event: Any) -> str | int | bool | None:
        """Return what unquoted text means; note the doubtful, and lines that it swallowed."""
        offset, text = event.start_mark.index, event.value
        if text == "<<" and self._awaits_key():
            return str(text)
        swallowed = list(swallowed_lines(self.text, offset, event.end_mark.index))
        if swallowed:
            for fault, at, *values in swallowed:
                self._fault(fault, at, *values)
                if fault == "spec-missing-dash":
                    raise _StopReadingError
            return str(text)
        try:
            return resolve(text)
        except DoubtfulError as doubt:
            self._fault(doubt.id, offset, *doubt.values)
            return str(text)

    def _name(self, event: Any, value: Any) -> None:
        """Remember what an anchor names."""
        if event.anchor:
            if event.anchor in self._anchors:
                self._fault("spec-anchor-twice", event.start_mark.index, shown(event.anchor))
            self._anchors[event.anchor] = (value, 1)

    def _key(self, value: Any, offset: int) -> None:
        frame = self._frames[-1]
        frame.key, frame.key_offset = _BROKEN, offset
        if not isinstance(value, str):
            spelled = shown(self.text[offset : offset + 100].split(":", 1)[0].strip())
            fault = "spec-key-not-text" if spelled else "spec-missing-key-text"
            self._fault(fault, offset, spelled)
        elif value in frame.node:
            self._duplicate(frame, value, offset)
        elif value == "<<" and self.text[offset] == "<":
            self._fault("spec-merge-key", offset)
        elif value.startswith("-") and self.text[offset] == "-":
            rest = value.lstrip("-")
            self._fault("spec-missing-space", offset, shown(value), shown(f"- {rest}"), "dash")
        else:
            frame.key = value
            frame.node[value] = None
            self.marks[id(frame.node), value] = (offset, offset)

    def _duplicate(self, frame: Frame, key: str, offset: int) -> None:
        """Note a key that is used twice; once only where a dash is missing before the first."""
        first = self.marks[id(frame.node), key][0]
        if frame.is_two_items:
            return
        frame.is_two_items = key == next(iter(frame.node)) and self._is_item()
        hint = "begin it with '- ' if it is another entry, else keep one of the two"
        hint = hint if frame.is_two_items else "keep one of the two"
        self._fault("spec-duplicate-key", offset, shown(key), self.faults.line(first), hint)

    def _is_item(self) -> bool:
        """Tell whether the mapping that is open is an item of a list."""
        return len(self._frames) > 1 and type(self._frames[-2].node) is list

    def _alias(self, event: Any) -> None:
        offset = event.start_mark.index
        value, size = self._anchors.get(event.anchor, (None, 1))
        is_merged = bool(self._frames) and self._frames[-1].key is _BROKEN
        if event.anchor not in self._anchors and not is_merged:
            self._fault("spec-unknown-alias", offset, shown(event.anchor))
        elif value is _BROKEN:
            value, size = None, 1
            self._fault("spec-self-reference", offset, shown(event.anchor))
        self._heaviest = max(self._heaviest, (size, offset))
        if self._awaits_key():
            self._key(value, offset)
        else:
            self._place(value, offset, size)

    def _awaits_key(self) -> bool:
        frames = self._frames
        return bool(frames) and frames[-1].key is None and type(frames[-1].node) is dict

    def _place(self, value: Any, offset: int, size: int, *, is_empty: bool = False) -> None:
        """Put a finished value where it belongs; an empty one stands where its key does."""
        if not self._frames:
            self.root, self._size = value, size
            self.marks[ROOT_MARK] = (offset, offset)
            return
        frame = self._frames[-1]
        frame.size += size
        if type(frame.node) is list:
            offset = self.text.rfind("-", 0, offset) if is_empty else offset
            self.marks[id(frame.node), len(frame.node)] = (offset, offset)
            frame.node.append(value)
            return
        if frame.key is not _BROKEN:
            place = frame.key_offset if is_empty else offset
            frame.node[frame.key] = value
            self.marks[id(frame.node), frame.key] = (frame.key_offset, place)
        frame.key = None

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._fault("spec-tag", event.start_mark.index, shown(tag))

    def _fault(self, id: str, offset: int, *values: object) -> None:
        if not any(frame.is_template for frame in self._frames):
            self.faults.add(id, offset, *values)
        if self.faults.is_full:
            raise _StopReadingError

    def _stop(self, id: str, offset: int, *values: object) -> None:
        self._fault(id, offset, *values)
        raise _StopReadingError

"""What anchors of one text name, and how far aliases blow it up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugen.load.faults import MAX_EXPANSION, StopReadingError
from gpugen.text.spelling import shown

OPEN: Any = object()  # what an anchor names whose collection is not finished
_FREE_EXPANSION = 1000  # values; no bomb is that small


class Anchors:
    """Values by the names of their anchors; ``refuse`` takes what is wrong with a name."""

    def __init__(self, text: str, refuse: Callable[..., None]) -> None:
        self._text = text
        self._refuse = refuse
        self._values: dict[str, Any] = {}
        self._measures: dict[int, tuple[int, int]] = {}  # by a collection's id
        self._heaviest = (0, 0)  # values behind an alias, its offset

    def name(self, name: str | None, offset: int, value: Any) -> None:
        """Remember what an anchor names; None is no anchor."""
        if name is None:
            return
        if name in self._values:
            self._refuse("spec-anchor-twice", offset, shown(name))
        self._refuse_tail(name, offset)
        self._values[name] = value

    def close(self, name: str | None, value: Any) -> None:
        """Remember the collection that an anchor names, which is finished now."""
        if name is not None:
            self._values[name] = value

    def value(self, name: str, offset: int, must_be_known: bool) -> tuple[Any, int]:
        """Return what an alias refers to, and how many levels it has."""
        value = self._values.get(name)
        self._refuse_tail(name, offset)
        if name not in self._values and must_be_known:
            self._refuse("spec-unknown-alias", offset, shown(name))
        elif value is OPEN:
            value = None
            self._refuse("spec-self-reference", offset, shown(name))
        size, levels = self._measure(value)
        self._heaviest = max(self._heaviest, (size, offset))
        return value, levels

    def bound_expansion(self, root: Any, count: int) -> None:
        """Refuse a text whose aliases make much of little; count: values that are written."""
        if self._heaviest[0]:
            size, _ = self._measure(root)
            if size > max(MAX_EXPANSION * count, _FREE_EXPANSION):
                self._refuse("spec-alias-expansion", self._heaviest[1], count, size)

    def _refuse_tail(self, name: str, offset: int) -> None:
        """Refuse a name that YAML 1.2 would read on, over characters that end it in YAML 1.1."""
        if self._text.startswith(("?", ":", "%", "@", "`"), offset + 1 + len(name)):
            self._refuse("spec-quote-needed", offset, self._text[offset])
            raise StopReadingError

    def _measure(self, value: Any) -> tuple[int, int]:
        """Return how many values a finished one has after following every alias, and levels."""
        if not isinstance(value, dict | list):
            return 1, 0
        if id(value) not in self._measures:
            inner = value.values() if isinstance(value, dict) else value
            sizes, levels = zip((0, 0), *map(self._measure, inner), strict=True)
            self._measures[id(value)] = 1 + sum(sizes), 1 + max(levels)
        return self._measures[id(value)]

"""A spec with its layers merged in, and where each of its values comes from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gpugen.load.layers import OWN_KEYS
from gpugen.load.merging import Layered, below, merged_rows
from gpugen.load.source import Places, Source
from gpugen.model.finding import Location, Pointer


class Origin(NamedTuple):
    """What one file says about a place of the spec."""

    value: Any
    location: Location


class Document(NamedTuple):
    """A spec with its layers merged in; ``data`` is never changed, parts of it are shared."""

    path: Path
    data: dict[str, Any]
    files: tuple[Source, ...]  # lowest layer first, the spec last

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files that the data comes from: layers in order, the spec last."""
        return tuple(source.path for source in self.files)

    def locate(self, pointer: Pointer, key: bool = False) -> Location:
        """Return the place of the winning value of a pointer, or of its key.

        A pointer that leads nowhere is located by the key of its nearest ancestor.
        """
        return Locator(self).locate(pointer, key)

    def history(self, pointer: Pointer) -> tuple[Origin, ...]:
        """Return what each file says about a pointer, lowest first; the last one wins."""
        stack, is_whole = Locator(self).stack(pointer)
        if not is_whole:
            return ()
        return tuple(Origin(layered.value, _location(layered, key=False)) for layered in stack)


class Locator:
    """Finds the places of many values of one document; what takes long is done once."""

    def __init__(self, document: Document) -> None:
        self._root = stack_of([(source, source.places) for source in document.files])
        self._rows: dict[tuple[str, ...], list[list[Layered]]] = {}  # of lists that files merge

    def locate(self, pointer: Pointer, key: bool = False) -> Location:
        """Return the place of the winning value of a pointer, or of its key."""
        stack, is_whole = self.stack(pointer)
        return _location(stack[-1], key=key or not is_whole)

    def stack(self, pointer: Pointer) -> tuple[list[Layered], bool]:
        """Return what the files say there, or at the nearest ancestor, and whether it is there."""
        stack, parts = self._root, pointer.parts
        for depth, part in enumerate(parts):
            deeper = below(stack, part, partial(self._merged, parts[:depth], stack))
            if not deeper:
                return stack, False
            stack = deeper
        return stack, True

    def _merged(self, place: tuple[str, ...], stack: list[Layered]) -> list[list[Layered]]:
        if place not in self._rows:
            self._rows[place] = merged_rows(stack)
        return self._rows[place]


def stack_of(files: Sequence[tuple[Source, Places | None]]) -> list[Layered]:
    """Return what the files hand on: all but extends, and of layers also what they are."""
    spec = files[-1][0]
    return [
        Layered(
            places.root if places else source.data,
            places,
            hidden=("extends",) if source is spec else OWN_KEYS,
        )
        for source, places in files
    ]


def _location(layered: Layered, *, key: bool) -> Location:
    assert layered.places is not None
    if layered.container is None:
        return layered.places.of_root()
    return layered.places.of(layered.container, layered.part, key=key)

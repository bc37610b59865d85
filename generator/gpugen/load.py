"""Stage 1: a spec file and its layers to plain data that knows where every value stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpugen.model.finding import Finding, Location, Pointer
from gpugen.model.record import record
from gpugen.reading.layers import OWN_KEYS, Reader, Stacking
from gpugen.reading.merging import Layered, below, merged
from gpugen.reading.source import Places, Source

__all__ = ["Document", "Origin", "Reader", "load", "why"]


@record
class Origin:
    """What one file says about a place of the spec."""

    value: Any
    location: Location


@record
class Document:
    """A spec with its layers merged in; ``data`` is never changed, parts of it are shared."""

    path: Path
    data: dict[str, Any]
    files: tuple[Source, ...]  # lowest layer first, the spec last

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files that the data comes from: layers in order, the spec last."""
        return tuple(source.path for source in self.files)

    def locate(self, pointer: Pointer, key: bool = False) -> Location:
        """Return where the winning value of a pointer stands, or its key.

        A pointer that leads nowhere is located by the key of its nearest ancestor.
        """
        stack = self._root()
        for part in pointer.parts:
            deeper = below(stack, part)
            if not deeper:
                key = True
                break
            stack = deeper
        return _location(stack[-1], key=key)

    def history(self, pointer: Pointer) -> tuple[Origin, ...]:
        """Return what each file says about a pointer, lowest first; the last one wins."""
        stack = self._root()
        for part in pointer.parts:
            stack = below(stack, part)
            if not stack:
                return ()
        return tuple(Origin(layered.value, _location(layered, key=False)) for layered in stack)

    def _root(self) -> list[Layered]:
        """Return the stack of the whole spec, with places."""
        return _stack([(source, source.places) for source in self.files])


def _stack(files: Sequence[tuple[Source, Places | None]]) -> list[Layered]:
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


def load(
    path: Path, boundary: Path, reader: Reader | None = None
) -> tuple[Document | None, list[Finding]]:
    """Read a spec and the layers that it extends.

    boundary: the folder that no layer may lie outside of. reader: shared by specs of one run.
    Raises GpugenError: a file cannot be read.
    """
    stacking = Stacking(reader or Reader(), boundary)
    stacking.add(path)
    if stacking.findings:
        return None, stacking.findings
    files = tuple(stacking.sources)
    return Document(path, merged(_stack([(source, None) for source in files])), files), []


@cache
def why() -> dict[str, str]:
    """Return a sentence about each thing that can be wrong with a file, by the finding's id."""
    from gpugen.reading.words import FAULTS

    return {name: words.why for name, words in FAULTS.items()}

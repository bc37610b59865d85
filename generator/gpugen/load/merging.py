"""How layers become one spec: the same step merges values and traces where they came from.

A stack holds what each file says about one place, lowest layer first. Maps merge deep, lists whose
items are all named merge by name, everything else is replaced by the higher file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpugen.load.source import Places


class Layered(NamedTuple):
    """What one file says about one place: the entry ``part`` of ``container``.

    container is None for the file itself. hidden: keys that the value keeps for itself.
    """

    value: Any
    places: Places | None = None
    container: Any = None
    part: str | int = ""
    hidden: tuple[str, ...] = ()


def merged(stack: Sequence[Layered]) -> Any:
    """Return the value that a stack comes to. Values of a single file are passed on as they are."""
    level = _level(stack)
    if len(level) == 1 and not level[0].hidden:
        return level[0].value
    if isinstance(level[0].value, dict):
        return {key: merged(entries) for key, entries in _columns(level).items()}
    return [merged(row) for row in _rows(level)]


def below(
    stack: Sequence[Layered], part: str, rows: Callable[[], Sequence[list[Layered]]] | None = None
) -> list[Layered]:
    """Return the stack of an entry of what a stack comes to; empty if there is no such entry.

    rows: returns ``merged_rows(stack)``, from a memory of the caller's.
    """
    level = _level(stack)
    value = level[-1].value
    if isinstance(value, dict):
        return _entries(level, part)
    if not isinstance(value, list) or not (part.isascii() and part.isdigit()) or len(part) > 9:
        return []
    index = int(part)
    if len(level) == 1:
        own = level[0]
        return [Layered(value[index], own.places, value, index)] if index < len(value) else []
    found = rows() if rows else _rows(level)
    return found[index] if index < len(found) else []


def merged_rows(stack: Sequence[Layered]) -> list[list[Layered]]:
    """Return the stacks of all items of the list that a stack comes to."""
    return _rows(_level(stack))


def _level(stack: Sequence[Layered]) -> Sequence[Layered]:
    """Return the topmost part of a stack that merges; what lies below it is replaced."""
    if len(stack) == 1:
        return stack
    top = stack[-1].value
    merges = _is_mapping if isinstance(top, dict) else _is_named_list
    start = len(stack) - 1
    if merges(top):
        while start > 0 and merges(stack[start - 1].value):
            start -= 1
    return stack[start:]


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_named_list(value: Any) -> bool:
    """Tell whether a list has items, all of them mappings with a name of their own."""
    if not isinstance(value, list) or not value:
        return False
    names = [item.get("name") for item in value if isinstance(item, dict)]
    return (
        len(names) == len(value)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names)
    )


def _columns(level: Sequence[Layered]) -> dict[str, list[Layered]]:
    """Return the stacks of a mapping's entries, by key; each file's keys are gone through once."""
    columns: dict[str, list[Layered]] = {}
    for layered in level:
        mapping, hidden = layered.value, layered.hidden
        for key, value in mapping.items():
            if key not in hidden:
                columns.setdefault(key, []).append(Layered(value, layered.places, mapping, key))
    return columns


def _entries(level: Sequence[Layered], key: str) -> list[Layered]:
    return [
        Layered(layered.value[key], layered.places, layered.value, key)
        for layered in level
        if key in layered.value and key not in layered.hidden
    ]


def _rows(level: Sequence[Layered]) -> list[list[Layered]]:
    """Return the stacks of a list's items: by name where several lists merge, else one each."""
    rows: dict[object, list[Layered]] = {}
    for layered in level:
        for index, item in enumerate(layered.value):
            name = item["name"] if len(level) > 1 else index
            entry = Layered(item, layered.places, layered.value, index)
            rows.setdefault(name, []).append(entry)
    return list(rows.values())

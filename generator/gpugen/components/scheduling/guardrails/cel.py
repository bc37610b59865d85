"""Plain data as literals of CEL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Data: TypeAlias = "str | int | Sequence[Data] | Mapping[str, Data]"
Row: TypeAlias = "Sequence[Data] | Mapping[str, Data]"


def literal(value: Data) -> str:
    """Return data as a CEL literal on one line."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(map(literal, value)) + "]"


def listing(values: Sequence[Data]) -> str:
    """Return a list with one value a line, and its comma on a line that never changes."""
    return "[\n" + "".join(f"{literal(value)}\n,\n" for value in values) + "]"


def table(rows: Mapping[str, Row]) -> str:
    """Return a mapping of mappings or lists with one of their entries a line.

    What opens and ends a row is on lines of its own, and every line ends in a comma: so there
    is a line that did not change between changes of two rows, and git merges them.
    """
    return "{\n" + "".join(f"{literal(key)}: {_row(row)},\n" for key, row in rows.items()) + "}"


def _row(row: Row) -> str:
    if isinstance(row, Mapping):
        lines = [f"  {literal(key)}: {literal(value)},\n" for key, value in row.items()]
        return "{\n" + "".join(lines) + "}"
    return "[\n" + "".join(f"  {literal(value)},\n" for value in row) + "]"

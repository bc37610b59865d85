"""What the spec itself states, without the defaults that resolve fills in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpugen.model.finding import ROOT, Pointer


class Stated:
    """The places of a merged spec; after resolve, the only record of what was written."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __contains__(self, at: Pointer) -> bool:
        try:
            self._value(at)
        except (LookupError, ValueError):
            return False
        return True

    def keys(self, at: Pointer) -> tuple[str, ...]:
        """List the keys of the mapping at a place; none if there is no mapping."""
        value = self._value(at) if at in self else None
        return tuple(value) if isinstance(value, dict) else ()

    def scalars(self) -> Iterator[tuple[Pointer, str, str | int]]:
        """Yield texts and numbers with place and key; keys of mappings and lists with "".

        The key of a list's item is empty.
        """
        return _scalars(self._data, ROOT)

    def _value(self, at: Pointer) -> Any:
        value: Any = self._data
        for part in at.parts:
            if not isinstance(value, dict | list):
                raise LookupError(at)
            value = value[part] if isinstance(value, dict) else value[int(part)]
        return value


def _scalars(value: Any, at: Pointer) -> Iterator[tuple[Pointer, str, str | int]]:
    is_mapping = isinstance(value, dict)
    for part, item in value.items() if is_mapping else enumerate(value):
        key = str(part) if is_mapping else ""
        if isinstance(item, dict | list):
            if key:
                yield at / part, key, ""
            yield from _scalars(item, at / part)
        elif isinstance(item, str | int):
            yield at / part, key, item

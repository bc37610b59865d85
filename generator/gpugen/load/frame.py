"""A collection that the careful reader is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Frame:
    """A collection that is open. size: values in it after following every alias."""

    node: Any
    offset: int
    anchor: str | None
    is_key: bool
    is_template: bool = False
    is_two_items: bool = False  # by its look: keys of one item begin anew
    key: Any = None
    key_offset: int = 0
    size: int = 1

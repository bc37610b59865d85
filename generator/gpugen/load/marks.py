"""Where each value of a file stands."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from gpugen.load.scalars import DoubtfulError

# (id of the mapping or list, key or index) -> offsets of the key and of the value. The ids are
# those of containers that the reading keeps alive. An item of a list has no key, an empty value
# no place: there both are equal. The root stands under ROOT_MARK.
Marks: TypeAlias = dict[tuple[int, str | int], tuple[int, int]]

ROOT_MARK = (0, "")


class Notes(NamedTuple):
    """What the plain reader writes down on the way. None: it does not.

    doubts: values that are refused, with their offsets; without it the first one ends the reading.
    """

    marks: Marks | None = None
    doubts: list[tuple[int, DoubtfulError]] | None = None


NO_NOTES = Notes()

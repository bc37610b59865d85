"""Frozen, slotted records: what ``@dataclass(frozen=True, slots=True)`` gives, without its price.

A dataclass writes and compiles six methods per class at import, about a millisecond each with
Python 3.11; the records of one run would cost as much as rendering a cluster. Here one method is
compiled per class, the others are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")
NOTHING: Mapping[Any, Any] = MappingProxyType({})  # the default of fields that hold a mapping
_set = object.__setattr__


class FrozenError(AttributeError):
    """Somebody tried to change a record."""


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a record of a class that annotates its fields; a field's value is its default.

    Records are equal if they are of one class and all fields are. Fields of a base class are not
    inherited: a record has no base.
    """
    names = tuple(cls.__annotations__)
    body = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    defaults = {name: body.pop(name) for name in names if name in body}
    body |= {
        "__slots__": names,
        "__match_args__": names,
        "__init__": _constructor(names, defaults),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__repr__": _text,
        "__eq__": _equal,
        "__hash__": _hash,
    }
    made: type[T] = type(cls.__name__, cls.__bases__, body)
    return made


def replaced(item: T, **changes: Any) -> T:
    """Return a copy of a record with some fields changed. Raises TypeError: no such field."""
    names: tuple[str, ...] = item.__match_args__  # type: ignore[attr-defined]
    values = {name: getattr(item, name) for name in names}
    return type(item)(**{**values, **changes})


def _constructor(names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    """Compile the one method that differs from class to class."""
    parameters = ", ".join(f"{n}=_d[{n!r}]" if n in defaults else n for n in names)
    lines = "".join(f"    _s(self, {name!r}, {name})\n" for name in names)
    space: dict[str, Any] = {"_d": defaults, "_s": _set}
    exec(f"def __init__(self, {parameters}):\n{lines or '    pass'}", space)  # noqa: S102 - fields only
    made: Callable[..., None] = space["__init__"]
    return made


def _values(item: Any) -> tuple[Any, ...]:
    return tuple(getattr(item, name) for name in item.__match_args__)


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise FrozenError(f"{type(self).__name__} is frozen: {name!r} cannot be changed")


def _text(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__name__}({fields})"


def _equal(self: object, other: object) -> bool | Any:
    if type(self) is not type(other):
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: object) -> int:
    return hash((type(self), _values(self)))

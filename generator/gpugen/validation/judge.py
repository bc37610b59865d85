"""The two engines that hold data against the schema: a native verdict, and errors to word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from gpugen.validation.combined import combined_schema

MANY = 200  # items from which on it pays to ask the native engine first


@cache
def native_verdict() -> Callable[[Any], bool] | None:
    """Return the native engine's yes or no; None where it is not installed."""
    return _native(combined_schema())


def _native(schema: dict[str, Any]) -> Callable[[Any], bool] | None:
    try:
        from jsonschema_rs import Draft202012Validator
    except ImportError:
        return None
    verdict: Callable[[Any], bool] = Draft202012Validator(schema, retriever=_refuse).is_valid
    return verdict


def _refuse(uri: str) -> Any:
    raise ValueError(f"schemas refer to themselves only, not to {uri}")


def errors(data: Any) -> Iterator[Any]:
    """Yield the errors of the reference engine, one at a time."""
    return iter(_reference().iter_errors(data))


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Tell whether a part of the schema takes a value."""
    is_valid: bool = _reference().evolve(schema=schema).is_valid(value)
    return is_valid


@cache
def _reference() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry

    engine = extend(
        Draft202012Validator, {"uniqueItems": _unique_items, "required": _required, "items": _items}
    )
    return engine(combined_schema(), registry=Registry())


def _items(engine: Any, wanted: Any, items: Any, _: Any) -> Iterator[Any]:
    """Look at the items of a list; of a long one, only at those that the native engine refuses."""
    if not isinstance(items, list):
        return
    schema = {"$defs": combined_schema()["$defs"], "allOf": [wanted]}
    is_fine = _native(schema) if len(items) > MANY else None
    for index, item in enumerate(items):
        if is_fine is None or not is_fine(item):
            yield from engine.descend(item, wanted, path=index)


def _unique_items(_: Any, is_wanted: bool, items: Any, __: Any) -> Iterator[Any]:
    """Find the first item that stands twice; linear, which the engine's own keyword is not."""
    from jsonschema import ValidationError

    if not is_wanted or not isinstance(items, list):
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        key = json.dumps(item, sort_keys=True)
        if key in seen:
            yield ValidationError("stands twice", path=[index])
            return
        seen.add(key)


def _required(_: Any, keys: list[str], mapping: Any, __: Any) -> Iterator[Any]:
    """Find missing keys; the message is the key."""
    from jsonschema import ValidationError

    if isinstance(mapping, dict):
        for key in keys:
            if key not in mapping:
                yield ValidationError(key)

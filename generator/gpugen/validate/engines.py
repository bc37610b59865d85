"""The two schema engines: a native one for the verdict, a reference one for the errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from gpugen.validate.combined import combined_schema

MOST_OF_BRANCH = 101  # errors of one alternative that are looked at
MANY = 200  # items from which on the native engine is asked first


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
    raise ValueError(f"schemas may refer only to themselves, not to {uri}")


def errors(data: Any) -> Iterator[Any]:
    """Yield the errors of the reference engine, one at a time."""
    return iter(_reference().iter_errors(data))


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Tell whether a part of the schema accepts a value."""
    is_valid: bool = _reference().evolve(schema=schema).is_valid(value)
    return is_valid


@cache
def _reference() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry

    engine = extend(
        Draft202012Validator,
        {
            "required": _required,
            "items": _items,
            "uniqueItems": _unique_items,
            "propertyNames": _property_names,
            "additionalProperties": _additional_properties,
            "anyOf": _any_of,
            "oneOf": _one_of,
        },
    )
    return engine(combined_schema(), registry=Registry())


def _is_too_long(value: Any, rules: Any) -> bool:
    """Tell whether a list or mapping has too many entries; they are not validated then."""
    most = rules.get("maxItems" if isinstance(value, list) else "maxProperties")
    return most is not None and len(value) > most


def _property_names(engine: Any, expected: Any, mapping: Any, rules: Any) -> Iterator[Any]:
    """Validate the keys of a mapping that is not too large."""
    if isinstance(mapping, dict) and not _is_too_long(mapping, rules):
        for key in mapping:
            yield from engine.descend(instance=key, schema=expected)


def _additional_properties(engine: Any, expected: Any, mapping: Any, rules: Any) -> Iterator[Any]:
    """Validate keys that the schema does not name; unknown ones are one error."""
    from jsonschema import ValidationError

    if not isinstance(mapping, dict) or (expected is not False and _is_too_long(mapping, rules)):
        return
    assert "patternProperties" not in rules, "no schema of ours has patterns of keys"
    others = (key for key in mapping if key not in rules.get("properties", ()))
    if expected is False:
        if next(others, None) is not None:
            yield ValidationError("unknown keys")
        return
    for key in others:
        yield from engine.descend(mapping[key], expected, path=key)


def _any_of(engine: Any, branches: Any, value: Any, _: Any) -> Iterator[Any]:
    """Validate a value against alternatives; only the first errors of each are kept."""
    yield from _choice(engine, branches, value)


def _one_of(engine: Any, branches: Any, value: Any, _: Any) -> Iterator[Any]:
    """As ``_any_of``: a test proves that no two alternatives accept one value."""
    yield from _choice(engine, branches, value)


def _choice(engine: Any, branches: Any, value: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    context: list[Any] = []
    for index, branch in enumerate(branches):
        found = list(islice(engine.descend(value, branch, schema_path=index), MOST_OF_BRANCH))
        if not found:
            return
        context += found
    yield ValidationError("fits none of the alternatives", context=context)


def _items(engine: Any, expected: Any, items: Any, rules: Any) -> Iterator[Any]:
    """Validate the items of a list; of a long one, only those that the native engine rejects."""
    if not isinstance(items, list) or _is_too_long(items, rules):
        return
    schema = {"$defs": combined_schema()["$defs"], "allOf": [expected]}
    is_fine = _native(schema) if len(items) > MANY else None
    for index, item in enumerate(items):
        if is_fine is None or not is_fine(item):
            yield from engine.descend(item, expected, path=index)


def _unique_items(_: Any, is_on: bool, items: Any, rules: Any) -> Iterator[Any]:
    """Find the first duplicate item; linear, unlike the engine's own keyword."""
    from jsonschema import ValidationError

    if not is_on or not isinstance(items, list) or _is_too_long(items, rules):
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        key = json.dumps(item, sort_keys=True)
        if key in seen:
            yield ValidationError("is a duplicate", path=[index])
            return
        seen.add(key)


def _required(_: Any, keys: list[str], mapping: Any, __: Any) -> Iterator[Any]:
    """Find missing keys; the message is the key."""
    from jsonschema import ValidationError

    if isinstance(mapping, dict):
        for key in keys:
            if key not in mapping:
                yield ValidationError(key)

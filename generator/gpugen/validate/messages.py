"""Messages about data that does not match the schema: one finding per error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpugen.model.finding import Finding
from gpugen.text.spelling import nearest, quoted
from gpugen.text.versions import UPGRADE, newer_words, newest_before
from gpugen.validate.combined import combined_schema
from gpugen.validate.examples import KINDS, example_of, kind, spelled
from gpugen.validate.hints import conversion, instead, known_slip, slip, switch
from gpugen.validate.joining import Worded
from gpugen.validate.key_messages import missing_key, unknown_keys
from gpugen.validate.keys import Act, resolved
from gpugen.validate.violations import (
    at_value,
    here,
    listed,
    name_of,
    place_of,
    pointer_of,
    trail_of,
)


def worded(error: Any) -> Iterator[Worded]:
    """Return the findings for one error of the reference engine."""
    word = _WORDS.get(error.validator, _value)
    yield from (_null if error.instance is None else word)(error)


def _null(error: Any) -> Iterator[Worded]:
    trail = trail_of(error)
    example = example_of(trail[-1])
    part = error.absolute_path[-1] if error.absolute_path else ""
    if any(part in schema.get("required", ()) for schema in trail[:-1]):
        hint = f"write a value such as {example}" if example else "write a value"
    else:
        hint = f"{'delete the entry' if isinstance(part, int) else 'remove the key'}"
        hint += f", or write a value such as {example}" if example else ", or write a value"
    yield at_value(error, "schema-null", f"{name_of(error)} has no value: null", hint)


def _type(error: Any) -> Iterator[Worded]:
    expected = error.validator_value
    names = (
        [expected] if isinstance(expected, str) else [name for name in expected if name != "null"]
    )
    kinds = " or ".join(KINDS[name] for name in names)
    message = f"{name_of(error)}: expected {kinds}, got {kind(error.instance)}"
    hint = conversion(names[0], here(error), error.instance)
    yield at_value(error, "schema-type", message, hint)


def _choice(error: Any) -> Iterator[Worded]:
    options = [error.validator_value] if error.validator == "const" else error.validator_value
    texts = [option for option in options if isinstance(option, str)]
    text = error.instance if isinstance(error.instance, str) else ""
    if newest := newest_before(text, texts):
        message = newer_words(f"{name_of(error)} {quoted(text)}", newest)
        yield at_value(error, "schema-value", message, UPGRADE)
        return
    meant = nearest(text, texts) if text else ""
    named = listed([spelled(option) for option in options])
    one_of = "one of " * (len(options) > 1)
    trail = trail_of(error)
    hint, act = known_slip(trail[-1], error.instance)
    around = next((schema for schema in reversed(trail) if "required" in schema), trail[0])
    # where the whole mapping is superfluous, so is what else is missing in it
    settles = around.get("required", ()) if act is Act.REMOVE else ()
    hint = hint or (f"did you mean {meant}?" if meant else f"write {one_of}{named}")
    message = f"{name_of(error)} cannot be {kind(error.instance)}"
    finding = at_value(error, "schema-value", message, hint).finding
    yield Worded(finding, settles=tuple((*place_of(error)[:-1], key) for key in settles))


def _number(error: Any) -> Iterator[Worded]:
    side = "at least" if error.validator == "minimum" else "at most"
    bounds = [error.schema[key] for key in ("minimum", "maximum") if key in error.schema]
    span = " to ".join(map(str, bounds)) if len(bounds) > 1 else f"{side} {bounds[0]}"
    expected = error.schema.get("x-expected") or span
    message = f"{name_of(error)} is {error.instance}; expected {expected}"
    hint = slip(here(error), error.instance) or here(error).get("x-hint") or f"write {span}"
    yield at_value(error, "schema-value", message, hint)


def _size(error: Any) -> Iterator[Worded]:
    is_text = isinstance(error.instance, str)
    side = "at least" if error.validator.startswith("min") else "at most"
    found = "is empty"
    if error.instance:
        found = f"has {_counted(len(error.instance), is_text=is_text)}"
    expected = f"{side} {_counted(error.validator_value, is_text=is_text)}"
    message = f"{name_of(error)} {found}; expected {expected}"
    hint = instead(here(error), error.instance, expected)
    if is_text and error.instance:
        hint = "shorten it"
    yield at_value(error, "schema-size", message, hint)


def _counted(number: int, *, is_text: bool) -> str:
    one, many = ("character", "characters") if is_text else ("entry", "entries")
    return f"{number} {one if number == 1 else many}"


def _value(error: Any) -> Iterator[Worded]:
    """Return the finding for a value that does not match a pattern or another rule."""
    value = error.instance
    expected = here(error).get("x-expected", "another value")
    if "propertyNames" in error.absolute_schema_path and isinstance(value, str):
        message = f"the key {quoted(value)} is not valid; expected {expected}"
        hint, at = instead(here(error), value, expected), pointer_of(error) / value
        yield Worded(Finding("schema-value", message, hint, at, at_key=True))
        return
    message = f"{name_of(error)} is {kind(value)}; expected {expected}"
    yield at_value(error, "schema-value", message, instead(here(error), value, expected))


def _duplicate(error: Any) -> Iterator[Worded]:
    message = f"{name_of(error)} is a duplicate: {kind(error.instance[error.absolute_path[-1]])}"
    yield at_value(error, "schema-duplicate", message, "remove one of them")


def _branches(error: Any) -> Iterator[Worded]:
    """Return findings for the alternative that was meant, told by the value's type."""
    shapes: dict[int, list[Any]] = {}
    for inner in error.context:
        shapes.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [found for found in shapes.values() if not any(map(_is_other_shape, found))]
    if fitting:
        for inner in min(fitting, key=len):
            yield from worded(inner)
        return
    around = here(error)
    expected = around.get("x-expected") or _shapes(error.validator_value)
    branches = [resolved(branch, combined_schema()) for branch in error.validator_value]
    constants = [branch["const"] for branch in branches if isinstance(branch.get("const"), str)]
    meant = nearest(error.instance, constants) if isinstance(error.instance, str) else ""
    message = f"{name_of(error)}: expected {expected}, got {kind(error.instance)}"
    hint = f"did you mean {meant}?" if meant else _switch(branches, error.instance)
    hint = hint or instead(around, error.instance, expected)
    yield at_value(error, "schema-type", message, hint)


def _switch(branches: list[dict[str, Any]], value: Any) -> str:
    """Return how a boolean is written, if one is allowed and the value looks like one."""
    if not any(branch.get("type") == "boolean" for branch in branches):
        return ""
    return switch({}, value)


def _is_other_shape(error: Any) -> bool:
    """Tell whether an error means that another alternative was meant."""
    if error.relative_path or error.validator not in ("type", "const", "enum"):
        return False
    return error.validator != "enum" or not isinstance(error.instance, str)


def _shapes(branches: list[Any]) -> str:
    names: list[str] = []
    for branch in branches:
        schema = resolved(branch, combined_schema())
        if "const" in schema:
            names.append(spelled(schema["const"]))
        elif "enum" in schema:
            names.extend(spelled(value) for value in schema["enum"])
        elif isinstance(schema.get("type"), str):
            names.append(KINDS[schema["type"]])
    return " or ".join(dict.fromkeys(names)) or "another value"


_WORDS: dict[str, Callable[[Any], Iterator[Worded]]] = {
    "additionalProperties": unknown_keys,
    "required": missing_key,
    "type": _type,
    "enum": _choice,
    "const": _choice,
    "uniqueItems": _duplicate,
    "oneOf": _branches,
    "anyOf": _branches,
    **dict.fromkeys(("minimum", "maximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _size),
    **dict.fromkeys(("minProperties", "maxProperties"), _size),
}

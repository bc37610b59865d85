"""Messages about data that does not match the schema: one finding per error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from gpugen.model.finding import ROOT, Finding, Pointer
from gpugen.text.spelling import nearest, quoted, shown
from gpugen.text.versions import UPGRADE, newer_words, newest_before
from gpugen.validate.combined import combined_schema
from gpugen.validate.examples import KINDS, example_of, kind, spelled
from gpugen.validate.hints import conversion, instead, known_slip, slip, switch
from gpugen.validate.joining import Worded
from gpugen.validate.keys import ITEMS, Act, Place, advice, keys_of, resolved

_CHOICES = ("anyOf", "oneOf")


def worded(error: Any) -> Iterator[Worded]:
    """Return the findings for one error of the reference engine."""
    word = _WORDS.get(error.validator, _value)
    yield from (_null if error.instance is None else word)(error)


def pointer_of(error: Any) -> Pointer:
    """Return the place of the value that an error is about."""
    pointer = ROOT
    for part in error.absolute_path:
        pointer = pointer / part
    return pointer


def _place(error: Any) -> Place:
    return tuple(ITEMS if isinstance(part, int) else part for part in error.absolute_path)


def _name(error: Any) -> str:
    """Return the name of the wrong value: its key, or the names of list and item."""
    keys = [part for part in error.absolute_path if isinstance(part, str)]
    if not keys:
        return "the spec"
    name = shown(keys[-1])
    if isinstance(error.absolute_path[-1], str):
        return name
    own = error.instance.get("name") if isinstance(error.instance, dict) else None
    return f"entry {quoted(own)} of {name}" if isinstance(own, str) else f"an entry of {name}"


def _listed(options: list[str]) -> str:
    shown_options = options[:12] + (["…"] if len(options) > 12 else [])
    return ", ".join(shown_options)


def _trail(error: Any) -> list[dict[str, Any]]:
    """Return the schemas on the way to the violated one, each with those of choices around it."""
    schema: Any = combined_schema()
    trail: list[dict[str, Any]] = []
    around: dict[str, Any] = {}
    is_schema = True
    for part in error.absolute_schema_path:
        if is_schema:
            schema = resolved(schema, combined_schema())
            trail.append({**around, **schema})
            around = trail[-1] if part in _CHOICES else {}
        is_schema = not is_schema or part not in (*_CHOICES, "properties")
        schema = schema[part]
    return trail


def _here(error: Any) -> dict[str, Any]:
    """Return the violated schema, merged with its references and the choice around it."""
    return _trail(error)[-1]


def _unknown_keys(error: Any) -> Iterator[Worded]:
    known = list(keys_of(error.schema, combined_schema()))
    place, pointer = _place(error), pointer_of(error)
    where = f" in {_name(error)}" if error.absolute_path else ""
    for key, value in error.instance.items():
        if key in known:
            continue
        found = advice(key, error.schema, place, combined_schema())
        inside = tuple((*place, inner) for inner in value) if isinstance(value, dict) else ()
        message = f"unknown key {quoted(key)}{where}"
        finding = Finding("schema-unknown-key", message, found.hint, pointer / key, at_key=True)
        yield Worded(finding, "", key, (*found.settles, *inside), found.shared, where, found.act)


def _missing_key(error: Any) -> Iterator[Worded]:
    key = error.message
    schema = resolved(keys_of(error.schema, combined_schema()).get(key, {}), combined_schema())
    about = re.split(r"[.:;] |\.$", schema.get("description", ""), maxsplit=1)[0]
    example = example_of(schema)
    hint = f"write {key}: {example}" if example else f"add the key {key}"
    whole = f"{hint} ({about})" if about else hint
    message, at = f"{_name(error)} is missing the required key '{key}'", pointer_of(error)
    finding = Finding("schema-missing-key", message, whole, at, at_key=True)
    yield Worded(finding, missing=key, where=_name(error), shared=hint)


def _null(error: Any) -> Iterator[Worded]:
    trail = _trail(error)
    example = example_of(trail[-1])
    part = error.absolute_path[-1] if error.absolute_path else ""
    if any(part in schema.get("required", ()) for schema in trail[:-1]):
        hint = f"write a value such as {example}" if example else "write a value"
    else:
        hint = f"{'delete the entry' if isinstance(part, int) else 'remove the key'}"
        hint += f", or write a value such as {example}" if example else ", or write a value"
    yield _at_value(error, "schema-null", f"{_name(error)} has no value: null", hint)


def _at_value(error: Any, id: str, message: str, hint: str) -> Worded:
    return Worded(Finding(id, message, hint, pointer_of(error)))


def _type(error: Any) -> Iterator[Worded]:
    expected = error.validator_value
    names = (
        [expected] if isinstance(expected, str) else [name for name in expected if name != "null"]
    )
    kinds = " or ".join(KINDS[name] for name in names)
    message = f"{_name(error)}: expected {kinds}, got {kind(error.instance)}"
    hint = conversion(names[0], _here(error), error.instance)
    yield _at_value(error, "schema-type", message, hint)


def _choice(error: Any) -> Iterator[Worded]:
    options = [error.validator_value] if error.validator == "const" else error.validator_value
    texts = [option for option in options if isinstance(option, str)]
    text = error.instance if isinstance(error.instance, str) else ""
    if newest := newest_before(text, texts):
        message = newer_words(f"{_name(error)} {quoted(text)}", newest)
        yield _at_value(error, "schema-value", message, UPGRADE)
        return
    meant = nearest(text, texts) if text else ""
    listed = _listed([spelled(option) for option in options])
    one_of = "one of " * (len(options) > 1)
    trail = _trail(error)
    hint, act = known_slip(trail[-1], error.instance)
    around = next((schema for schema in reversed(trail) if "required" in schema), trail[0])
    # where the whole mapping is superfluous, so is what else is missing in it
    settles = around.get("required", ()) if act is Act.REMOVE else ()
    hint = hint or (f"did you mean {meant}?" if meant else f"write {one_of}{listed}")
    message = f"{_name(error)} cannot be {kind(error.instance)}"
    finding = _at_value(error, "schema-value", message, hint).finding
    yield Worded(finding, settles=tuple((*_place(error)[:-1], key) for key in settles))


def _number(error: Any) -> Iterator[Worded]:
    side = "at least" if error.validator == "minimum" else "at most"
    bounds = [error.schema[key] for key in ("minimum", "maximum") if key in error.schema]
    span = " to ".join(map(str, bounds)) if len(bounds) > 1 else f"{side} {bounds[0]}"
    expected = error.schema.get("x-expected") or span
    message = f"{_name(error)} is {error.instance}; expected {expected}"
    hint = slip(_here(error), error.instance) or _here(error).get("x-hint") or f"write {span}"
    yield _at_value(error, "schema-value", message, hint)


def _size(error: Any) -> Iterator[Worded]:
    is_text = isinstance(error.instance, str)
    side = "at least" if error.validator.startswith("min") else "at most"
    found = "is empty"
    if error.instance:
        found = f"has {_counted(len(error.instance), is_text=is_text)}"
    expected = f"{side} {_counted(error.validator_value, is_text=is_text)}"
    message = f"{_name(error)} {found}; expected {expected}"
    hint = instead(_here(error), error.instance, expected)
    if is_text and error.instance:
        hint = "shorten it"
    yield _at_value(error, "schema-size", message, hint)


def _counted(number: int, *, is_text: bool) -> str:
    one, many = ("character", "characters") if is_text else ("entry", "entries")
    return f"{number} {one if number == 1 else many}"


def _value(error: Any) -> Iterator[Worded]:
    """Return the finding for a value that does not match a pattern or another rule."""
    value = error.instance
    expected = _here(error).get("x-expected", "another value")
    if "propertyNames" in error.absolute_schema_path and isinstance(value, str):
        message = f"the key {quoted(value)} is not valid; expected {expected}"
        hint, at = instead(_here(error), value, expected), pointer_of(error) / value
        yield Worded(Finding("schema-value", message, hint, at, at_key=True))
        return
    message = f"{_name(error)} is {kind(value)}; expected {expected}"
    yield _at_value(error, "schema-value", message, instead(_here(error), value, expected))


def _duplicate(error: Any) -> Iterator[Worded]:
    message = f"{_name(error)} is a duplicate: {kind(error.instance[error.absolute_path[-1]])}"
    yield _at_value(error, "schema-duplicate", message, "remove one of them of them")


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
    here = _here(error)
    expected = here.get("x-expected") or _shapes(error.validator_value)
    branches = [resolved(branch, combined_schema()) for branch in error.validator_value]
    constants = [branch["const"] for branch in branches if isinstance(branch.get("const"), str)]
    meant = nearest(error.instance, constants) if isinstance(error.instance, str) else ""
    message = f"{_name(error)}: expected {expected}, got {kind(error.instance)}"
    hint = f"did you mean {meant}?" if meant else _switch(branches, error.instance)
    hint = hint or instead(here, error.instance, expected)
    yield _at_value(error, "schema-type", message, hint)


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
    "additionalProperties": _unknown_keys,
    "required": _missing_key,
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

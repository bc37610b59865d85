"""The words for data that does not fit the schema: one finding per fault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpugen.model.finding import ROOT, Finding, Pointer
from gpugen.spelling import nearest, quoted, shown
from gpugen.validation.combined import combined_schema
from gpugen.validation.examples import KINDS, example_of, kind, spelled
from gpugen.validation.keys import ITEMS, Place, advice, keys_of, resolved

_CHOICES = ("anyOf", "oneOf")


class Worded(NamedTuple):
    """A finding; key: the key that is missing, or the one that an unknown key stands for."""

    finding: Finding
    key: str = ""


def worded(error: Any) -> Iterator[Worded]:
    """Word one error of the reference engine."""
    word = _WORDS.get(error.validator, _value)
    yield from (_null if error.instance is None else word)(error)


def pointer_of(error: Any) -> Pointer:
    """Return where the instance of an error stands."""
    pointer = ROOT
    for part in error.absolute_path:
        pointer = pointer / part
    return pointer


def _place(error: Any) -> Place:
    return tuple(ITEMS if isinstance(part, int) else part for part in error.absolute_path)


def _name(error: Any) -> str:
    """Name what is at fault: its key, or for an item of a list the list's and its own name."""
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


def _here(error: Any) -> dict[str, Any]:
    """Return the schema at fault, with what its references and the choice around it say."""
    schema: Any = combined_schema()
    here: dict[str, Any] = {}
    around: dict[str, Any] = {}
    is_schema = True
    for part in error.absolute_schema_path:
        if is_schema:
            schema = resolved(schema, combined_schema())
            here = {**around, **schema}
            around = here if part in _CHOICES else {}
        is_schema = not is_schema or part not in (*_CHOICES, "properties")
        schema = schema[part]
    return here


def _unknown_keys(error: Any) -> Iterator[Worded]:
    known = list(keys_of(error.schema, combined_schema()))
    where = f" in {_name(error)}" if error.absolute_path else ""
    for key in error.instance:
        if key not in known:
            hint, meant = advice(key, error.schema, _place(error), combined_schema())
            message, at = f"unknown key {quoted(key)}{where}", pointer_of(error) / key
            yield Worded(Finding("schema-unknown-key", message, hint, at, at_key=True), meant)


def _missing_key(error: Any) -> Iterator[Worded]:
    key = error.message
    schema = resolved(keys_of(error.schema, combined_schema()).get(key, {}), combined_schema())
    about = re.split(r"[.:;] |\.$", schema.get("description", ""), maxsplit=1)[0]
    example = example_of(schema)
    hint = f"write {key}: {example}" if example else f"add the key {key}"
    hint += f" ({about})" if about else ""
    message, at = f"{_name(error)} lacks the key '{key}'", pointer_of(error)
    yield Worded(Finding("schema-missing-key", message, hint, at, at_key=True), key)


def _null(error: Any) -> Iterator[Worded]:
    example = example_of(_here(error))
    is_item = bool(error.absolute_path) and isinstance(error.absolute_path[-1], int)
    hint = f"{'delete the entry' if is_item else 'leave the key out'}, or write a value"
    hint += f" such as {example}" if example else ""
    yield _at_value(error, "schema-null", f"{_name(error)} has no value: null", hint)


def _at_value(error: Any, id: str, message: str, hint: str) -> Worded:
    return Worded(Finding(id, message, hint, pointer_of(error)))


def _type(error: Any) -> Iterator[Worded]:
    wanted = error.validator_value
    names = [wanted] if isinstance(wanted, str) else [name for name in wanted if name != "null"]
    kinds = " or ".join(KINDS[name] for name in names)
    message = f"{_name(error)}: {kinds} is wanted, this is {kind(error.instance)}"
    hint = _conversion(names[0], error.instance, example_of(_here(error)))
    yield _at_value(error, "schema-type", message, hint)


def _conversion(wanted: str, value: Any, example: str) -> str:
    """Say how to write a value of the wanted type."""
    such = f"write {KINDS[wanted]}"
    if example and wanted != "boolean":
        such += f" such as {example}"
    if wanted == "string" and isinstance(value, int):
        return f'quote it: "{json.dumps(value)}"'
    if wanted == "integer" and isinstance(value, str) and value.lstrip("-").isdecimal():
        return f"write {value} without quotes"
    if wanted == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        return f"write {value.lower()} without quotes"
    if wanted == "array" and not isinstance(value, dict):
        return f"write a list: [{shown(spelled(value))}]"
    if wanted == "array":
        return "begin each entry with '- '"
    if wanted == "object" and isinstance(value, list) and isinstance([*value, 0][0], dict):
        return "leave out the '- '"
    return such


def _choice(error: Any) -> Iterator[Worded]:
    options = [error.validator_value] if error.validator == "const" else error.validator_value
    texts = [option for option in options if isinstance(option, str)]
    meant = nearest(error.instance, texts) if isinstance(error.instance, str) else ""
    listed = _listed([spelled(option) for option in options])
    hint = f"did you mean {meant}?" if meant else f"write {'one of ' * (len(options) > 1)}{listed}"
    message = f"{_name(error)} cannot be {kind(error.instance)}"
    yield _at_value(error, "schema-value", message, hint)


def _number(error: Any) -> Iterator[Worded]:
    side = "at least" if error.validator == "minimum" else "at most"
    wanted = error.schema.get("x-wanted") or f"{side} {error.validator_value}"
    message = f"{_name(error)} is {error.instance}; wanted is {wanted}"
    yield _at_value(error, "schema-value", message, _instead(error, wanted))


def _size(error: Any) -> Iterator[Worded]:
    unit = "characters" if isinstance(error.instance, str) else "entries"
    unit = unit if error.validator_value != 1 else unit.replace("ies", "y").replace("rs", "r")
    side = "at least" if error.validator.startswith("min") else "at most"
    found = f"has {len(error.instance)} {unit}" if error.instance else "is empty"
    wanted = f"{side} {error.validator_value} {unit}"
    message = f"{_name(error)} {found}; wanted is {wanted}"
    yield _at_value(error, "schema-size", message, _instead(error, wanted))


def _instead(error: Any, wanted: str) -> str:
    """Say what to write in place of a value."""
    example = example_of(_here(error))
    if example and example != spelled(error.instance):
        return f"write for example {example}"
    return f"write {wanted}" if wanted else ""


def _value(error: Any) -> Iterator[Worded]:
    """Word a value that breaks a pattern, or any rule that has no words of its own."""
    value = error.instance
    wanted = _here(error).get("x-wanted", "another value")
    is_padded = isinstance(value, str) and value != value.strip()
    padding = "delete the blanks or line ends around it"
    if "propertyNames" in error.absolute_schema_path and isinstance(value, str):
        message = f"the key {quoted(value)} is not what is wanted: {wanted}"
        hint, at = padding if is_padded else f"write {wanted}", pointer_of(error) / value
        yield Worded(Finding("schema-value", message, hint, at, at_key=True))
        return
    message = f"{_name(error)} is {kind(value)}; wanted is {wanted}"
    hint = padding if is_padded else _instead(error, wanted)
    yield _at_value(error, "schema-value", message, hint)


def _duplicate(error: Any) -> Iterator[Worded]:
    message = f"{_name(error)} stands twice: {kind(error.instance[error.absolute_path[-1]])}"
    yield _at_value(error, "schema-duplicate", message, "keep one of the two")


def _branches(error: Any) -> Iterator[Worded]:
    """Word a choice of shapes by the one that was meant, as far as the value's type tells."""
    shapes: dict[int, list[Any]] = {}
    for inner in error.context:
        shapes.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [found for found in shapes.values() if not any(map(_is_other_shape, found))]
    if fitting:
        for inner in min(fitting, key=len):
            yield from worded(inner)
        return
    wanted = _here(error).get("x-wanted") or _shapes(error.validator_value)
    branches = [resolved(branch, combined_schema()) for branch in error.validator_value]
    constants = [branch["const"] for branch in branches if isinstance(branch.get("const"), str)]
    meant = nearest(error.instance, constants) if isinstance(error.instance, str) else ""
    message = f"{_name(error)}: {wanted} is wanted, this is {kind(error.instance)}"
    hint = f"did you mean {meant}?" if meant else _instead(error, wanted)
    yield _at_value(error, "schema-type", message, hint)


def _is_other_shape(error: Any) -> bool:
    """Tell whether an error says that another of the shapes was meant."""
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

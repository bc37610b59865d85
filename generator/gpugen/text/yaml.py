"""The one YAML writer: text with the same meaning to YAML 1.1 and 1.2 parsers, and to Ansible.

A string is unquoted only if it is plainly a word. YAML 1.1 parsers such as Ansible's read an
unquoted ``on`` as true and ``12:30`` as 750; those and everything doubtful are double-quoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*\Z")
_NOT_WORDS = frozenset(
    [
        "y",
        "n",
        "yes",
        "no",
        "on",
        "off",
        "true",
        "false",
        "null",
        "nan",
        "inf",
        "none",
        "undef",
    ]  # YAML 1.1 and its neighbours
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


class Unsafe(NamedTuple):
    """A mapping or a sequence whose strings Ansible must not evaluate.

    Written with the tag ``!unsafe``. A string alone cannot be: behind the tag Ansible reads even a
    quoted "on" as true.
    """

    value: Mapping[str, Any] | Sequence[Any]


class Mark(str):
    """A comment between the items of a sequence, or as a key between those of a mapping.

    It says whose the next ones are, and is there where there are none: between the items of two
    owners git then always finds a line that no branch changes.
    """

    __slots__ = ()


def of_pools(items: Mapping[str, Sequence[T]]) -> list[T | Mark]:
    """Return the items of all pools behind their names, even of those without.

    Each ends in the same line, so that git sees one between the changes of two neighbours.
    """
    found: list[T | Mark] = []
    for pool, own in items.items():
        found += [Mark(pool), *own, Mark("---")]
    return found


def to_yaml(value: object) -> str:
    """Write plain data as one YAML document in block style, ending in a newline.

    value: mappings with string keys, sequences, str, int, bool, None, Unsafe, Marks beside others.
    Raises TypeError: anything else, floats included (no field of ours is one).
    """
    lines: list[str] = []
    if isinstance(value, Unsafe):
        value = value.value
        lines.append("--- !unsafe")
    if isinstance(value, Mapping) and value:
        _mapping(value, "", "", lines)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        _sequence(value, "", lines)
    else:
        lines.append(_leaf(value, "  "))
    lines.append("")
    return "\n".join(lines)


def _mapping(value: Mapping[str, Any], indent: str, lead: str, lines: list[str]) -> None:
    """Append the entries; ``lead`` replaces the indent of the first one."""
    deeper = indent + "  "
    start = lead or indent
    for key, item in value.items():
        if type(key) is Mark:
            lines.append(f"{indent}# {key}")
            continue
        prefix = f"{start}{_text(key)}:"
        start = indent
        kind = type(item)
        if kind is str:
            text = _block(item, deeper) if "\n" in item else _text(item)
            lines.append(f"{prefix} {text}")
        elif kind is dict and item:
            lines.append(prefix)
            _mapping(item, deeper, "", lines)
        elif kind is list and item:
            lines.append(prefix)
            _sequence(item, deeper, lines)
        elif kind is bool or kind is int:
            lines.append(f"{prefix} {_leaf(item, deeper)}")
        else:
            _other(item, prefix, deeper, lines)


def _other(item: object, prefix: str, deeper: str, lines: list[str]) -> None:
    """Append a value of a less frequent type behind ``prefix``."""
    if isinstance(item, Unsafe):
        item, prefix = item.value, f"{prefix} !unsafe"
    if isinstance(item, Mapping) and item:
        lines.append(prefix)
        _mapping(item, deeper, "", lines)
    elif isinstance(item, Sequence) and not isinstance(item, str) and item:
        lines.append(prefix)
        _sequence(item, deeper, lines)
    else:
        lines.append(f"{prefix} {_leaf(item, deeper)}")


def _sequence(value: Sequence[Any], indent: str, lines: list[str]) -> None:
    lead = indent + "- "
    deeper = indent + "  "
    for item in value:
        kind = type(item)
        if kind is str:
            lines.append(lead + (_block(item, deeper) if "\n" in item else _text(item)))
        elif kind is Mark:
            lines.append(f"{indent}# {item}")
        elif item and (kind is dict or isinstance(item, Mapping)):
            _mapping(item, deeper, lead, lines)
        elif isinstance(item, Unsafe):
            _other(item, f"{indent}-", deeper, lines)
        elif item and isinstance(item, Sequence) and not isinstance(item, str):
            lines.append(f"{indent}-")
            _sequence(item, deeper, lines)
        else:
            lines.append(lead + _leaf(item, deeper))


def _leaf(value: object, indent: str) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _block(value, indent) if "\n" in value else _text(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, Sequence):
        return "[]"
    raise TypeError(f"{type(value).__name__} has no YAML form here: {value!r}")


def _block(text: str, indent: str) -> str:
    """Write text of several lines as a literal block where that loses nothing."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    if (
        not body
        or body[0] in " \n"
        or lines[-1] == ""
        or not body.replace("\n", "").isprintable()
        or any(line.isspace() for line in lines)
        or "\ufeff" in body
    ):
        return _quoted(text)
    mark = "|" if text.endswith("\n") else "|-"
    indented = "\n".join(indent + line if line else "" for line in lines)
    return f"{mark}\n{indented}"


@lru_cache(maxsize=8192)
def _text(text: str) -> str:
    """Write a string of one line, unquoted if it is plainly a word."""
    if _WORD.match(text) and text.lower() not in _NOT_WORDS:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text and "\ufeff" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08X}"
    return f"\\u{code:04X}" if code > 0xFF else f"\\x{code:02X}"

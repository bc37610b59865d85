# Copyright: the gpugen authors. Apache-2.0.
"""Reads TOML with a TOML parser, and adds an import to containerd's main file.

A file is changed as text, so that comments and order survive; the parser then confirms that nothing
but the imports differs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[ \t]*(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_STRINGS = (  # the long quotes first: they begin like the short ones
    re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_OURS_TO_CHANGE = ("enable_cdi", "default_runtime_name")  # settings that the role may set


class Root(NamedTuple):
    """What containerd's main file says, and how it reads with and without our import.

    fault: why it cannot be read or changed; the texts are then the file as it is.
    """

    fault: str
    version: int
    imports: list[str]
    with_ours: str
    without_ours: str


class Element(NamedTuple):
    """A part of an array of strings: "text" or ",", and its span."""

    kind: str
    start: int
    end: int


def parsed(text: str) -> dict[str, Any]:
    """Return TOML text as a mapping; empty where the text is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def root(text: str, add: str, ours: Sequence[str], instead: Sequence[str]) -> Root:
    """Return what containerd's main file says.

    add: the path to import. ours: paths that count as our import. instead: what replaces them
    where they are taken away.
    """
    plain = Root("", 1, [], text, text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        return plain._replace(fault=f"is no valid TOML: {problem}")
    imports, version = data.get("imports", []), data.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int):
        return plain._replace(fault="has a version that is no number")
    if not isinstance(imports, list) or not all(isinstance(path, str) for path in imports):
        return plain._replace(version=version, fault="has imports that are no list of paths")
    plain = plain._replace(version=version, imports=imports)
    try:
        if not set(ours) & set(imports):
            return plain._replace(with_ours=_checked(data, [*imports, add], _added(text, add)))
        kept = [new for path in imports for new in (instead if path in ours else [path])]
        return plain._replace(without_ours=_checked(data, kept, _replaced(text, ours, instead)))
    except ValueError as problem:
        words = f"cannot be given another import ({problem}); add {add} by hand"
        return plain._replace(fault=words)


def runtime(dump: str, name: str) -> dict[str, Any]:
    """Return the table of a CRI runtime in a configuration of containerd; empty without one."""
    plugins = parsed(dump).get("plugins", {})
    for plugin in plugins.values() if isinstance(plugins, dict) else ():
        found = plugin
        for part in ("containerd", "runtimes", name):
            found = found.get(part, {}) if isinstance(found, dict) else {}
        if isinstance(found, dict) and found:
            return found
    return {}


def lost(before: str, after: str, name: str) -> list[str]:
    """List settings that one dump of containerd has and a later one has not, or has differently.

    Not counted: the imports, the table of our runtime, and what the role itself may set.
    """
    return sorted(_lost(parsed(before), parsed(after), (), name))


def _lost(
    before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...], name: str
) -> Iterator[str]:
    for key, value in before.items():
        here = (*path, key)
        if here == ("imports",) or here[-2:] == ("runtimes", name) or key in _OURS_TO_CHANGE:
            continue
        if isinstance(value, dict) and isinstance(after.get(key), dict):
            yield from _lost(value, after[key], here, name)
        elif key not in after or after[key] != value:
            yield ".".join(
                part if re.fullmatch(r"[\w-]+", part) else json.dumps(part) for part in here
            )


def _checked(data: Mapping[str, Any], imports: list[str], text: str) -> str:
    """Return the changed text. Raises ValueError: more than the imports would change."""
    expected = {**data, "imports": imports}
    found = tomllib.loads(text)  # its error is a ValueError
    if {"imports": [], **found} != expected:
        raise ValueError("its form is not known")
    return text


def _added(text: str, path: str) -> str:
    """Return the text with one path more, behind the last import."""
    span = _imports(text)
    if span is None:
        return f"imports = [{json.dumps(path)}]\n{text}"
    elements = _elements(text, span)
    kind, _dummy, end = elements[-1] if elements else ("[", 0, text.index("[", span[0]) + 1)
    before, after = {"[": ("", ""), ",": (" ", ",")}.get(kind, (", ", ""))
    new = before + json.dumps(path) + after
    return text[:end] + new + text[end:]


def _replaced(text: str, ours: Sequence[str], instead: Sequence[str]) -> str:
    """Return the text with other paths in place of ours; without the imports if none is left."""
    span = _imports(text)
    if span is None:
        raise ValueError("no imports before the first table")
    elements = _elements(text, span)
    new = ", ".join(map(json.dumps, instead))
    paths = [_path(text, each) if each.kind == "text" else None for each in elements]
    if not new and {path for path in paths if path is not None} <= set(ours):
        end = text.find("\n", span[1])
        return text[: span[0]] + (text[end + 1 :] if end >= 0 else "")
    for at in range(len(elements) - 1, -1, -1):
        if paths[at] in ours:
            _dummy, start, end = elements[at]
            if not new:
                start, end = _with_comma(text, elements, at)
            text = text[:start] + new + text[end:]
    return text


def _path(text: str, element: Element) -> str:
    """Return what an element of an array of strings says."""
    return str(tomllib.loads(f"a = {text[element.start : element.end]}")["a"])


def _with_comma(text: str, elements: Sequence[Element], at: int) -> tuple[int, int]:
    """Return the span of an element and of the one comma that leaves with it."""
    _dummy, start, end = elements[at]
    if at and text[elements[at - 1].end : start].isspace():
        return elements[at - 1].start, end
    return start, elements[at + 1].end if at + 1 < len(elements) else end


def _imports(text: str) -> tuple[int, int] | None:
    """Return the span of the value of ``imports`` above the first table, from its line's start."""
    at = 0
    while at < len(text):
        start = at
        at = _after(_BLANK, text, at)
        if text.startswith("[", at):
            return None
        key = _KEY.match(text, at)
        if key and text.startswith("=", key.end()):
            end = _value_end(text, key.end() + 1)
            if tomllib.loads(f"{key[0]}= 0").get("imports") == 0:
                return start, end
            at = end
        newline = text.find("\n", at)
        at = len(text) if newline < 0 else newline + 1
    return None


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a pattern's match ends; where it begins if there is none."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _string_end(text: str, at: int) -> int:
    """Return where the string ends that begins here; where it begins if there is none."""
    return next((end for each in _STRINGS if (end := _after(each, text, at)) > at), at)


def _value_end(text: str, at: int) -> int:
    """Return where a value ends: at the end of its line, or of its last bracket's line."""
    depth = 0
    while at < len(text):
        end = _string_end(text, at)
        if text[at] == "#":
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
        elif end > at:
            at = end
        elif text[at] == "\n" and depth == 0:
            return at
        else:
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
            at += 1
    return at


def _elements(text: str, span: tuple[int, int]) -> list[Element]:
    """Return the parts of an array of strings."""
    parts, at = [], text.index("[", text.index("=", span[0])) + 1
    while at < span[1]:
        end = _string_end(text, at)
        if end > at:
            parts.append(Element("text", at, end))
            at = end
        elif text[at] == "#":
            at = text.index("\n", at)
        elif text[at] == "]":
            return parts
        else:
            if text[at] == ",":
                parts.append(Element(",", at, at + 1))
            at += 1
    raise ValueError("no end of the imports")

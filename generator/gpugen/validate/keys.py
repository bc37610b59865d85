"""Where keys belong: which are known in a mapping, and where else a misplaced one is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from gpugen.text.spelling import nearest, quoted, same, shown

Place: TypeAlias = tuple[str, ...]  # keys from the root; a list's items are "[]"
ITEMS = "[]"
_MAX_DEPTH = 12
_FAR = 2  # a key of the same name further away means something else


def resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """Follow references; keywords beside a reference are kept. Booleans become mappings."""
    if not isinstance(schema, dict):
        return {} if schema else {"not": {}}
    found: dict[str, Any] = schema
    while "$ref" in found:
        target: Any = root
        for part in found["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        found = {**target, **{key: value for key, value in found.items() if key != "$ref"}}
    return found


def keys_of(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that a mapping may have, with their schemas."""
    schema = resolved(schema, root)
    keys: dict[str, Any] = dict(schema.get("properties", {}))
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        keys.update(resolved(branch, root).get("properties", {}))
    return keys


def places(root: dict[str, Any]) -> Iterator[tuple[Place, str, dict[str, Any]]]:
    """Yield every key of the schema: the place of its mapping, itself, its schema."""
    return _places(root, (), root)


def _places(
    schema: Any, at: Place, root: dict[str, Any]
) -> Iterator[tuple[Place, str, dict[str, Any]]]:
    if len(at) > _MAX_DEPTH:
        return
    for key, value in keys_of(schema, root).items():
        yield at, key, resolved(value, root)
        yield from _places(value, (*at, key), root)
    for variant in _variants(resolved(schema, root), root):
        if "items" in variant:
            yield from _places(variant["items"], (*at, ITEMS), root)


def _variants(schema: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield resolved(branch, root)


class Act(StrEnum):
    """What a hint asks for."""

    WRITE = "write"  # something else in its place
    REMOVE = "remove"  # the whole mapping around it
    MOVE = "move"  # the key to another mapping


class Advice(NamedTuple):
    """What to do about an unknown key.

    settles: the keys that it replaces, by place and name, which therefore are not missing. shared:
    what to do about several such keys at once.
    """

    hint: str
    settles: tuple[Place, ...] = ()
    shared: str = ""
    act: Act = Act.WRITE


def advice(key: str, mapping: dict[str, Any], at: Place, root: dict[str, Any]) -> Advice:
    """Return what to do about an unknown key.

    mapping: the schema of the mapping; its ``x-instead`` has hints for some keys, as text, or as a
    list of text and the required keys of this mapping that the hint says to write.
    """
    known = [*keys_of(mapping, root), *(["extends"] if not at else [])]
    special = _instead(key, mapping, at) or _glued(key, at, known)
    if special:
        return special
    meant = nearest(key, known, 0.85)
    home = Advice("") if meant else _home(key, at, root)
    meant = meant or ("" if home.hint else nearest(key, known))
    if meant:
        return Advice(f"did you mean '{meant}'?", _stands_for(meant, mapping, at))
    if home.hint:
        return home
    if not known:
        return Advice("remove it; no keys are allowed here")
    listed = ", ".join(sorted(known)[:16]) + (", …" if len(known) > 16 else "")
    return Advice(f"remove it; allowed keys are {listed}")


def _stands_for(key: str, mapping: dict[str, Any], at: Place) -> tuple[Place, ...]:
    """Return which missing keys a key replaces: itself, or with ``extends`` all."""
    keys = mapping.get("required", ()) if key == "extends" and not at else (key,)
    return tuple((*at, name) for name in keys)


def _instead(key: str, mapping: dict[str, Any], at: Place) -> Advice | None:
    """Return the schema's own hint for a key, if it has one, with the keys that it replaces."""
    stated = mapping.get("x-instead", {}).get(key)
    if stated is None:
        return None
    hint, *named = [stated] if isinstance(stated, str) else stated
    settles = [place for name in named for place in _stands_for(name, mapping, at)]
    return Advice(hint, tuple(settles), hint)


def _glued(key: str, at: Place, known: list[str]) -> Advice | None:
    """Find a key without a space before its value, such as ``model:t4`` in braces."""
    match = re.match(r"([A-Za-z][A-Za-z0-9_-]*) *[:=] *(.*)", key)
    if match is None or match[1] not in known:
        return None
    value = f": {shown(match[2])}" if match[2] else ": with a space and a value after the colon"
    return Advice(f"write {match[1]}{value}", ((*at, match[1]),))


def _home(key: str, at: Place, root: dict[str, Any]) -> Advice:
    """Return where a key of this name belongs, if there are few such places nearby."""
    homes: dict[Place, int] = {}
    values = []
    for place, known, schema in places(root):
        if known == key:
            homes[place] = _distance(at, place)
        elif same(key, map(str, schema.get("enum", ()))):
            values.append(spelled((*place, known)))
    shortest = min(homes.values(), default=0)
    near = sorted(place for place, distance in homes.items() if distance == shortest)
    if near and len(near) <= 2 and shortest <= _FAR:
        listed = " or ".join(map(spelled, near))
        where = f"under {listed}" if listed else "at the top level"
        settles = [(*place, key) for place in near]
        if near[0][: len(at)] == at != near[0]:  # the key of the mapping here that leads there
            settles.append(near[0][: len(at) + 1])
        return Advice(f"{quoted(key)} belongs {where}", tuple(settles), f"belong {where}", Act.MOVE)
    hint = f"{quoted(key)} is a value of {values[0]}" if len(values) == 1 else ""
    return Advice(hint)


def _distance(one: Place, other: Place) -> int:
    """Count the steps up and down between two places."""
    one = tuple(key for key in one if key != ITEMS)
    other = tuple(key for key in other if key != ITEMS)
    common = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        common += 1
    return len(one) + len(other) - 2 * common


def spelled(place: Place) -> str:
    """Return a place in a readable form: pools[].mig."""
    return ".".join(place).replace(f".{ITEMS}", ITEMS)

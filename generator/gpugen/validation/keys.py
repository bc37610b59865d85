"""Where keys belong: which are known in a mapping, and where else a misplaced one is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from gpugen.spelling import nearest, quoted

Place: TypeAlias = tuple[str, ...]  # keys from the root; a list's items are "[]"
ITEMS = "[]"
_MAX_DEPTH = 12
_FAR = 2  # a key of the same name farther away is another key


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


def advice(key: str, mapping: dict[str, Any], at: Place, root: dict[str, Any]) -> tuple[str, str]:
    """Return what to do about an unknown key, and the key of this mapping that it stands for.

    mapping: the schema of the mapping; its ``x-instead`` names what to write for some keys.
    """
    known = list(keys_of(mapping, root))
    if key in mapping.get("x-instead", {}):
        hint = str(mapping["x-instead"][key])
        written = hint.removeprefix("write ").split(" ")[0].rstrip(":")
        return hint, written if written in known else ""
    meant = nearest(key, known, 0.85)
    home, through = ("", "") if meant else _home(key, at, root)
    meant = meant or ("" if home else nearest(key, known))
    if meant:
        return f"did you mean '{meant}'?", meant
    if home:
        return f"{quoted(key)} {home}", through
    if not known:
        return "leave it out; no key may stand here", ""
    listed = ", ".join(sorted(known)[:16]) + (", …" if len(known) > 16 else "")
    return f"leave it out; keys here are {listed}", ""


def _home(key: str, at: Place, root: dict[str, Any]) -> tuple[str, str]:
    """Say where a key of this name belongs, if there are few places that near.

    Second comes the key of the mapping here that leads there, if one does.
    """
    homes: dict[Place, int] = {}
    values = []
    for place, known, schema in places(root):
        if known == key:
            homes[place] = _distance(at, place)
        elif nearest(key, map(str, schema.get("enum", ())), 1.0):
            values.append(spelled((*place, known)))
    shortest = min(homes.values(), default=0)
    near = sorted(place for place, distance in homes.items() if distance == shortest)
    if near and len(near) <= 2 and shortest <= _FAR:
        through = near[0][len(at)] if near[0][: len(at)] == at != near[0] else ""
        listed = " or ".join(map(spelled, near))
        return f"belongs under {listed}" if listed else "belongs at the top level", through
    return f"is a value of {values[0]}" if len(values) == 1 else "", ""


def _distance(one: Place, other: Place) -> int:
    """Count the mappings to leave and to enter between two places."""
    one = tuple(key for key in one if key != ITEMS)
    other = tuple(key for key in other if key != ITEMS)
    common = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        common += 1
    return len(one) + len(other) - 2 * common


def spelled(place: Place) -> str:
    """Spell a place as people write it: pools[].mig."""
    return ".".join(place).replace(f".{ITEMS}", ITEMS)

"""String leaves of a JSON schema: where text may stand, and which text its own rule takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from gpugen.validate.keys import ITEMS, resolved

KEY, ANY = "<key>", "*"  # the name of a free key, and its value
MOST = 14  # steps from the root


class Leaf(NamedTuple):
    """A place for text: steps from the root, and the rule of the text there."""

    steps: tuple[str, ...]
    rule: dict[str, Any]
    root: dict[str, Any]

    def takes(self, text: str) -> bool:
        """Tell whether the rule of the place takes a text."""
        rule = {**self.rule, **{key: self.root[key] for key in ("$defs",) if key in self.root}}
        return Draft202012Validator(rule).is_valid(text)


def leaves(root: dict[str, Any]) -> Iterator[Leaf]:
    """Yield every place for text once."""
    seen: set[tuple[tuple[str, ...], str]] = set()
    for leaf in _leaves(root, (), root):
        mark = (leaf.steps, repr(sorted(leaf.rule.items(), key=str)))
        if mark not in seen:
            seen.add(mark)
            yield leaf


def _leaves(stated: Any, at: tuple[str, ...], root: dict[str, Any]) -> Iterator[Leaf]:
    if len(at) > MOST:
        return
    rule = resolved(stated, root)
    if _is_text(rule):
        yield Leaf(at, rule, root)
    for word in ("anyOf", "oneOf", "allOf"):
        for branch in rule.get(word, ()):
            yield from _leaves(branch, at, root)
    for name, inner in rule.get("properties", {}).items():
        yield from _leaves(inner, (*at, name), root)
    yield from _free(rule, at, root)
    for inner in (*rule.get("prefixItems", ()), *([rule["items"]] if "items" in rule else [])):
        yield from _leaves(inner, (*at, ITEMS), root)


def _free(rule: Mapping[str, Any], at: tuple[str, ...], root: dict[str, Any]) -> Iterator[Leaf]:
    """Yield the names of free keys and what stands behind them."""
    behind = rule.get("additionalProperties", False)
    if not isinstance(behind, dict) and not rule.get("patternProperties"):
        return
    names = resolved(rule.get("propertyNames", {"type": "string"}), root)
    yield Leaf((*at, KEY), {"type": "string", **names}, root)
    for inner in (behind, *rule.get("patternProperties", {}).values()):
        if isinstance(inner, dict):
            yield from _leaves(inner, (*at, ANY), root)


def _is_text(rule: Mapping[str, Any]) -> bool:
    kinds = rule.get("type", [])
    named = rule.get("enum", [rule["const"]] if "const" in rule else [])
    if named:
        return any(isinstance(value, str) for value in named)
    return kinds == "string" or "string" in kinds or "pattern" in rule

"""What a spec leaves out is filled from its schema, at any depth, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.components.defaults import fill

ROOT: dict[str, Any] = {
    "$defs": {
        "limits": {"type": "object", "default": {}, "properties": {"cpu": {"default": "1"}}},
    }
}


@pytest.mark.parametrize(
    ("schema", "value", "filled"),
    [
        ({"properties": {"a": {"default": 1}, "b": {}}}, {}, {"a": 1}),
        ({"properties": {"a": {"default": 1}}}, {"a": None}, {"a": None}),  # stated is stated
        ({"properties": {"a": {"$ref": "#/$defs/limits"}}}, {}, {"a": {"cpu": "1"}}),
        ({"properties": {"a": {"$ref": "#/$defs/limits", "default": {"cpu": "2"}}}}, {}, "2"),
        ({"items": {"$ref": "#/$defs/limits"}}, [{}, {"cpu": "3"}], [{"cpu": "1"}, {"cpu": "3"}]),
        ({"oneOf": [{"type": "string"}, {"$ref": "#/$defs/limits"}]}, {}, {"cpu": "1"}),
        ({"oneOf": [{"type": "string"}, {"$ref": "#/$defs/limits"}]}, "x", "x"),
        ({}, {"free": {"kept": 1}}, {"free": {"kept": 1}}),
    ],
)
def test_defaults(schema: dict[str, Any], value: Any, filled: Any) -> None:
    found = fill(value, schema, ROOT)
    assert (found["a"]["cpu"] if filled == "2" else found) == filled


def test_order_is_the_schemas_then_the_alphabets_and_the_value_stays_as_it_was() -> None:
    value = {"z": 1, "y": 2, "b": 3}
    schema = {"properties": {"b": {}, "a": {"default": 0}}}
    assert list(fill(value, schema, {})) == ["b", "a", "y", "z"]
    assert list(value) == ["z", "y", "b"]

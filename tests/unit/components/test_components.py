"""Components are found by their folders."""

from __future__ import annotations

import jsonschema
import pytest

from gpugen import components


@pytest.mark.parametrize("name", components.names())
def test_a_component_has_a_name_and_options_of_its_own(name: str) -> None:
    assert components.find(name).contribute
    schema = components.options_schema(name)
    if schema is not None:
        jsonschema.Draft202012Validator.check_schema(schema)
        assert (schema["title"], schema["additionalProperties"]) == (name, False)


def test_names_are_told_apart_whatever_their_family() -> None:
    found = [path.parent.name for path in components.FOLDER.glob("*/*/__init__.py")]
    assert len(set(found)) == len(found) == len(components.names())

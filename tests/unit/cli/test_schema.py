"""The schema for editors: printed, written, compared, current, and fit for editors."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from gpugen import components
from gpugen.cli.fields import Field, fields
from support.commands import ROOT, gpugen

COMMITTED = ROOT / "schemas" / "cluster.editor.schema.json"


def test_the_committed_schema_is_current() -> None:
    command = "gpugen schema --write schemas/cluster.editor.schema.json"
    assert COMMITTED.read_text("utf-8") == gpugen("schema").out, f"run: {command}"


def test_it_is_a_schema_and_the_examples_meet_it() -> None:
    schema = json.loads(gpugen("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    specs = [
        p for p in ROOT.glob("inventories/[!_]*/cluster.yaml") if "extends" not in p.read_text()
    ]
    assert specs
    for spec in specs:
        assert not list(validator.iter_errors(yaml.safe_load(spec.read_text("utf-8"))))


def test_it_knows_the_options_of_every_component() -> None:
    places = json.loads(gpugen("schema").out)["properties"]["components"]["properties"]
    wanted = {name for name in components.names() if components.options_schema(name) is not None}
    assert set(places) == wanted


@pytest.mark.parametrize("field", fields().values(), ids=lambda field: field.path)
def test_every_field_has_words_and_an_example_that_holds(field: Field) -> None:
    root = json.loads(gpugen("schema").out)
    schema = field.schema
    assert schema.get("description"), "editors show the description"
    validator = jsonschema.Draft202012Validator({**schema, "$defs": root["$defs"]})
    if field.kind != "mapping":
        assert schema.get("examples"), "a field that is no mapping shows an example"
    for example in (
        *schema.get("examples", ()),
        *([schema["default"]] if "default" in schema else []),
    ):
        assert not list(validator.iter_errors(example)), example


def test_check_alone_has_nothing_to_compare() -> None:
    answer = gpugen("schema", "--check")
    assert (answer.code, answer.out) == (2, "")
    assert "give it with --write" in answer.err


def test_write_check_and_stale(tmp_path: Path) -> None:
    target = tmp_path / "schema.json"
    assert gpugen("schema", "--write", target, "--check").code == 3
    assert not target.exists()
    assert gpugen("schema", "--write", target).code == 0
    before = target.stat().st_mtime_ns
    assert gpugen("schema", "--write", target).code == 0
    assert target.stat().st_mtime_ns == before, "what is current is not written again"
    assert gpugen("schema", "--write", target, "--check").code == 0
    target.write_text("{}\n", "utf-8")
    assert gpugen("schema", "--write", target, "--check").code == 3


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    answer = gpugen("schema", "--write", tmp_path / "no" / "schema.json")
    assert answer.code == 4
    assert "No such file" in answer.err

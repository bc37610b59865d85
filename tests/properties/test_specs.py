"""Specs drawn at random: valid ones are accepted and rendered, broken ones are explained."""

from __future__ import annotations

import copy
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from gpugen import pipeline
from gpugen.assemble import assemble
from gpugen.kube.conform import difference
from gpugen.model.finding import is_fatal
from gpugen.report import rows
from gpugen.resolve import resolve
from gpugen.text.yaml import to_yaml
from gpugen.workspace import Workspace
from support import ROOT
from support.commands import Answer, gpugen
from support.rich import RICH, catalog, rendered
from support.strategies import ANY, hosts_of, spec, specs

PIECES = ["{", "}", "[", "]", ":", ": ", ",", "- ", "\n", "  ", "\t", "#", "&a ", "*a", "!x ", "'"]
PIECES += ['"', "|", ">", "%", "@", "`", "null", "NO", "1.30", "{{ x }}", "<<: ", "---\n", "\u00a0"]


def shuffled(value: Any, order: random.Random) -> Any:
    """Return the value with the keys of every mapping in another order."""
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    order.shuffle(keys)
    return {key: shuffled(value[key], order) for key in keys}


@given(specs(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_a_valid_spec_is_accepted_and_rendered(data: dict[str, Any], order: random.Random) -> None:
    before = copy.deepcopy(data)
    tree, findings = rendered(data)
    assert not [finding for finding in findings if is_fatal([finding])]
    assert tree is not None
    assert data == before, "a stage changed the data that it was given"
    again, _ = rendered(shuffled(data, order))
    assert again is not None
    assert list(again) == list(tree)


@given(specs())
@settings(max_examples=8)
def test_every_object_of_a_valid_spec_is_one_of_the_api(data: dict[str, Any]) -> None:
    resolved, _ = resolve(data, catalog(), "inventories/drawn/cluster.yaml")
    assert resolved is not None
    for placed in assemble(resolved).objects:
        assert not difference(placed.object), placed.object["metadata"]["name"]


@pytest.mark.parametrize("model", catalog().gpu_ids())
def test_every_board_alone_can_be_used(model: str) -> None:
    assert hosts_of(model), f"no system and driver is accepted for {model}"
    pool = {"name": "p", "gpu": {"model": model, "count": 1}, "hosts": ["a.example"]}
    tree, _ = rendered(spec([{**pool, "host": hosts_of(model)[0]}]))
    assert tree is not None


@cache
def workspace(folder: Path) -> Workspace:
    """Return a repository that every case writes its spec into."""
    (folder / "inventories" / "drawn").mkdir(parents=True)
    return Workspace(folder)


def explained(folder: Path, raw: bytes) -> None:
    """Validate a file; whatever is wrong has an id, a hint and a place inside of it."""
    space = workspace(folder)
    path = folder / "inventories" / "drawn" / "cluster.yaml"
    path.write_bytes(raw)
    space.reader = type(space.reader)()
    outcome = pipeline.run(path, space)
    lines = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    for row in rows([outcome]):
        assert row.id
        assert row.message.isprintable()
        assert row.hint
        assert 1 <= row.line <= len(lines)
        assert 1 <= row.column <= len(lines[row.line - 1]) + 1
    assert outcome.spec is not None or is_fatal(outcome.findings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drawn")


@st.composite
def broken(draw: DrawFn) -> dict[str, Any]:
    """Draw the rich spec with a few of its values replaced, dropped or put elsewhere."""
    data = copy.deepcopy(RICH)
    for _ in range(draw(st.integers(1, 3))):
        node: Any = data
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and draw(st.integers(0, 4)):
                node = node[key]
                continue
            kind = draw(st.sampled_from(["replace", "drop", "rename", "copy"]))
            value = copy.deepcopy(node[key])
            if kind == "drop":
                del node[key]
            elif kind == "rename" and isinstance(node, dict):
                node[draw(st.sampled_from([f"{key}s", f"x{key}", "name", "mig"]))] = node.pop(key)
            elif kind == "copy":
                data[draw(st.sampled_from(list(data)))] = value
            else:
                node[key] = draw(ANY)
            break
    return data


@given(broken())
@settings(max_examples=120)
def test_a_broken_spec_is_explained(folder: Path, data: dict[str, Any]) -> None:
    explained(folder, to_yaml(data).encode("utf-8", "surrogatepass"))


@given(
    st.sampled_from(["lab", "train", "fleet-edge"]),
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 12), st.sampled_from(["", *PIECES])),
        min_size=1,
        max_size=3,
    ),
)
@settings(max_examples=200)
def test_a_broken_file_is_explained(
    folder: Path, cluster: str, edits: list[tuple[int, int, str]]
) -> None:
    path = ROOT / "inventories" / cluster / "cluster.yaml"
    text = path.read_text("utf-8")
    for place, length, piece in edits:
        at = place % len(text)
        text = text[:at] + piece + text[at + length :]
    explained(folder, text.encode())


@given(st.binary(max_size=300))
@settings(max_examples=60)
def test_any_bytes_are_explained(folder: Path, raw: bytes) -> None:
    explained(folder, raw)


@pytest.mark.parametrize(
    ("text", "code"), [("", 1), ("a: [", 1), ("\0", 1), ("[]", 1), ("pools: " + "[" * 5000, 1)]
)
def test_the_program_ends_with_a_documented_code(tmp_path: Path, text: str, code: int) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    answer: Answer = gpugen("validate", path, cwd=tmp_path)
    assert answer.code == code
    assert "hint" in answer.err

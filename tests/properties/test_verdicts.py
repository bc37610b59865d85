"""Both engines give one verdict, and what is refused is always explained."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpugen.load import load
from gpugen.model.finding import Pointer
from gpugen.validate import validate
from gpugen.validate.combined import combined_schema
from gpugen.validate.engines import errors, native_verdict
from gpugen.validate.keys import places
from support import TESTS

BASE = TESTS / "data" / "hostile" / "base.yaml"


@cache
def base() -> dict[str, Any]:
    document, _ = load(BASE, BASE.parent)
    assert document is not None
    return document.data


@cache
def pointers() -> list[tuple[str | int, ...]]:
    """List where something stands in the base spec."""
    found: list[tuple[str | int, ...]] = []

    def walk(node: Any, at: tuple[str | int, ...]) -> None:
        entries: Any = ()
        if isinstance(node, dict):
            entries = node.items()
        elif isinstance(node, list):
            entries = enumerate(node)
        for part, item in entries:
            found.append((*at, part))
            walk(item, (*at, part))

    walk(base(), ())
    return found


@cache
def known_keys() -> list[str]:
    return sorted({key for _, key, _ in places(combined_schema())})


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**18),
    st.sampled_from(["", "all", "mps", "mixed", "1.36", "lab\n", "a b", "x" * 300, "a/b"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.lists(st.one_of(st.integers(0, 9), st.text(max_size=3), st.none()), max_size=4),
    st.dictionaries(
        st.one_of(st.text(max_size=6), st.deferred(lambda: st.sampled_from(known_keys()))),
        st.one_of(st.integers(0, 9), st.text(max_size=3), st.none(), st.booleans()),
        max_size=3,
    ),
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Change, remove, rename or add a few things in the base spec."""
    spec = copy.deepcopy(base())
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(pointers()))
        node: Any = spec
        try:
            for part in path:
                node = node[part]
            node[last]
        except (LookupError, TypeError):
            continue
        if isinstance(node, str):  # an earlier change put a text here, whose letters are no places
            continue
        match draw(st.sampled_from(["change", "remove", "add"])):
            case "change":
                node[last] = draw(VALUES)
            case "remove":
                del node[last]
            case "add" if isinstance(node, dict):
                node[draw(st.sampled_from(known_keys()))] = draw(VALUES)
            case "add":
                node.append(draw(VALUES))
    return spec


@settings(max_examples=1000)
@given(mutated())
def test_both_engines_give_one_verdict(spec: dict[str, Any]) -> None:
    verdict = native_verdict()
    assert verdict is not None, "jsonschema-rs is a dependency of the tests"
    is_valid = next(errors(spec), None) is None
    assert verdict(spec) == is_valid
    assert (validate(spec) == []) == is_valid


@settings(max_examples=500)
@given(mutated())
def test_findings_are_few_and_lead_somewhere(spec: dict[str, Any]) -> None:
    found = validate(spec)
    assert len({(f.at, f.message) for f in found}) == len(found)
    for finding in found:
        assert finding.message.isprintable()
        assert finding.hint.isprintable()
        assert finding.hint
        assert exists(spec, finding.at)


def exists(spec: Any, pointer: Pointer) -> bool:
    """Walk a pointer; raises LookupError where it leads nowhere."""
    node = spec
    for part in pointer.parts:
        node = node[int(part)] if isinstance(node, list) else node[part]
    return True

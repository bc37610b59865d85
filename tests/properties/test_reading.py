"""Whatever is accepted means the same to other programs, and to both of PyYAML's parsers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ryaml
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpugen.load.faults import Faults
from gpugen.load.reader import parser, read
from gpugen.load.source import Source
from gpugen.load.text import decode
from gpugen.text.yaml import to_yaml
from support.yaml_texts import drawn

TEXTS = st.integers(0, 2**60).map(drawn)
NO_VALUE = re.compile(r"""["']\s*:(?=\S)""")  # ruamel.yaml cannot read [ "a":b ]


def places(node: Any, offsets: dict[int, list[int]], pointer: str = "") -> dict[str, Any]:
    """List the offsets of a tree by pointer."""
    if not isinstance(node, dict | list):
        return {}
    found: dict[str, Any] = {f"{pointer}/": offsets[id(node)]}
    for part, value in node.items() if isinstance(node, dict) else enumerate(node):
        found |= places(value, offsets, f"{pointer}/{part}")
    return found


def outcome(text: str, parse: Any) -> Any:
    """Return what one of PyYAML's parsers makes of a text: data with places, or findings."""
    faults = Faults("cluster.yaml", text)
    found = read(text, faults, parse)
    if faults.found:
        return faults.found
    return repr(found.root), found.root_offset, places(found.root, found.offsets)


def data(text: str) -> str | None:
    """Return what a text means to gpugen; None if it is refused."""
    source = Source(Path("cluster.yaml"), text.encode("utf-8", "replace"))
    return None if source.findings else repr(source.data)  # tells True from 1


def test_there_are_two_parsers() -> None:
    assert parser() is yaml.CSafeLoader


@settings(max_examples=1500)
@given(TEXTS)
@example("a:\tb\n")
@example("---\ta: b\n")
@example("a: b\t# c\n")
@example("a: {b?c: d}\n")
@example("a: [b, ?c]\n")
@example("a: [b?]\n")
@example("a: {b:}\n")
@example("a: [b :,\n  c]\n")
@example("a: {b:[c]}\n")
@example("a: |#b\n  c\n")
@example("a: |\n  \tb\n")
@example("a: |\t\n  b\n")
@example('a: "\\ud800"\n')
@example('a: "\\UFFFFFFFF"\n')
@example("a: [!t,b]\n")
@example("a: ! b\n")
@example("a: &b\n- *b\n")
@example('a: &b \t\n  "c"\n')
@example("a: &b \t\n  'c'\n")
@example("a: &b\t|\n  c\n")
@example("a: &b # c\td\n  'e'\n")
@example("...\na: b\n")
@example("a: b\n...\nc: d\n")
def test_both_parsers_find_the_same(text: str) -> None:
    text, findings = decode(text.encode("utf-8", "replace"), "cluster.yaml")
    assert findings or outcome(text, yaml.CSafeLoader) == outcome(text, yaml.SafeLoader)


@settings(max_examples=1000)
@given(TEXTS)
@example("a: 1\n- b\n")
@example("a:\n- b\nc: 1\n")
@example("a: [b,\n c]\n")
@example('{"a":b}\n')
@example("a: |\n    \n  b\n")
def test_what_is_accepted_means_the_same_to_a_reader_of_yaml_1_2(text: str) -> None:
    found = data(text)
    if found is not None and not NO_VALUE.search(text):
        assert repr(YAML(typ="safe", pure=True).load(text)) == found


@settings(max_examples=1500)
@given(TEXTS)
def test_what_is_accepted_means_the_same_to_a_native_reader(text: str) -> None:
    found = data(text)
    if found is not None:
        assert repr(ryaml.loads(text)) == found


@settings(max_examples=400)
@given(
    st.one_of(
        st.binary(max_size=200),
        TEXTS.map(str.encode),
        st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")),
    )
)
def test_no_bytes_make_the_reader_fail(raw: bytes) -> None:
    source = Source(Path("cluster.yaml"), raw)
    assert source.data or source.findings
    for finding in source.findings:
        assert finding.location is not None
        assert finding.location.line >= 1
        assert finding.location.column >= 1
        assert finding.message.isprintable()
        assert finding.hint.isprintable()


PLAIN_DATA = st.recursive(
    st.one_of(
        st.integers(-(10**17), 10**17),
        st.booleans(),
        st.none(),
        st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=20),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text("abcXYZ019._/-", min_size=1, max_size=8), inner, max_size=4),
    ),
    max_leaves=15,
)


@settings(max_examples=120)
@given(st.dictionaries(st.text("abcdef", min_size=1), PLAIN_DATA, min_size=1, max_size=4))
def test_what_gpugen_writes_it_reads_back(data: dict[str, Any]) -> None:
    source = Source(Path("cluster.yaml"), to_yaml(data).encode())
    if all(f.id in ("spec-odd-space", "spec-control-character") for f in source.findings):
        assert source.findings or source.data == data
    else:
        raise AssertionError(source.findings)

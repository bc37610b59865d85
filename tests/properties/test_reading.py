"""The plain reader and the careful one agree, and nothing makes either of them fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpugen.load.careful import CarefulReader
from gpugen.load.faults import Faults
from gpugen.load.flow import NotPlainError
from gpugen.load.marks import ROOT_MARK, Marks, Notes
from gpugen.load.plain import read_plain
from gpugen.load.scalars import DoubtfulError
from gpugen.load.source import Source
from gpugen.load.text import decode
from gpugen.text.yaml import to_yaml

INDENTS = st.sampled_from(["", "", "  ", "  ", "    ", "      ", " ", "   "])
WORDS = st.sampled_from(
    [
        *("a", "b", "name", "x.y/z", "1g.5gb", "lab", "two words", "it's", 'say "hi"', "a#b"),
        *("a:b", "http://x/y", "gpu-[01:16].lab", "a, b", "a{b", "a - b", "a & b", "50%", "x?"),
        *("1", "0", "-1", "42", "1.30", "1.2.3", "010", "1_0", "1:20", "12:ab", "2026-11-21"),
        *("yes", "No", "on", "true", "False", "null", "~", "y", "-", "--", "?", "...", "---"),
        *("../x", "./x", ".x", "/x", "=", "<<", "é", "日本", "a\u00a0b", "1e3", "0x1f", "0o7"),
        *("99999999999999999999", "*a", "&a", "!t", "!!str x", "|", ">", "@x", "`x`", "%x"),
        *('"q"', "'s'", '"a: b"', "'a # b'", '""', "''", '"a\\"b"', "'a''b'", '"open', "'open"),
        *("[]", "{}", "[a, b]", "[a,b]", "{a: b}", "{a: 1, b: [2]}", "[a, {b: c}]", "[a,]", "[,]"),
        *("[a b, c]", "{a b: c}", "{a:b}", "{a}", "[a: b]", "{'a': b}", '{"a":b}', "[a]]", "{a: }"),
        *("[", "{", "]", "}", "[a,", "{a: 1,", ", b]", "[a # c", "{{ x }}", "[1:2]", "[a:b]"),
    ]
)
KEYS = st.sampled_from(["a", "b", "name", "x.y/z", '"q"', "'s'", "1", "on", "a b", "", "1g.5gb"])
TAILS = st.sampled_from(["", "", "", " ", " # c", "# c", " #", "\t", "  # it's: [a"])
LINES = st.one_of(
    st.builds("{}{}: {}{}".format, INDENTS, KEYS, WORDS, TAILS),
    st.builds("{}{}:{}".format, INDENTS, KEYS, TAILS),
    st.builds("{}- {}{}".format, INDENTS, WORDS, TAILS),
    st.builds("{}- {}: {}{}".format, INDENTS, KEYS, WORDS, TAILS),
    st.builds("{}- {}:".format, INDENTS, KEYS),
    st.builds("{}{}{}".format, INDENTS, WORDS, TAILS),
    st.sampled_from(["", "# c", "---", "...", "  # c", "   "]),
)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(LINES, min_size=1, max_size=7),
    st.sampled_from(["\n", ""]),
)


def carefully(text: str) -> CarefulReader:
    reader = CarefulReader(text, Faults("cluster.yaml", text))
    reader.read()
    return reader


def plainly(text: str, marks: Marks | None = None) -> Any:
    try:
        return read_plain(text, Notes(marks))
    except NotPlainError:
        return None


def places(node: Any, marks: Marks, pointer: str = "") -> dict[str, tuple[int, int]]:
    """List the marks of a tree by pointer."""
    found = {}
    entries = node.items() if isinstance(node, dict) else enumerate(node)
    for part, value in entries:
        found[f"{pointer}/{part}"] = marks[id(node), part]
        if isinstance(value, dict | list):
            found |= places(value, marks, f"{pointer}/{part}")
    return found


@settings(max_examples=700)
@given(TEXTS)
@example("a: 1\n- b\n")
@example("a:\n- b\nc: 1\n")
@example("a: [b,\n c]\n")
@example('{"a":b}\n---\n')
@example('{"a":b} # c\n\n# d')
def test_what_the_plain_reader_takes_the_careful_one_reads_alike(text: str) -> None:
    text, findings = decode(text.encode(), "cluster.yaml")
    marks: Marks = {}
    data = plainly(text, marks)
    if findings or data is None:
        return
    careful = carefully(text)
    assert careful.faults.found == []
    assert careful.root == data
    assert repr(careful.root) == repr(data)  # tells True from 1
    assert places(careful.root, careful.marks) == places(data, marks)
    assert careful.marks[ROOT_MARK] == marks[ROOT_MARK]


@settings(max_examples=500)
@given(TEXTS)
@example("a: 1.5\nb: [NO, {c: 010}]\nd: NO\n")
def test_doubtful_values_are_the_same_to_both_readers(text: str) -> None:
    doubts: list[tuple[int, DoubtfulError]] = []
    text, findings = decode(text.encode(), "cluster.yaml")
    try:
        read_plain(text, Notes(doubts=doubts))
    except NotPlainError:
        return
    plain = Faults("cluster.yaml", text)
    for offset, doubt in doubts:
        plain.add(doubt.id, offset, *doubt.values)
    assert findings or carefully(text).faults.found == plain.found


@settings(max_examples=400)
@given(TEXTS)
def test_what_is_accepted_means_the_same_to_another_loader(text: str) -> None:
    source = Source(Path("cluster.yaml"), text.encode())
    if not source.findings:
        assert YAML(typ="safe", pure=True).load(text) == source.data


@settings(max_examples=700)
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

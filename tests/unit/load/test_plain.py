"""What the plain reader takes by itself, and that it keeps its bounds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpugen.load.flow import NotPlainError
from gpugen.load.plain import read_plain
from gpugen.load.source import Source
from support import ROOT


@pytest.mark.parametrize(
    "path",
    [
        *sorted((ROOT / "inventories").glob("*/*.yaml")),
        *sorted(ROOT.glob("tests/golden/*/cluster.yaml")),
        ROOT / "tests/data/hostile/base.yaml",
    ],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_specs_as_people_write_them_are_plain(path: Path) -> None:
    assert read_plain(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1\n", {"a": 1}),
        ("a: 1", {"a": 1}),
        ("---\na: b c\n", {"a": "b c"}),
        ("# c\n\n--- # d\n# e\na: b # c\n", {"a": "b"}),
        ("a:\n- 1\n- 2\nb: 3\n", {"a": [1, 2], "b": 3}),
        ("a:\n  - b: 1\n    c:\n    - d\n  - e\n", {"a": [{"b": 1, "c": ["d"]}, "e"]}),
        ("a:\nb:\n", {"a": None, "b": None}),
        ("a:\n  b:\n    c: 1\nd: 2\n", {"a": {"b": {"c": 1}}, "d": 2}),
        ("a: [x, 'y', \"z\", 1, {b: c}, []]\n", {"a": ["x", "y", "z", 1, {"b": "c"}, []]}),
        ("a: [\n  x,  # one\n  z,\n]\n", {"a": ["x", "z"]}),
        ("a: {b: 1, c: [d, {e: f}], }\n", {"a": {"b": 1, "c": ["d", {"e": "f"}]}}),
        ('{"a": 1, "b": ["c", {"d": null}]}\n', {"a": 1, "b": ["c", {"d": None}]}),
        ('"a": "b: c # d"\n', {"a": "b: c # d"}),
        ("a: it's 5 o'clock\n", {"a": "it's 5 o'clock"}),
        ("a: gpu-[01:16].x\nb: http://x/#y\n", {"a": "gpu-[01:16].x", "b": "http://x/#y"}),
        ("a: Köln\n", {"a": "Köln"}),
    ],
)
def test_taken(text: str, data: object) -> None:
    assert read_plain(text) == data


@pytest.mark.parametrize(
    "text",
    [
        *("", "# c\n", "- a\n", "a\n", "a: &x 1\n", "a: *x\n", "a: !t b\n", "a: |\n  b\n"),
        *("a: 1\na: 2\n", 'a: 1\n"a": 2\n', "{a: 1, a: 2}\n", "1: a\n", "on: a\n", "<<: a\n"),
        *("a: 1.5\n", "a: NO\n", "a: [1.5]\n", "a: 010\n", "? a\n: b\n", "a: b\n c\n"),
        *("a: b\n---\nc: d\n", "%YAML 1.2\n---\na: b\n", "a:\tb\n", "\ta: b\n", 'a: "b\\n"\n'),
        *('a: "b\n  c"\n', "a: [b\n", "a: b]\nc: [}\n", "a: {b}\n", "a: [b: c]\n", "a: {b: }\n"),
        *("a:\n  - b\n   - c\n", "a:\n    b: 1\n  c: 2\n", "a: @b\n", "a: b: c\n", "a: 'b' c\n"),
        *("a: >\n  b\n", "a: 'b''c'\n", "a: b\n c: d\n", "a: [,]\n", " a: b\n"),
    ],
)  # fmt: skip
def test_left_to_the_careful_reader(text: str) -> None:
    with pytest.raises(NotPlainError):
        read_plain(text)


@pytest.mark.parametrize(("depth", "is_taken"), [(63, True), (64, False), (5000, False)])
def test_depth(depth: int, is_taken: bool) -> None:
    block = "".join("  " * level + "a:\n" for level in range(depth)) + "  " * depth + "b: 1\n"
    for text in (f"a: {'[' * depth}{']' * depth}\n", block):
        if is_taken:
            assert read_plain(text)
        else:
            with pytest.raises(NotPlainError):
                read_plain(text)


def test_long_texts_are_left_to_the_careful_reader() -> None:
    longest = "x" * 65536
    assert read_plain(f'a: {longest}\nb: "{longest}"\nc: [{longest}]\n')
    for text in (f"a: {longest}x\n", f'a: "{longest}x"\n', f"a: ['{longest}x']\n"):
        with pytest.raises(NotPlainError):
            read_plain(text)


def test_ten_thousand_hosts_are_plain_data() -> None:
    lines = [
        f"  - name: gpu-{n:05d}.lab\n    address: 10.0.{n // 256}.{n % 256}" for n in range(10000)
    ]
    source = Source(Path("cluster.yaml"), ("hosts:\n" + "\n".join(lines) + "\n").encode())
    assert source.findings == []
    assert source.data["hosts"][9999] == {"name": "gpu-09999.lab", "address": "10.0.39.15"}
    assert source.places.of(source.places.root["hosts"][9999], "address", key=False).line == 20001


def test_a_large_file_that_is_not_plain_is_refused_with_a_reason() -> None:
    hosts = "".join(f"- gpu-{n:07d}\n" for n in range(100_000))
    for line, wanted in (("- 1.5\n", "spec-bare-float"), ("- &a b\n", "spec-not-plain")):
        source = Source(Path("cluster.yaml"), ("hosts:\n" + hosts + line).encode())
        (finding,) = source.findings
        assert finding.id == wanted
        assert finding.location is not None
        assert finding.location.line == 100_002


def test_more_values_than_allowed() -> None:
    source = Source(Path("cluster.yaml"), b"a: [" + b"1," * 2_100_000 + b"1]\n")
    assert [finding.id for finding in source.findings] == ["spec-nodes"]


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.0 to 3.11.4 matches such groups wrongly (cpython issue 106052): ``a: b # c``
    was ``b`` with a blank behind it. Debian 12 has 3.11.2.
    """
    possessive = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")
    for path in sorted((ROOT / "generator").rglob("*.py")):
        assert not possessive.search(path.read_text("utf-8")), path


def test_many_comments_and_words_take_little_memory() -> None:
    """A repeated group keeps a place to go back to for each of its rounds."""
    comments = "# note\n" * 100_000
    assert read_plain(f"{comments}a: b\n{comments}c: d\n") == {"a": "b", "c": "d"}
    for text in (f"a: [\n{comments}b]\n", f"a: {'b ' * 100_000}c\n"):
        with pytest.raises(NotPlainError):
            read_plain(text)

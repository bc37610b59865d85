"""What both of PyYAML's parsers read alike, and that the reader keeps its bounds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.load import reader
from gpugen.load.faults import Faults
from gpugen.load.source import Source
from support import ROOT

PARSERS = pytest.mark.parametrize("parse", [yaml.CSafeLoader, yaml.SafeLoader])


def found(text: str, parse: Any = None) -> list[str]:
    """Return what is wrong with a text, as column and id."""
    faults = Faults("cluster.yaml", text)
    reader.read(text, faults, parse)
    return [f"{fault.location.column} {fault.id}" for fault in faults.found if fault.location]


@PARSERS
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
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: |\n  b\tc\nd: 'e\tf'\n# g\th\n", {"a": "b\tc\n", "d": "e\tf"}),
        ("? a\n: b?\nc: d?e\n", {"a": "b?", "c": "d?e"}),
        ("a: ':,'\nb: [\"c:[?]\", 'd?']\n", {"a": ":,", "b": ["c:[?]", "d?"]}),
    ],
)
def test_taken(text: str, data: object, parse: Any) -> None:
    faults = Faults("cluster.yaml", text)
    assert reader.read(text, faults, parse).root == data
    assert faults.found == []


@PARSERS
@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a:\tb\n", ["3 spec-tab"]),
        ("---\ta: b\n", ["4 spec-tab"]),
        ("a: b\t# c\n", ["5 spec-tab"]),
        ("a: 'b # c'\t\n", ["11 spec-tab"]),
        ("a: |\n  \tb\n", ["3 spec-tab"]),
        ("a: {b?c: d}\n", ["6 spec-question-mark"]),
        ("a: [b, ?c]\n", ["8 spec-question-mark"]),
        ("a: [? b]\n", ["5 spec-question-mark"]),
        ("a: {b:}\n", ["5 spec-missing-space"]),
        ("a: {b:[c]}\n", ["5 spec-missing-space"]),
        ("a: [b :,\n  c]\n", ["5 spec-missing-space"]),
        ("a: |#b\n  c\n", ["4 spec-quote-needed"]),
        ("a: |\n \n  b\n", ["2 spec-blank-line"]),
        ('a: "\\ud800"\n', ["4 spec-control-character"]),
        ("a: &b:c d\n", ["4 spec-quote-needed"]),
        ("a: &b c\nd: *b@e\n", ["4 spec-quote-needed"]),
        ("a: ! b\n", ["4 spec-tag"]),
        ("a: !b c\n", ["4 spec-tag"]),
    ],
)
def test_what_parsers_differ_in_is_refused(text: str, faults: list[str], parse: Any) -> None:
    assert found(text, parse) == faults


@PARSERS
@pytest.mark.parametrize(("depth", "is_taken"), [(63, True), (64, False), (5000, False)])
def test_depth(depth: int, is_taken: bool, parse: Any) -> None:
    block = "".join("  " * level + "a:\n" for level in range(depth)) + "  " * depth + "b: 1\n"
    for text in (f"a: {'[' * depth}{']' * depth}\n", block):
        assert ("spec-depth" in "".join(found(text, parse))) != is_taken


def test_aliases_do_not_nest_deeper_than_brackets() -> None:
    lines = ["a0: &a0 x"]
    lines += [f"a{n}: &a{n} {'[' * 20}*a{n - 1}{']' * 20}" for n in range(1, 50)]
    assert found("\n".join(lines)) == ["29 spec-depth"]


def test_brackets_are_not_read_to_the_end() -> None:
    read: list[Any] = []

    class Counting(yaml.CSafeLoader):
        def get_event(self) -> Any:
            read.append(None)
            return super().get_event()

    assert found("[" * 300_000, Counting) == ["65 spec-depth"]
    assert len(read) < 70


def test_long_texts() -> None:
    longest = "x" * 65536
    assert found(f'a: {longest}\nb: "{longest}"\nc: [{longest}]\n') == []
    for text in (f"a: {longest}x\n", f'a: "{longest}x"\n', f"a: '{longest}x'\n"):
        assert found(text) == ["4 spec-long-scalar"]


def test_ten_thousand_hosts() -> None:
    lines = [
        f"  - name: gpu-{n:05d}.lab\n    address: 10.0.{n // 256}.{n % 256}" for n in range(10000)
    ]
    source = Source(Path("cluster.yaml"), ("hosts:\n" + "\n".join(lines) + "\n").encode())
    assert source.findings == []
    assert source.data["hosts"][9999] == {"name": "gpu-09999.lab", "address": "10.0.39.15"}
    assert source.places.of(source.places.root["hosts"][9999], "address", key=False).line == 20001


def test_a_large_file_has_findings_like_a_small_one() -> None:
    hosts = "".join(f"- gpu-{n:07d}\n" for n in range(100_000))
    lines = {"- 1.5\n": "spec-bare-float", "- [a\n": "spec-unclosed-bracket", "- &a b\n": ""}
    for line, wanted in lines.items():
        source = Source(Path("cluster.yaml"), ("hosts:\n" + hosts + line).encode())
        assert "".join(finding.id for finding in source.findings) == wanted
        assert all(f.location and f.location.line == 100_002 for f in source.findings)


def test_more_values_than_allowed() -> None:
    source = Source(Path("cluster.yaml"), b"a: [" + b"1," * 600_000 + b"1]\n")
    assert [finding.id for finding in source.findings] == ["spec-nodes"]


def test_without_libyaml_the_pure_parser_reads() -> None:
    program = """
import sys
sys.modules["yaml._yaml"] = None
import yaml
from gpugen.load import reader
assert reader.parser() is yaml.SafeLoader
print(reader.data("a: [b]"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'a': ['b']}\n"


def test_a_file_of_the_package_is_at_fault() -> None:
    with pytest.raises(ValueError, match=r"1\.5 without quotes"):
        reader.data("a: 1.5")


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
    assert found(f"{comments}a: b # ?\n{comments}c: d\n") == []
    assert found(f"a: [\n{comments}b, '?']\n") == []
    assert found(f"a: {'b ' * 30_000}c\n") == []

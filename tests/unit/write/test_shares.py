"""Files of a whole cluster that name pools: whose lines are whose, and that no edit passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen.errors import NotOursError
from gpugen.model.tree import Tree
from gpugen.write import INDEX, write
from gpugen.write.shares import shares

TEXT = """\
head: 1
rows: |-
  {
  'a': [
    1,
  ],
  'b': [
    2,
  ],
  }
both: [a, b]
steps:
  - first
  # a
  - regex: 3
    x_role:
      # nested
      - 4
  # ---
  # b
  # a_role
  - 5
  # b_role
  # cluster
  - last
tail: 6
"""


def tree(text: str) -> Tree:
    made = Tree()
    made.add("policy.yaml", text)
    for pool in ("a", "b"):
        made.add(f"{pool}/x", "x\n", pool)
    made.add("a_role/x", "x\n", "a_role")
    return made


def test_each_line_has_one_owner() -> None:
    found = shares(TEXT.encode(), ["a", "b", "c", "a_role"])
    head = "head: 1\nrows: |-\n  {\n  }\nboth: [a, b]\nsteps:\n  - first\n"
    step = "  - first\n  # a\n  - regex: 3\n    x_role:\n      # nested\n      - 4\n  # ---\n"
    expected = {
        "": f"{head}  # a_role\n  # b_role\n  # cluster\n  - last\ntail: 6\n",
        "a": f"  {{\n  'a': [\n    1,\n  ],\n{step}",
        "b": "  {\n  'b': [\n    2,\n  ],\n  - first\n  # b\n",
        "a_role": "  # a_role\n  - 5\n",
    }
    assert {name: text.decode() for name, text in found.items()} == expected


def test_a_row_of_the_inventory_is_its_pools() -> None:
    names = ["a-b", "c"]
    as_yaml = shares(b"gpu:\n  pool_a_b:\n    hosts: {}\n  pool_c:\n    hosts: {}\n", names)
    assert as_yaml["a-b"] == b"gpu:\n  pool_a_b:\n    hosts: {}\n"
    as_json = shares(b'{\n "pool_a_b": {\n  1\n },\n "pool_c": {\n  2\n }\n}\n', names)
    assert as_json == {
        "": b"{\n}\n",
        "a-b": b'{\n "pool_a_b": {\n  1\n },\n',
        "c": b'{\n "pool_c": {\n  2\n }\n',
    }


def test_a_name_in_a_list_has_its_comma() -> None:
    found = shares(b"[\n'a'\n,\n'b'\n,\n]\n", ["a", "b"])
    assert found == {"": b"[\n]\n", "a": b"[\n'a'\n,\n", "b": b"[\n'b'\n,\n"}


def test_words_alone_name_nobody() -> None:
    text = b"# Of the pool a\na: b\nb:\n  - a\n  'a': 1,\n"
    assert shares(text, ["a", "b"]) == {"": text}
    assert shares(TEXT.encode(), []) == {"": TEXT.encode()}


def test_a_pools_line_changes_its_own_index_alone(tmp_path: Path) -> None:
    write(tree(TEXT), tmp_path / "out", "lab")
    index = (tmp_path / "out/lab" / INDEX).parent
    before = {path.name: path.read_bytes() for path in index.iterdir()}
    write(tree(TEXT.replace("2,", "4,")), tmp_path / "out", "lab")
    after = {path.name: path.read_bytes() for path in index.iterdir()}
    assert [name for name in after if after[name] != before[name]] == ["pool-b"]


def test_a_merge_of_two_pools_lines_is_ours(tmp_path: Path) -> None:
    out = tmp_path / "out"
    index = out / "lab/.gpugen-index"
    write(tree(TEXT.replace("1,", "5,")), out, "lab")
    ours = (index / "pool-a").read_bytes()
    write(tree(TEXT.replace("2,", "6,")), out, "lab")
    (index / "pool-a").write_bytes(ours)
    (out / "lab/policy.yaml").write_text(TEXT.replace("1,", "5,").replace("2,", "6,"))
    write(tree(TEXT.replace("1,", "7,")), out, "lab")
    assert (out / "lab/policy.yaml").read_text() == TEXT.replace("1,", "7,")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1,", "9,"),
        ("2,", "9,"),
        ("head: 1", "head: 9"),
        ("  'b': [\n    2,\n  ],\n", ""),
        ("  'b': [\n", "  'c': [\n"),
        ("  # a\n", ""),
        ("  # a\n", "  # b\n"),
        ("  # b\n", ""),
        ("  # b\n", "  # b\n  - 7\n"),
        ("  # a_role\n", ""),
        ("  # b_role\n", "  # b_role\n  - 5\n"),
        ("  - 5\n", ""),
        ("  - 5\n  # b_role\n", "  # b_role\n  - 5\n"),
        ("  # cluster\n", ""),
        ("  # cluster\n", "  # a\n"),
        ("  - last\n", "  - 5\n"),
        ("both: [a, b]\n", ""),
        ("both: [a, b]\n", "both: [a]\n"),
        ("tail: 6\n", "tail: 6\n  'a': [\n    1,\n  ],\n"),
        ("    1,\n", "    1,\n    1,\n"),
        ("steps:\n", "steps: \n"),
        ("tail: 6\n", "tail: 6"),
        (TEXT, ""),
    ],
)
def test_an_edit_of_any_line_is_an_edit(tmp_path: Path, old: str, new: str) -> None:
    out = tmp_path / "out"
    write(tree(TEXT), out, "lab")
    assert old in TEXT
    (out / "lab/policy.yaml").write_text(TEXT.replace(old, new))
    with pytest.raises(NotOursError, match=r"policy.yaml \(edited\)"):
        write(tree(TEXT + "more: 1\n"), out, "lab")

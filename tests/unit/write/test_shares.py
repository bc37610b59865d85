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
rows:
  - 'a': [
      1,
    ],
  - 'b': [
      2,
    ],
both: [a, b]
tail: 3
"""


def tree(text: str) -> Tree:
    made = Tree()
    made.add("policy.yaml", text)
    for pool in ("a", "b"):
        made.add(f"{pool}/x", "x\n", pool)
    return made


def test_each_line_has_one_owner() -> None:
    found = shares(TEXT.encode(), ["a", "b", "c"])
    assert found == {
        "": b"head: 1\nrows:\nboth: [a, b]\ntail: 3\n",
        "a": b"rows:\n  - 'a': [\n      1,\n    ],\n",
        "b": b"rows:\n  - 'b': [\n      2,\n    ],\n",
    }
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
        ("  - 'b': [\n      2,\n    ],\n", ""),
        ("  - 'b': [\n", "  - 'c': [\n"),
        ("both: [a, b]\n", ""),
        ("both: [a, b]\n", "both: [a]\n"),
        ("tail: 3\n", "tail: 3\n  - 'a': [\n      1,\n    ],\n"),
        ("      1,\n", "      1,\n      1,\n"),
        ("rows:\n", "rows: \n"),
        ("tail: 3\n", "tail: 3"),
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

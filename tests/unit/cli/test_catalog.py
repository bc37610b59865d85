"""Every row of the catalogue can be listed and shown, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from gpugen.catalog import Catalog
from gpugen.cli.catalog import SECTIONS
from support import ROOT
from support.commands import gpugen


def test_overview_counts_what_the_sections_list() -> None:
    answer = gpugen("catalog")
    assert answer.code == 0
    for line in answer.out.splitlines():
        word, count, _, *command = line.split()
        assert command == ["gpugen", "catalog", word]
        assert len(gpugen("catalog", word).out.splitlines()) == int(count)


@pytest.mark.parametrize("word", SECTIONS)
def test_every_row_can_be_shown(word: str) -> None:
    rows = json.loads(gpugen("catalog", word, "--output", "json").out)
    assert list(rows) == sorted(Catalog().ids(SECTIONS[word][0]))
    listed = gpugen("catalog", word).out.splitlines()
    assert {line.split()[0] for line in listed} == set(rows)
    for name, row in rows.items():
        assert yaml.safe_load(gpugen("catalog", word, name).out) == {name: row}
        assert json.loads(gpugen("catalog", word, name, "-o", "json").out) == row
        assert row["source"], f"{word} {name} names no source"


def test_a_row_shows_memory_and_mig() -> None:
    line = next(
        line for line in gpugen("catalog", "gpus").out.splitlines() if line.startswith("t4 ")
    )
    assert line.split()[1:] == ["NVIDIA", "T4", "turing", "15360", "MiB", "MIG", "-"]


def test_rows_of_the_repository_are_shown(tmp_path: Path) -> None:
    (tmp_path / "inventories").mkdir()
    (tmp_path / "catalog").mkdir()
    text = (ROOT / "docs/specs/catalog.md").read_text("utf-8")
    example = text.partition("# catalog/gpus.yaml\n")[2].partition("```")[0]
    (tmp_path / "catalog" / "gpus.yaml").write_text(example, "utf-8")
    assert "\nexample-32gb " in gpugen("catalog", "gpus", cwd=tmp_path).out
    assert gpugen("catalog", "gpus", "example-32gb", "--root", tmp_path).code == 0
    assert gpugen("catalog", "gpus", "example-32gb").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gpus", "a100"), "did you mean one of a100-"),
        (("distributions", "kubadm"), "did you mean kubeadm?"),
        (("gpus", "zzz"), "'gpugen catalog gpus' lists them"),
        (("gpu",), "'gpu' is not one of 'gpus', 'mig'"),
    ],
    ids=" ".join,
)
def test_wrong_names_get_near_ones(arguments: tuple[str, ...], said: str) -> None:
    answer = gpugen("catalog", *arguments)
    assert answer.code == 2
    assert said in answer.err

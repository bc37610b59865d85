"""Every hostile or mistaken file of the corpus gives the findings that stand beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gpugen.catalog import Catalog
from gpugen.load import Document, load, why
from gpugen.load.faults import Faults
from gpugen.load.reader import MAX_REREAD, read
from gpugen.load.text import decode
from gpugen.model.finding import Finding
from gpugen.report import Row, rows
from gpugen.validate import WHY
from gpugen.validate.readings import read as validated
from support import TESTS

FOLDER = TESTS / "data" / "hostile"
CASES = yaml.safe_load((FOLDER / "cases.yaml").read_text("utf-8"))
ELSEWHERE = {  # ids that need more than one file
    *(
        "extends-cluster",
        "extends-repeated",
        "extends-too-large",
        "extends-too-many",
        "layer-api-version",
        "layer-kind",
        "layer-name",
        "layer-too-new",
        "spec-outside",
    ),
}


class Outcome(NamedTuple):
    """What load and validate make of a file."""

    path: Path
    document: Document | None
    findings: list[Finding]


def content(case: dict[str, Any]) -> bytes:
    """Return the bytes of a case."""
    if "edit" in case:
        old, new = case["edit"]
        base = (FOLDER / "base.yaml").read_text("utf-8")
        assert old in base
        return base.replace(old, new, 1).encode()
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "repeat" in case:
        before, text, times, after = case["repeat"]
        return (before + text * times + after).encode()
    return case["text"].encode()


def findings_of(folder: Path, raw: bytes) -> list[Row]:
    """Load and validate a spec."""
    path = folder / "inventories" / "lab" / "cluster.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw)
    document, findings = load(path, folder)
    if document is not None:
        _, findings = validated(document.data, Catalog(), findings)
    return rows([Outcome(path, document, findings)])


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_corpus(case: dict[str, Any], tmp_path: Path) -> None:
    found = findings_of(tmp_path, content(case))
    assert [f"{row.line}:{row.column} {row.id}" for row in found[:4]] == case["want"]
    assert len(found) == len(case["want"]) + case.get("more", 0)
    for row in found:
        assert row.message.isprintable()
        assert row.hint
        assert len(row.message) + len(row.hint) < 600


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_both_parsers_find_the_same(case: dict[str, Any]) -> None:
    text, findings = decode(content(case), "cluster.yaml")
    found: list[object] = []
    is_short = not findings and len(text) <= MAX_REREAD
    for parse in (yaml.CSafeLoader, yaml.SafeLoader) if is_short else ():
        faults = Faults("cluster.yaml", text)
        composer = read(text, faults, parse)
        found.append(faults.found or (repr(composer.root), [*composer.offsets.values()]))
    assert found[:1] == found[1:]


def test_corpus_knows_every_id() -> None:
    listed = {want.split()[1] for case in CASES for want in case["want"]}
    assert {*why(), *WHY} - listed - ELSEWHERE == {"schema-more"}
    assert listed <= {*why(), *WHY}
    assert len(CASES) >= 350


def test_names_of_cases_are_unique() -> None:
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)

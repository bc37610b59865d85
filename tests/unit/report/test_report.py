"""Findings in every form: sorted, located, and unable to drive what shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from gpugen.load import Document, load
from gpugen.model.finding import ROOT, Finding, Location, Pointer, Severity
from gpugen.report import FORMATS, printable, render_findings, rows, wants_colour
from support import ROOT as REPOSITORY

SCHEMAS = REPOSITORY / "schemas"


class Outcome(NamedTuple):
    """What the stages made of a spec."""

    path: Path
    document: Document | None
    findings: list[Finding]


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Give three findings about a spec, found from the folder above it."""
    path = tmp_path / "inventories" / "lab" / "cluster.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("name: lab\npools:\n  - name: a100\n    sharing: {mode: mps}\n")
    monkeypatch.chdir(tmp_path)
    document, _ = load(path, tmp_path)
    at = ROOT / "pools" / 0 / "sharing" / "mode"
    return Outcome(
        path,
        document,
        [
            Finding("sharing-mps", "pool 'a100' combines", "use time-slicing", at, tags=("GG-3",)),
            Finding("name-odd", "odd", "rename", ROOT / "name", Severity.WARNING, at_key=True),
            Finding("spec-odd", "whole", "look", location=Location("other/x.yaml", 7, 2)),
        ],
    )


def test_text(outcome: Outcome) -> None:
    assert render_findings([outcome], "text", ending="; nothing written", colour=False) == (
        "inventories/lab/cluster.yaml:1:1: warning [name-odd] odd\n"
        "    at   /name\n"
        "    hint rename\n"
        "inventories/lab/cluster.yaml:4:21: error [sharing-mps] pool 'a100' combines\n"
        "    at   /pools/0/sharing/mode\n"
        "    hint use time-slicing\n"
        "other/x.yaml:7:2: error [spec-odd] whole\n"
        "    hint look\n"
        "2 errors, 1 warning; nothing written\n"
    )


@pytest.mark.parametrize(
    ("errors", "warnings", "ending"),
    [
        (1, 0, "1 error; nothing written"),
        (0, 2, "2 warnings; nothing written"),
        (3, 1, "3 errors, 1 warning; nothing written"),
    ],
)
def test_last_line(errors: int, warnings: int, ending: str) -> None:
    severities = [Severity.ERROR] * errors + [Severity.WARNING] * warnings
    found = [Finding(f"x-{n}", "m", "h", severity=s) for n, s in enumerate(severities)]
    text = render_findings([], "text", extra=found, ending="; nothing written", colour=False)
    assert text.splitlines()[-1] == ending


def test_nothing_to_say(outcome: Outcome) -> None:
    quiet = outcome._replace(findings=[])
    assert render_findings([quiet], "text") == ""
    assert render_findings([quiet], "github") == ""
    assert json.loads(render_findings([quiet], "json"))["findings"] == []
    assert json.loads(render_findings([quiet], "sarif"))["runs"][0]["results"] == []


def test_json_keeps_its_schema(outcome: Outcome) -> None:
    document = json.loads(render_findings([outcome], "json"))
    schema = json.loads((SCHEMAS / "findings.schema.json").read_text())
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    assert (document["version"], document["errors"], document["warnings"]) == (1, 2, 1)
    assert document["findings"][1] == {
        "id": "sharing-mps",
        "severity": "error",
        "path": "inventories/lab/cluster.yaml",
        "line": 4,
        "column": 21,
        "pointer": "/pools/0/sharing/mode",
        "message": "pool 'a100' combines",
        "hint": "use time-slicing",
        "tags": ["GG-3"],
        "suppressed": "",
    }
    described = schema["properties"]["findings"]["items"]
    assert (
        set(described["properties"]) == set(described["required"]) == set(document["findings"][0])
    )


def test_sarif_has_what_the_standard_requires(outcome: Outcome) -> None:
    """Source: SARIF 2.1.0, sections 3.13, 3.14, 3.18, 3.19, 3.27, 3.28, 3.29, 3.30."""
    log = json.loads(render_findings([outcome], "sarif"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "gpugen"
    assert run["columnKind"] == "unicodeCodePoints"
    assert len(run["results"]) == 3
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        assert result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"].keys() == {"startLine", "startColumn"}
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
    assert run["results"][1]["locations"][0]["logicalLocations"] == [
        {"fullyQualifiedName": "/pools/0/sharing/mode"}
    ]


def test_sarif_says_what_a_rule_means(outcome: Outcome) -> None:
    """Code scanning shows these texts beside a finding."""
    text = render_findings([outcome], "sarif", explained=lambda name: f"{name} is\nwrong.\n\nWhy.")
    rule = next(
        rule
        for rule in json.loads(text)["runs"][0]["tool"]["driver"]["rules"]
        if rule["id"] == "sharing-mps"
    )
    assert rule["shortDescription"]["text"] == "sharing-mps is wrong."
    assert rule["fullDescription"]["text"] == "sharing-mps is\nwrong.\n\nWhy."
    assert "'gpugen explain sharing-mps'" in rule["help"]["text"]


def test_github(outcome: Outcome) -> None:
    lines = render_findings([outcome], "github").splitlines()
    assert lines[1] == (
        "::error file=inventories/lab/cluster.yaml,line=4,col=21,title=sharing-mps"
        "::pool 'a100' combines%0Ahint: use time-slicing"
    )
    assert lines[0].startswith("::warning file=")


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\nb",
    "a\r\nb",
    "x\n::error::planted",
    "x\n::set-output name=a::b",
    "##vso[task.complete]",
    "x\n##vso[task.complete]",
    "\x00",
    "\x7f\x9b31m",
    "\u202egnp.exe",
    "\u2066\u2069",
    "\u2028\u2029",
    "\ufeff",
    "\x08\x08\x08",
    "%0A::error::planted",
    "a,title=x::y",
    "<script>alert(1)</script>",
    "[red]x[/nope]",
    '"quote\\back',
    "\ud800",
]
DANGEROUS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]")


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_spec_drives_a_terminal_or_ci(form: str, payload: str) -> None:
    finding = Finding(
        "spec-odd", payload, payload, ROOT / payload, location=Location(payload, 1, 1)
    )
    text = render_findings([], form, extra=[finding], colour=False)
    assert not DANGEROUS.search(text)
    text.encode()
    lines = text.splitlines()
    if form == "github":
        assert len(lines) == 1
        assert lines[0].count("::") == 2 + _data_colons(payload)
    else:
        assert not any(line.startswith(("::", "##")) for line in lines)
    if form in ("json", "sarif"):
        json.loads(text)
    if form == "text":
        assert len(lines) == 4


def _data_colons(payload: str) -> int:
    """Count the double colons that the message may keep: behind the command they mean nothing."""
    return 2 * payload.count("::")


def test_findings_are_sorted_and_listed_once(outcome: Outcome) -> None:
    twice = rows([outcome, outcome])
    assert len(twice) == 3
    assert twice == sorted(twice)


def test_paths_outside_of_the_current_folder_stay(outcome: Outcome, tmp_path: Path) -> None:
    elsewhere = Finding("spec-odd", "m", "h", location=Location("/etc/x.yaml", 1, 1))
    inside = Finding("spec-odd", "m", "h", location=Location(f"{tmp_path}/a/x.yaml", 1, 1))
    assert [row.path for row in rows([], [elsewhere, inside])] == ["/etc/x.yaml", "a/x.yaml"]


def test_a_finding_without_any_place(outcome: Outcome) -> None:
    bare = outcome._replace(document=None, findings=[Finding("spec-odd", "m", "h")])
    (row,) = rows([bare])
    assert (row.path, row.line, row.column) == ("inventories/lab/cluster.yaml", 1, 1)


def test_people_see_a_hundred_findings_of_a_file_and_machines_all(outcome: Outcome) -> None:
    many = outcome._replace(
        findings=[Finding("x-y", f"{n:03d}", "h", Pointer("/name")) for n in range(130)]
    )
    text = render_findings([many], "text", colour=False)
    assert text.count("[x-y]") == 100
    assert "inventories/lab/cluster.yaml: and 30 more\n130 errors\n" in text
    assert render_findings([many], "github").splitlines()[-1] == (
        "::notice::inventories/lab/cluster.yaml: and 30 more"
    )
    assert len(json.loads(render_findings([many], "json"))["findings"]) == 130


@pytest.mark.parametrize(
    ("environment", "is_terminal", "is_stated"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, False, True),
    ],
)
def test_colour(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    is_terminal: bool,
    is_stated: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(is_terminal) is is_stated


def test_coloured_text_says_the_same(outcome: Outcome) -> None:
    coloured = render_findings([outcome], "text", colour=True)
    assert "\x1b[" in coloured
    plain: Any = re.sub("\x1b\\[[0-9;]*m", "", coloured)
    assert plain == render_findings([outcome], "text", colour=False)


def test_printable_keeps_what_can_be_read() -> None:
    assert printable("Köln, 東京 🐧") == "Köln, 東京 🐧"
    assert printable("a\u00a0b\tc") == "a\\xa0b\\tc"

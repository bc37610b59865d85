"""gpugen.yaml: which gpugen may render a repository, and how much its findings weigh."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gpugen import __version__
from gpugen.errors import ExitCode, GpugenError
from gpugen.model.finding import Finding, Severity
from gpugen.model.half import Form, HostHalf
from gpugen.report import settings
from support.commands import gpugen

KNOWN = {"a-warning": Severity.WARNING, "an-error": Severity.ERROR, "b-warning": Severity.WARNING}
HEAD = "apiVersion: gpugen/v1\nkind: Repository\n"
TODAY = date(2027, 6, 30)
ID = "repositories-missing"  # the one warning of the starter repository


def read(folder: Path, text: str) -> settings.Settings:
    """Read a gpugen.yaml on a certain day."""
    (folder / settings.FILE).write_text(HEAD + text, "utf-8")
    return settings.read(folder, KNOWN, TODAY)


def row(id: str = "a-warning", severity: str = '"off"', **more: str) -> str:
    """Return the list of findings with one entry."""
    keys = {"id": id, "severity": severity, "reason": "tried and right", **more}
    return f"findings: [{{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}]\n"


def test_warnings_are_lowered_and_raised_and_errors_stay(tmp_path: Path) -> None:
    found = [
        Finding("a-warning", "m", "h", severity=Severity.WARNING),
        Finding("a-warning", "m", "h"),
    ]
    (off, error) = read(tmp_path, row()).applied(found)
    assert off.suppressed == "tried and right"
    assert off.severity is Severity.WARNING
    assert error == found[1]
    (raised, _) = read(tmp_path, row(severity="error")).applied(found)
    assert raised.severity is Severity.ERROR
    assert read(tmp_path, row("b-warning")).applied(found) == found


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(("until", "counts"), [("2027-06-30", True), ("2027-06-29", False)])
def test_an_entry_counts_until_the_end_of_its_day(
    tmp_path: Path, until: str, counts: bool, quote: str
) -> None:
    found = read(tmp_path, row(until=f"{quote}{until}{quote}"))
    assert bool(found.entries) is counts
    assert [f.id for f in found.findings] == ([] if counts else ["settings-expired"])
    assert all(f.severity is Severity.WARNING for f in found.findings)


WRONG: dict[str, tuple[str, str]] = {
    "unknown key": ("finding: []\n", "3:1 settings-unknown-key"),
    "unknown key of an entry": (row(why="x"), "3:70 settings-unknown-key"),
    "no reason": ('findings: [{id: a-warning, severity: "off"}]\n', "3:12 settings-missing-key"),
    "empty reason": (row(reason='" "'), "3:53 settings-value"),
    "severity": (row(severity="ignore"), "3:38 settings-value"),
    "switch": (row(severity="off"), "3:38 spec-ambiguous-scalar"),
    "no day": (row(until="2027-02-30"), "3:77 settings-value"),
    "a day elsewhere": (row(reason="2027-06-30"), "3:53 spec-ambiguous-scalar"),
    "a fraction": (row(until="2027.5"), "3:77 spec-bare-float"),
    "unknown finding": (row("a-warnin"), "3:17 settings-unknown-finding"),
    "error lowered": (row("an-error"), "3:37 settings-error-lowered"),
    "error restated": (row("an-error", "error"), "3:37 settings-error-lowered"),
    "requires": ("requires: latest\n", "3:11 settings-value"),
    "list": ("findings: {}\n", "3:11 settings-value"),
    "form": ("hostHalf: {form: central}\n", "3:18 settings-value"),
    "no form": ('hostHalf: {version: "0.2.0"}\n', "3:1 settings-missing-key"),
    "no version": ("hostHalf: {form: external}\n", "3:11 settings-missing-key"),
    "version of a copy": ('hostHalf: {form: vendored, version: "0.2.0"}\n', "3:37 settings-value"),
    "address": (
        'hostHalf: {form: external, version: "https://x.example"}\n',
        "3:37 settings-value",
    ),
    "tag": ("requires: !!python/object:os.system x\n", "3:11 spec-tag"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_found_where_it_is(tmp_path: Path, case: str) -> None:
    text, want = WRONG[case]
    found = read(tmp_path, text)
    assert want in [
        f"{f.location.line}:{f.location.column} {f.id}" for f in found.findings if f.location
    ]
    assert all(f.hint for f in found.findings)
    assert not any(odd in f.message for f in found.findings for odd in ("<class", "(?", "[0-9]"))


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("", HostHalf()),
        ("hostHalf: {form: shared}\n", HostHalf(Form.SHARED)),
        ("hostHalf: {form: vendored}\n", HostHalf(Form.VENDORED)),
        ('hostHalf: {form: external, version: "0.2.0"}\n', HostHalf(Form.EXTERNAL, "0.2.0")),
        ("hostHalf: {form: [x]}\n", HostHalf()),
        ("hostHalf: 7\n", HostHalf()),
    ],
)
def test_where_the_collection_is(tmp_path: Path, text: str, half: HostHalf) -> None:
    assert read(tmp_path, text).host_half == half


def test_hostile_files_are_bounded(tmp_path: Path) -> None:
    assert len(read(tmp_path, "findings: [" + "{}, " * 5000 + "]\n").findings) <= 101
    assert read(tmp_path, "findings: " + "[" * 300_000).findings
    (tmp_path / settings.FILE).unlink()
    (tmp_path / settings.FILE).symlink_to("/etc/passwd")
    assert [f.id for f in settings.read(tmp_path, KNOWN).findings] == ["settings-link"]


def test_a_duplicate_is_found(tmp_path: Path) -> None:
    entry = '{id: a-warning, severity: "off", reason: x}'
    found = read(tmp_path, f"findings: [{entry}, {entry}]\n")
    assert [f.id for f in found.findings] == ["settings-duplicate"]


@pytest.mark.parametrize("requires", [">=0.1", "==0.1.0", ">=0.1,<0.2", "!=0.2, <1", "<= 0.1.0.0"])
def test_a_version_that_fits(tmp_path: Path, requires: str) -> None:
    assert __version__ == "0.1.0"
    assert read(tmp_path, f'requires: "{requires}"\n').findings == []


@pytest.mark.parametrize("requires", [">=0.2", ">=0.1,<0.1", "==1", ">0.1", "!=0.1"])
def test_a_version_that_does_not_fit(tmp_path: Path, requires: str) -> None:
    with pytest.raises(GpugenError, match="requires gpugen") as refused:
        read(tmp_path, f'requires: "{requires}"\nnewKey: 1\n')
    assert refused.value.exit_code is ExitCode.ENVIRONMENT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a starter repository, which has one warning."""
    assert gpugen("init", tmp_path).code == 0
    return tmp_path


def findings_of(root: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Validate, and return exit code and the findings as JSON."""
    answer = gpugen("validate", "--output", "json", *arguments, cwd=root)
    return answer.code, json.loads(answer.out)


def test_the_whole_way(root: Path) -> None:
    assert gpugen("validate", "--strict", cwd=root).code == 1
    (root / "gpugen.yaml").write_text(HEAD + row(ID))
    assert gpugen("validate", "--strict", cwd=root).code == 0
    assert gpugen("validate", cwd=root).err == "1 switched off in gpugen.yaml\n"
    code, document = findings_of(root, "--strict")
    assert (code, document["warnings"]) == (0, 0)
    assert [f["suppressed"] for f in document["findings"]] == ["tried and right"]
    log = json.loads(gpugen("validate", "-o", "sarif", cwd=root).out)
    (result,) = log["runs"][0]["results"]
    assert result["suppressions"][0]["justification"] == "tried and right"
    assert gpugen("validate", "-o", "github", cwd=root).err == ""

    (root / "gpugen.yaml").write_text(HEAD + row(ID, "error"))
    answer = gpugen("render", cwd=root)
    assert answer.code == 1
    assert not (root / "out").exists()

    (root / "gpugen.yaml").write_text(HEAD + row(ID, until='"2001-01-01"'))
    _, document = findings_of(root)
    assert {f["id"] for f in document["findings"]} == {ID, "settings-expired"}
    assert gpugen("render", cwd=root).code == 0
    assert gpugen("render", "--check", "--strict", cwd=root).code == 1

    (root / "gpugen.yaml").write_text(HEAD + row("mig-does-not-fit"))
    assert findings_of(root)[0] == 1

    (root / "gpugen.yaml").write_text(HEAD + 'requires: ">=9"\n')
    for command in ("validate", "render"):
        answer = gpugen(command, cwd=root)
        assert answer.code == 4
        assert "requires gpugen >=9" in answer.err


def test_explain_and_schema_know_the_file() -> None:
    answer = gpugen("explain", "gpugen.yaml")
    assert answer.code == 0
    assert "requires" in answer.out
    assert "settings-expired (warning)" in gpugen("explain", "settings-expired").out
    assert json.loads(gpugen("schema", "--of", "repository").out)["title"].startswith("gpugen.yaml")

"""What render says to programs: exit code 3 is never silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from support.commands import ROOT, gpugen

SPEC = "inventories/lab/cluster.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a starter repository that is rendered."""
    assert gpugen("init", tmp_path).code == 0
    assert gpugen("render", "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def document(text: str) -> dict:
    """Return a JSON document that is as its schema says."""
    found = json.loads(text)
    jsonschema.validate(found, json.loads((ROOT / "schemas/findings.schema.json").read_text()))
    return found


def spoil(root: Path) -> set[tuple[str, str]]:
    """Make a difference of many kinds; return paths and kinds."""
    out = root / "out/lab"
    (out / "ansible/site.yml").write_text("mine\n")
    (out / "ansible/verify.yml").unlink()
    (out / "ansible/remove.yml").chmod(0o755)
    (out / "ansible/README.md").unlink()
    (out / "ansible/README.md").symlink_to("site.yml")
    (out / "mine").write_text("mine\n")
    (root / "out/a,b:c%d").write_text("mine\n")
    return {
        ("out/lab/ansible/site.yml", "edited"),
        ("out/lab/ansible/verify.yml", "missing"),
        ("out/lab/ansible/remove.yml", "mode"),
        ("out/lab/ansible/README.md", "replaced-by-link"),
        ("out/lab/mine", "foreign"),
        ("out/a,b:c%d", "foreign"),
    }


def test_json_of_a_difference(root: Path) -> None:
    expected = spoil(root)
    answer = gpugen("render", "--check", "-o", "json", cwd=root)
    assert (answer.code, answer.err) == (3, "")
    found = document(answer.out)
    assert {(c["path"], c["kind"]) for c in found["changes"]} == expected
    assert found["errors"] == len(expected)
    told = [f["path"] for f in found["findings"] if f["id"].startswith("output-")]
    assert sorted(told) == sorted(path for path, _ in expected)


def test_sarif_of_a_difference(root: Path) -> None:
    expected = spoil(root)
    answer = gpugen("render", "--check", "-o", "sarif", cwd=root)
    assert answer.code == 3
    (run,) = json.loads(answer.out)["runs"]
    told = [r["ruleId"] for r in run["results"] if r["ruleId"].startswith("output-")]
    assert len(told) == len(expected)
    assert set(told) == {"output-differs", "output-foreign"}


def test_annotations_of_a_difference(root: Path) -> None:
    expected = spoil(root)
    answer = gpugen("render", "--check", "-o", "github", cwd=root)
    assert answer.code == 3
    lines = [line for line in answer.err.splitlines() if line.startswith("::error file=")]
    assert len(lines) == len(expected)
    assert any(line.startswith("::error file=out/a%2Cb%3Ac%25d,line=1,col=1,") for line in lines)


QUIET = """\
apiVersion: gpugen/v1
kind: Repository
findings: [{id: repositories-missing, severity: "off", reason: the starter has none}]
"""


def without_spec(root: Path) -> None:
    (root / SPEC).unlink()
    (root / SPEC).parent.rmdir()


def foreign(root: Path) -> None:
    (root / "out/lab/mine.yaml").write_text("a: b\n")


@pytest.mark.parametrize(
    ("spoiled", "id"), [(without_spec, "output-without-spec"), (foreign, "output-foreign")]
)
@pytest.mark.parametrize("form", ["text", "github"])
def test_strict_counts_what_a_diff_warns_of(
    root: Path, form: str, spoiled: Callable[[Path], None], id: str
) -> None:
    (root / "gpugen.yaml").write_text(QUIET)
    assert gpugen("render", "--diff", "--strict", "-o", form, cwd=root).code == 0
    spoiled(root)
    loose = gpugen("render", "--diff", "-o", form, cwd=root)
    assert (loose.code, id in loose.out + loose.err) == (0, True)
    strict = gpugen("render", "--diff", "--strict", "-o", form, cwd=root)
    assert (strict.code, id in strict.out + strict.err) == (1, True)


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_a_cluster_without_a_spec_is_an_error_of_the_check(root: Path, form: str) -> None:
    (root / SPEC).unlink()
    (root / SPEC).parent.rmdir()
    answer = gpugen("render", "--check", "-o", form, cwd=root)
    assert answer.code == 3
    assert "output-without-spec" in answer.out + answer.err
    if form == "json":
        found = document(answer.out)
        assert (found["errors"], found["changes"][0]["kind"]) == (1, "without-spec")


def test_json_of_a_render_lists_what_it_did(root: Path) -> None:
    assert document(gpugen("render", "-o", "json", cwd=root).out)["changes"] == []
    path = root / SPEC
    path.write_text(path.read_text().replace("count: 1", "count: 2"))
    found = document(gpugen("render", "--quiet", "-o", "json", cwd=root).out)
    assert {c["kind"] for c in found["changes"]} == {"changed"}
    assert "out/lab/ansible/inventory/group_vars/pool_l4.yml" in {
        c["path"] for c in found["changes"]
    }
    assert "changes" not in document(gpugen("validate", "-o", "json", cwd=root).out)


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_without_a_difference_nothing_is_said(root: Path, form: str) -> None:
    answer = gpugen("render", "--check", "-o", form, cwd=root)
    assert answer.code == 0
    assert "output-" not in answer.out + answer.err
    assert "differs" not in answer.err
    if form == "json":
        assert document(answer.out)["changes"] == []

"""A repository's own rows: what they add, what they replace, what is refused and where."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpugen.catalog import Catalog, UnknownRow, reading, shape
from gpugen.catalog.messages import FAULTS
from gpugen.gpu import mig
from gpugen.model.finding import Finding
from support import ROOT

MODEL = """
    product: Our GPU
    architecture: hopper
    computeCapability: "9.0"
    hostArchitectures: [amd64]
    kernelModules: both
    source: [measured on gpu-01]
"""
PROFILE = "{compute: 1, memorySlices: 1, size: 1, starts: [0, 1], maxCount: 2}"
GEOMETRY = f"""
    computeSlices: 2
    memorySlices: 2
    placementUnits: 2
    profiles: {{"1g.24gb": {PROFILE}}}
    source: [measured on gpu-01]
"""
NAMED_WRONG = """
    computeSlices: 2
    memorySlices: 2
    placementUnits: 2
    nvmlTotalMib: 32768
    profiles: {"1g.24gb":
      {memoryMib: 16128, compute: 1, memorySlices: 1, size: 1, starts: [0, 1], maxCount: 2}}
    source: [measured on gpu-01]
"""
DOCS = ROOT / "docs" / "specs" / "catalog.md"


def catalog(folder: Path, **files: str) -> Catalog:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return Catalog(folder)


def places(findings: list[Finding]) -> list[tuple[str, int, int]]:
    located = [(f.id, f.location) for f in findings]
    return [(name, at.line, at.column) for name, at in located if at is not None]


def test_a_repository_without_a_catalogue_has_ours(tmp_path: Path) -> None:
    own = Catalog(tmp_path / "catalog")
    assert own.findings() == []
    assert own.gpu("t4") == Catalog().gpu("t4")


def test_a_row_is_added(tmp_path: Path) -> None:
    own = catalog(
        tmp_path,
        ours_yaml=f"gpus:\n  ours:{MODEL}    mig: {{isCapable: true, geometry: ours}}\n",
        mig_yaml=f"migGeometries:\n  ours:{GEOMETRY}",
    )
    assert own.findings() == []
    assert "ours" in own.gpu_ids()
    geometry = own.gpu("ours").geometry
    assert geometry is not None
    assert list(mig.layouts(geometry)) == [{"1g.24gb": 1}, {"1g.24gb": 2}]
    assert own.gpu("ours").nvml_names == ()


def test_a_row_that_says_so_takes_the_place_of_ours(tmp_path: Path) -> None:
    own = catalog(tmp_path, ours_yaml=f"gpus:\n  t4:\n    override: true{MODEL}")
    assert own.findings() == []
    assert own.gpu("t4").product == "Our GPU"
    assert own.gpu("a10") == Catalog().gpu("a10")


def test_a_geometry_of_the_user_reaches_our_models(tmp_path: Path) -> None:
    own = catalog(tmp_path, ours_yaml=f"migGeometries:\n  a30:\n    override: true{GEOMETRY}")
    assert own.findings() == []
    geometry = own.gpu("a30").geometry
    assert geometry is not None
    assert list(geometry.profiles) == ["1g.24gb"]


def test_near_ids_include_the_users(tmp_path: Path) -> None:
    own = catalog(tmp_path, ours_yaml=f"gpus:\n  our-model:{MODEL}")
    with pytest.raises(UnknownRow) as unknown:
        own.gpu("our-bord")
    assert unknown.value.close == ("our-model",)


WRONG = {
    "gpus:\n  ours: {productt: A}\n": [
        ("catalog-missing-key", 2, 3),
        ("catalog-missing-source", 2, 3),
        ("catalog-unknown-key", 2, 10),
    ],
    f"gpus:\n  t4:{MODEL}": [("catalog-missing-override", 2, 3)],
    f"gpus:\n  t5:\n    override: true{MODEL}": [("catalog-needless-override", 3, 5)],
    f"gpus:\n  ours:{MODEL}    pciDevices: [20b0]\n": [("catalog-value", 9, 18)],
    f"gpus:\n  ours:{MODEL}    driver: {{minBranch: true}}\n": [("catalog-value", 9, 25)],
    f"gpus:\n  ours:{MODEL}    driver: {{minVersion: 580}}\n": [("catalog-value", 9, 26)],
    f"gpus:\n  Ours:{MODEL}": [("catalog-value", 2, 3)],
    f"gpu:\n  ours:{MODEL}": [("catalog-unknown-key", 1, 1)],
    "gpus: [a]\n": [("catalog-value", 1, 7)],
    f"gpus:\n  ours:{MODEL}    mig: {{geometry: a101-40gb}}\n": [
        ("catalog-unknown-geometry", 9, 21)
    ],
    f"migGeometries:\n  ours:{GEOMETRY.replace('[0, 1]', '[0, 2]')}": [("catalog-geometry", 6, 78)],
    f"migGeometries:\n  ours:{GEOMETRY.replace('1g.', '2g.')}": [("catalog-geometry", 6, 37)],
    f"migGeometries:\n  ours:{NAMED_WRONG}": [("catalog-geometry", 8, 19)],
    f"gpus:\n  ours:{MODEL}    driver: {{minBranch: 580, lastBranch: 570}}\n": [
        ("catalog-range", 9, 25)
    ],
    f'gpus:\n  ours:{MODEL}    driver: {{minVersion: "580.65.06", lastBranch: 570}}\n': [
        ("catalog-range", 9, 26)
    ],
    "gpus:\n  ours: yes\n": [("spec-ambiguous-scalar", 2, 9)],
    "gpus:\n  a: {}\n  a: {}\n": [("spec-duplicate-key", 3, 3)],
    "": [("spec-empty", 1, 1)],
}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('minors: [{from: "1.33"', 'minors: [{from: "1.37"', [("catalog-range", 7, 21)]),
        ('minors: {from: "1.33"', 'minors: {from: "2"', [("catalog-range", 24, 26)]),
        ('containerd: {from: "2.0"', 'containerd: {from: "2.4"', [("catalog-range", 25, 30)]),
        ('minors: [{from: "1.33"', 'minors: [{from: "1.36.9"', []),  # to: with all that begin so
        ('minors: [{from: "1.33", to: "1.36"}]', 'minors: [{from: "1.36"}]', []),
    ],
)
def test_a_range_that_contains_nothing_is_refused(
    tmp_path: Path, old: str, new: str, expected: list[tuple[str, int, int]]
) -> None:
    ours = reading.text("distributions", "k3s")
    assert old in ours
    row = textwrap.indent(ours.replace(old, new, 1), "    ")
    own = catalog(tmp_path, a_yaml=f"distributions:\n  k3s:\n    override: true\n{row}")
    assert places(own.findings()) == expected


@pytest.mark.parametrize(("text", "expected"), WRONG.items())
def test_what_is_wrong_is_found_at_its_place(
    tmp_path: Path, text: str, expected: list[tuple[str, int, int]]
) -> None:
    own = catalog(tmp_path, ours_yaml=text)
    found = places(own.findings())
    assert sorted(set(found)) == expected
    assert "ours" not in own.gpu_ids()
    assert own.gpu("t4") == Catalog().gpu("t4")


def test_a_finding_has_a_hint_that_helps(tmp_path: Path) -> None:
    text = f"gpus:\n  ours:{MODEL}    driver: {{minVersion: 580, minbranch: 580}}\n"
    hints = {f.message: f.hint for f in catalog(tmp_path, ours_yaml=text).findings()}
    assert hints == {
        '580 is not a version such as "580.65.06"': 'quote it: "580"',
        "the key 'minbranch' has no meaning here": "did you mean 'minBranch'?",
    }


def test_a_row_with_a_fault_does_not_take_its_neighbours_along(tmp_path: Path) -> None:
    own = catalog(tmp_path, a_yaml=f"gpus:\n  bad: {{}}\n  good:{MODEL}")
    assert own.gpu("good").product == "Our GPU"
    assert {f.at.parts[1] for f in own.findings()} == {"bad"}


def test_a_model_is_not_blamed_for_the_faults_of_its_geometry(tmp_path: Path) -> None:
    text = f"gpus:\n  ours:{MODEL}    mig: {{geometry: g}}\nmigGeometries:\n  g: {{}}\n"
    assert {f.at.parts[0] for f in catalog(tmp_path, a_yaml=text).findings()} == {"migGeometries"}


def test_two_files_must_not_describe_one_row(tmp_path: Path) -> None:
    row = f"gpus:\n  ours:{MODEL}"
    found = catalog(tmp_path, a_yaml=row, b_yaml=row).findings()
    assert places(found) == [("catalog-duplicate-row", 2, 3)]
    assert "a.yaml" in found[0].message


def test_files_that_are_not_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("gpus: {}\n", encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "README.md").write_text("ours\n", encoding="utf-8")
    found = catalog(tmp_path, a_yml="gpus: {}\n").findings()
    assert [f.id for f in found] == ["catalog-file-name", "catalog-link"]


def test_a_folder_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    catalog(tmp_path, a_yaml="secret: line\n")
    (tmp_path / "catalog").symlink_to(tmp_path)
    (found,) = Catalog(tmp_path / "catalog").findings()
    assert found.id == "catalog-link"


def test_of_a_file_with_many_faults_a_hundred_are_listed_and_no_row_is_used(tmp_path: Path) -> None:
    model = textwrap.indent(textwrap.dedent(MODEL), "    ")
    rows = "".join(f"  b{n}: {{}}\n" for n in range(300))
    own = catalog(tmp_path, a_yaml=f"gpus:\n  sound:{model}{rows}")
    assert len(own.findings()) == 101
    assert own.findings()[-1].id == "catalog-more"
    with pytest.raises(UnknownRow):
        own.gpu("sound")


def test_files_are_too_large_together(tmp_path: Path) -> None:
    comment = "# " + "x" * (9 << 20) + "\n"
    found = catalog(tmp_path, **{f"{n}_yaml": f"gpus: {{}}\n{comment}" for n in "abc"}).findings()
    assert [f.id for f in found] == ["catalog-size"]
    assert "b.yaml" in found[0].message


def test_a_geometry_is_no_larger_than_a_gpu(tmp_path: Path) -> None:
    rows = GEOMETRY.replace("placementUnits: 2", "placementUnits: 17")
    (found,) = catalog(tmp_path, a_yaml=f"migGeometries:\n  ours:{rows}").findings()
    assert (found.id, "16" in found.message) == ("catalog-geometry", True)


def test_every_fault_has_a_case() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in FAULTS if f'"{name}"' not in text] == []


def test_the_example_of_the_documentation_is_right(tmp_path: Path) -> None:
    blocks = DOCS.read_text(encoding="utf-8").split("```yaml\n")[1:]
    example = next(b for b in blocks if b.startswith("# catalog/")).partition("```")[0]
    own = catalog(tmp_path, ours_yaml=textwrap.dedent(example))
    assert own.findings() == []
    known, new = own.gpu("h20-3e").geometry, own.gpu("example-32gb").geometry
    assert known == Catalog().geometry("h200-141gb")
    assert new is not None
    assert list(mig.layouts(new)) == [{"1g.16gb": 1}, {"1g.16gb": 2}, {"2g.32gb": 1}]
    assert all(
        mig.memory_gb(32768 * p.memory_slices // 2, 32768) == mig.parse_profile(name).gb
        for name, p in new.profiles.items()
    )


def test_the_documentation_lists_every_finding() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert [name for name in FAULTS if f"`{name}`" not in text] == []


def closed_forms(rule: dict[str, Any], at: str) -> Iterator[tuple[str, bool]]:
    """Yield every string of a rule, names of keys too, and whether its form is closed."""
    if "$ref" in rule:
        rule = {**shape.schema()["$defs"][rule["$ref"].rpartition("/")[2]], **rule}
    if rule.get("type") == "string":
        yield at, "pattern" in rule
    keys = rule.get("propertyNames")
    if isinstance(rule.get("additionalProperties"), dict):
        yield f"{at}/<key>", keys is not None and ("pattern" in keys or "$ref" in keys)
    for name, inner in rule.get("properties", {}).items():
        yield from closed_forms(inner, f"{at}/{name}")
    for word in ("additionalProperties", "items"):
        if isinstance(rule.get(word), dict):
            yield from closed_forms(rule[word], f"{at}/*")


def test_every_text_of_a_row_has_a_closed_form() -> None:
    found = dict(closed_forms(shape.schema(), ""))
    assert len(found) > 60
    assert [at for at, is_closed in found.items() if not is_closed] == []


HOSTILE = {
    "kubectl": ["sh -c id", "sh kubectl", "kubectl; id", "/tmp/kubectl", "/opt/../tmp/kubectl"],
    "kubeconfig": ["/tmp/own.conf", "/var/tmp/x", "/etc/../tmp/x", "/etc/x y", "exec"],
    "kubeletRoot": ["/", "/var/lib/kubelet/..", "/root/x", "/home/x"],
    "registration": ["<script>x</script>", "a\n# b", "a\n", "a`b", "[a](javascript:b)", "a | b"],
    "reason": ["# heading\n", "\x1b[31m", "a\u202eb", "a\u200bb", "$(id)", "${x}"],
    "runtime/client": [["sh", "-c", "id"], ["/tmp/ctr"], ["ctr", "run"], ["bash"]],
    "runtime/units": [["--now"], ["a b"], ["../x"]],
    "runtime/handlers": [{"a b": "runc"}, {"nvidia": "/bin/sh -c id"}],
    "scheduler/main/inProcess": ["bash", "sh"],
    "scheduler/main/interrupts": ["a\nb", "<b>"],
    "scheduler/main/lines": ["a\nb", "`id`"],
    "scheduler/kubeconfig": ["/tmp/x", "omit"],
}


@pytest.mark.parametrize("at", HOSTILE)
def test_a_row_names_no_program_or_place_of_its_own(at: str) -> None:
    """Commands run as root on the control plane, paths are written there, prose is shown."""
    native: Any = pytest.importorskip("jsonschema_rs").validator_for(shape.schema())
    ours = reading.shipped("distributions", "k3s")
    assert native.is_valid({"distributions": {"k3s": ours}})
    *way, last = at.split("/")
    for value in HOSTILE[at]:
        row: Any = copy.deepcopy(ours)
        inner = row
        for step in way:
            inner = inner[step]
        inner[last] = value
        data = {"distributions": {"k3s": {**row, "override": True}}}
        assert not native.is_valid(data), value
        assert shape._explained(data, shape.schema()), value

"""What the catalogue is too old to know is newer, no slip; what nobody renders comes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen import __version__, pipeline
from gpugen.catalog import Catalog
from gpugen.model.finding import Finding
from gpugen.resolve import resolve
from gpugen.text.versions import newest_before
from gpugen.validate import validate
from gpugen.workspace import Workspace
from support.specs import changed


def found_at(pointer: str, value: str) -> list[Finding]:
    data = changed({pointer: value})
    return validate(data) or resolve(data, Catalog(), "x")[1]


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/apiVersion", "gpugen/v2"),
        ("/apiVersion", "gpugen/v10"),
        ("/release", "2099.02"),
        ("/kubernetes/version", "1.99"),
        ("/hostDefaults/driver/version", "900.10.01"),
        ("/hostDefaults/os", "ubuntu-28.04"),
        ("/hostDefaults/os", "debian-99"),
        ("/hostDefaults/os", "rhel-99"),
    ],
)
def test_newer_than_known(pointer: str, value: str) -> None:
    (found,) = found_at(pointer, value)
    assert f"newer than any that gpugen {__version__} knows" in found.message
    assert "upgrade gpugen" in found.hint
    assert "did you mean" not in found.hint


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/kubernetes/version", "1.2"),
        ("/hostDefaults/os", "ubuntu-24.05"),
        ("/hostDefaults/driver/version", "81.1.1"),
        ("/hostDefaults/os", "ubunto-28.04"),
        ("/pools/0/gpu/model", "t5"),
    ],
)
def test_a_slip_is_not_newer(pointer: str, value: str) -> None:
    (found,) = found_at(pointer, value)
    assert "newer" not in found.message


@pytest.mark.parametrize(
    ("name", "newest"),
    [("a-3", "a-2.9"), ("a-2.10", "a-2.9"), ("a-2.9", ""), ("b-3", ""), ("a", ""), ("9", "8")],
)
def test_names_of_one_kind(name: str, newest: str) -> None:
    assert newest_before(name, ["a-1", "a-2.9", "8", "a"]) == newest


@pytest.mark.parametrize("name", ["gke", "eks", "openshift", "talos"])
def test_a_distribution_that_is_not_rendered_comes_first_and_alone(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "inventories/a/cluster.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'kubernetes: {{version: "1.36", distribution: {name}}}\nname: a\nodd: 1\n', "utf-8"
    )
    (found,) = pipeline.run(path, Workspace(tmp_path)).findings
    assert found.id == "distribution-not-supported"


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("H100 80GB HBM3", "h100-sxm5-80gb"),
        ("nvidia-tesla-t4", "t4"),
        ("Tesla T4", "t4"),
        ("nvidia-h100-80gb", "h100-"),
        ("nvidia-l4", "l4"),
    ],
)
def test_names_that_drivers_and_clouds_give(model: str, meant: str) -> None:
    (found,) = found_at("/pools/0/gpu/model", model)
    assert f"did you mean {meant}" in found.hint or f" {meant}" in found.hint

"""Findings, fields and values are explained; wrong names get near ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from gpugen.cli.fields import fields
from gpugen.report.explanations import findings
from support.commands import ROOT, gpugen


def test_a_check_is_explained() -> None:
    answer = gpugen("explain", "sharing-mps-with-mixed-mig")
    assert answer.code == 0
    assert answer.out.startswith("sharing-mps-with-mixed-mig (error)\n\nThe device plugin refuses")
    assert "GG-03" not in answer.out


@pytest.mark.parametrize("name", findings())
def test_every_finding_is_explained(name: str) -> None:
    answer = gpugen("explain", name)
    assert answer.code == 0
    assert re.match(rf"{name} \((error|warning)\)\n\n\S", answer.out)


@pytest.mark.parametrize("path", fields())
def test_every_field_is_explained(path: str) -> None:
    answer = gpugen("explain", path)
    assert answer.code == 0
    title, blank, description, *_ = answer.out.splitlines()
    assert (title, blank) == (path, "")
    assert description.endswith("."), "a field has a sentence"
    assert re.search(r"^  takes +\S", answer.out, re.MULTILINE), "a field says what it takes"


def test_a_field_shows_default_example_and_what_is_below() -> None:
    assert (
        '  default   "envvar"\n  example   "envvar"' in gpugen("explain", "deviceListStrategy").out
    )
    answer = gpugen("explain", "pools[].sharing")
    assert "  required  mode, resources\n" in answer.out
    assert re.search(r"\n  fields\n    mode +How devices are shared\.\n", answer.out)
    assert "\n  fields of each entry\n" in gpugen("explain", "pools.taints").out


def test_options_of_components_are_fields() -> None:
    answer = gpugen("explain", "components.dcgm-exporter.interval")
    assert '  default   "15s"' in answer.out


def test_a_value_names_its_line() -> None:
    answer = gpugen("explain", "lab", "pools.notebooks.sharing")
    assert answer.code == 0
    assert answer.out.splitlines()[:2] == ["pools.notebooks.sharing:", "  mode: time-slicing"]
    text = (ROOT / "inventories/lab/cluster.yaml").read_text("utf-8").splitlines()
    place = re.search(r"^# mode \.+ inventories/lab/cluster\.yaml:(\d+):(\d+)$", answer.out, re.M)
    assert place
    line, column = map(int, place.groups())
    assert text[line - 1][column - 1 :].startswith("time-slicing")


def test_a_value_names_what_it_overrode() -> None:
    answer = gpugen("explain", "berlin-b", "hostDefaults")
    assert re.search(r"^# os \.+ inventories/_layers/berlin\.yaml:\d+:\d+$", answer.out, re.M)
    assert re.search(
        r"^# driver\.version \.+ inventories/berlin-b/cluster\.yaml:\d+:\d+\n"
        r'#   overrides "580\.178\.04" \.+ inventories/_layers/berlin\.yaml:\d+:\d+$',
        answer.out,
        re.M,
    )


def test_a_cluster_alone_shows_all_that_it_states() -> None:
    answer = gpugen("explain", "berlin-b")
    assert answer.code == 0, answer.err
    values, _, places = answer.out.partition("\n# ")
    assert yaml.safe_load(values)["name"] == "berlin-b"
    assert re.search(r"^# hostDefaults\.os \.+ inventories/_layers/berlin\.yaml:", answer.out, re.M)
    columns = {line.index(" inventories/") for line in places.splitlines()[1:]}
    assert len(columns) == 1, "places stand below one another"


@pytest.mark.parametrize(
    ("cluster", "path", "said"),
    [
        ("lab", "drain.timeout", 'drain.timeout: "10m"\n# default; not stated by lab\n'),
        ("lab", "pools.notebooks.labels", "pools.notebooks.labels: {}\n# default"),
        ("lab", "components.grafana.label", 'label: {"grafana_dashboard": "1"}\n# default'),
        ("lab", "access.clusterUID", "# not stated by lab; access.clusterUID"),
        ("lab", "pools.inference.labels.lab.example/tier", ": batch\n# pools.inference.labels"),
        ("lab", "pools.0.mig.layout.1.profiles.3g.20gb", "3g.20gb: 1\n# pools.0"),
        ("fleet-edge", "pools.site-south.hosts.south-05.edge.example.address", '"10.40.5.15"'),
        ("lab", "/pools/0/mig/layout/1/profiles", '  "3g.20gb": 1\n'),
        ("lab", "/pools/1/labels/lab.example~1tier", ": batch\n# /pools/1/labels"),
        ("lab", "pools[0].gpu", "  model: a100-sxm4-40gb\n"),
    ],
)
def test_paths_reach_everything(cluster: str, path: str, said: str) -> None:
    answer = gpugen("explain", cluster, path)
    assert answer.code == 0, answer.err
    assert said in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mig-doesnt-fit",), "did you mean mig-does-not-fit"),
        (("pools.mgi",), "did you mean pools.mig"),
        (("qqqqqqqq",), "for example: gpugen explain pools.gpu"),
        (("lab", "pools.notbooks"), "did you mean 'notebooks'?"),
        (("lab", "pools.zzz"), "pools has notebooks, inference"),
        (("lab", "pools.notebooks.gpu.mdel"), "did you mean 'model'?"),
        (("lab", "pools.notebooks.mig.layout.7"), "pools.0.mig.layout has 2 items"),
        (("lab", "name.x"), "name is a value"),
        (("labb", "name"), "did you mean 'lab'?"),
        (("labb",), "did you mean lab"),
        (("driver.inUse",), "did you mean hostDefaults.driver.inUse or pools.host.driver.inUse?"),
    ],
    ids=" ".join,
)
def test_wrong_names_get_near_ones(arguments: tuple[str, ...], said: str) -> None:
    answer = gpugen("explain", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert said in answer.err


def test_a_spec_that_cannot_be_read_shows_its_faults(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text("a: [\n", "utf-8")
    answer = gpugen("explain", spec, "a", cwd=tmp_path)
    assert answer.code == 2
    assert "cluster.yaml:" in answer.err
    assert "cannot be read" in answer.err

"""The recipes of CONTRIBUTING.md work as they stand there, each in a copy of the package."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from support.documents import ROOT, section
from support.recipes import PAGE, Copy, followed

QUOTA = "generator/gpugen/components/devices/gpu_quota"
STACKS = "generator/gpugen/components/stacks.py"


@pytest.fixture(scope="module")
def component(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return followed("Add a component", tmp_path_factory.mktemp("component"))


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return followed("Add a field to the spec", tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def role(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return followed("Add a role", tmp_path_factory.mktemp("role"))


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return followed("Add a distribution", tmp_path_factory.mktemp("distribution"))


@pytest.mark.parametrize("recipe", ["component", "field", "role"])
def test_its_code_keeps_the_rules_of_the_house(recipe: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(recipe).keeps_the_rules()


def case() -> dict[str, Any]:
    """Return the case of the check that the component has."""
    text = section(PAGE, "Add a component").partition("quota-unknown-resource.yaml`:")[2]
    loaded: dict[str, Any] = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    return loaded


def test_a_component_touches_one_folder_and_the_table(component: Copy) -> None:
    assert {path.rpartition("/")[0] for path in component.new} == {QUOTA}
    assert sorted({*component.touched} - {*component.new}) == [STACKS]
    assert "gpu-quota" not in (component.root / "schemas/cluster.schema.json").read_text("utf-8")


def test_a_component_is_found_and_explained(component: Copy) -> None:
    answer = component.gpugen("explain", "components.gpu-quota.namespaces")
    assert answer.returncode == 0, answer.stderr
    assert "Units by namespace and resource" in answer.stdout
    assert component.gpugen("explain", "quota-unknown-resource").returncode == 0
    schema = json.loads(component.gpugen("schema").stdout)
    assert "gpu-quota" in schema["properties"]["components"]["properties"]


def test_a_component_renders_in_its_wave(component: Copy) -> None:
    component.put(case()["good"])
    listed = component.rendered("kustomize/10-devices/cluster/kustomization.yaml")["resources"]
    (file,) = (name for name in listed if "gpu-quota" in name)
    quota = component.rendered(f"kustomize/10-devices/cluster/{file}")
    assert quota["metadata"]["namespace"] == "team-a"
    assert quota["spec"] == {"hard": {"requests.nvidia.com/gpu": "8"}}


def test_a_component_is_off_unless_named(component: Copy) -> None:
    component.put({})
    assert component.gpugen("render", "--out", "plain").returncode == 0
    assert not list(component.root.glob("plain/**/*gpu-quota*"))


def test_a_components_schema_and_check_find_mistakes(component: Copy) -> None:
    component.put(case()["bad"])
    (found,) = json.loads(component.gpugen("validate", "-o", "json").stdout)["findings"]
    assert (found["id"], found["pointer"]) == ("quota-unknown-resource", case()["at"])
    component.put({"/components": {"gpu-quota": {"namespace": "team-a"}}})
    answer = component.gpugen("validate")
    assert answer.returncode == 1
    assert "schema-unknown-key" in answer.stderr
    assert "did you mean 'namespaces'?" in answer.stderr


def test_a_field_reaches_the_hosts(field: Copy) -> None:
    field.put({"/drain": {"gracePeriodSeconds": 30}})
    assert (
        field.rendered("ansible/inventory/group_vars/all.yml")["gpu_node_drain_grace_period"] == 30
    )
    program = field.root / "plugins/plugin_utils/gpu_node/asking.py"
    assert "--grace-period" in program.read_text("utf-8")
    field.put({})
    assert (
        field.rendered("ansible/inventory/group_vars/all.yml")["gpu_node_drain_grace_period"] == -1
    )


def test_a_field_is_checked_and_explained_by_its_schema(field: Copy) -> None:
    field.put({"/drain": {"gracePeriodSeconds": -2}})
    (found,) = json.loads(field.gpugen("validate", "-o", "json").stdout)["findings"]
    assert found["pointer"] == "/drain/gracePeriodSeconds"
    answer = field.gpugen("explain", "drain.gracePeriodSeconds")
    assert "How long a pod may take to end" in answer.stdout
    assert "gracePeriodSeconds" in field.gpugen("schema").stdout


def test_a_field_has_an_effect(field: Copy) -> None:
    """By this repository's test, of the copy's package."""
    file = ROOT / "tests" / "properties" / "test_every_key.py"
    answer = field.run("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", file, "-k", "gracePer")
    assert answer.returncode == 0, answer.stdout
    assert "1 passed" in answer.stdout


def test_a_role_is_run_where_its_row_says(role: Copy) -> None:
    role.put({"/components": {"motd": {}}})
    assert "gpu_motd" in role.rendered("ansible/inventory/group_vars/all.yml")["gpugen_roles"]
    plays = yaml.safe_load((role.root / "playbooks/site.yml").read_text("utf-8"))
    tasks = [task["name"] for play in plays for task in play["tasks"]]
    own = tasks.index("Run gpu_motd")
    assert tasks.index("Run nvidia_container_toolkit") < own < tasks.index("Run gpu_node")
    variables = role.rendered("ansible/inventory/group_vars/pool_a100.yml")
    assert variables["gpu_motd_text"] == "GPUs: 4 x a100-sxm4-40gb"
    assert "| `gpu_motd` | Tell who logs in which GPUs a host has |" in (
        role.root / "out/minimal/ansible/README.md"
    ).read_text("utf-8")


def test_ansible_takes_the_role(role: Copy) -> None:
    role.put({"/components": {"motd": {}}})
    assert role.gpugen("render").returncode == 0
    folder = role.root / "out/minimal/ansible"
    answer = role.run(
        "ansible", "playbook", "--syntax-check", "-i", folder / "inventory", folder / "site.yml"
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_without_its_component_a_role_is_left_out(role: Copy) -> None:
    role.put({})
    assert role.gpugen("render").returncode == 0
    variables = role.rendered("ansible/inventory/group_vars/all.yml")
    assert "gpu_motd" not in variables["gpugen_roles"]


def test_a_distribution_is_one_file(distribution: Copy) -> None:
    assert distribution.touched == ["generator/gpugen/catalog/data/distributions/lab-kube.yaml"]
    listed = distribution.gpugen("catalog", "distributions").stdout
    assert "lab-kube" in listed


def test_a_distribution_is_rendered_for(distribution: Copy) -> None:
    distribution.put({"/kubernetes/distribution": "lab-kube"})
    variables = distribution.rendered("ansible/inventory/group_vars/all.yml")
    assert variables["gpu_node_kubelet_root"] == "/srv/kubelet"
    plugin = distribution.rendered("kustomize/10-devices/a100/daemonset-device-plugin.yaml")
    volumes = plugin["spec"]["template"]["spec"]["volumes"]
    paths = [volume.get("hostPath", {}).get("path", "") for volume in volumes]
    assert "/srv/kubelet/device-plugins" in paths

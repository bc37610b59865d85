"""The Ansible half as data: inventory, variables, plays, copies of roles."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from configparser import ConfigParser
from itertools import pairwise
from typing import Any

import pytest

from gpugen import assets
from gpugen.assemble import assemble
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from gpugen.render.inventory import MOST_AS_YAML
from support import ansible_yaml
from support.ansible_yaml import Data
from support.specs import MIG_POOL, resolved

VARIABLES = "ansible/inventory/group_vars"


def rendered(changes: dict[str, Any] | None = None) -> Tree:
    spec = resolved(changes)
    tree = Tree()
    render_hosts(spec, assemble(spec), tree)
    return tree


def loaded(tree: Tree, path: str) -> Any:
    if path.endswith(".json"):
        return json.loads(tree[path], object_hook=_json_data)
    return ansible_yaml.marked(tree[path])


def _json_data(own: dict[str, Any]) -> Any:
    return Data(own["__ansible_unsafe"]) if "__ansible_unsafe" in own else own


def variables(changes: dict[str, Any] | None = None, group: str = "pool_a100") -> dict[str, Any]:
    found: dict[str, Any] = loaded(rendered(changes), f"{VARIABLES}/{group}.yml")
    return found


def roles_of(tree: Tree) -> list[str]:
    return sorted({path.split("/")[2] for path in tree.below("ansible/roles")})


def test_a_range_stays_a_range_and_a_host_line_carries_only_its_own() -> None:
    hosts = [
        "gpu-[01:99].lab.example",
        {"name": "x.lab.example", "address": "10.0.0.7", "nodeName": "worker-7"},
        {"name": "y.lab.example", "description": "on loan", "variables": {"ansible_port": 2222}},
    ]
    inventory = loaded(rendered({"/pools/0/hosts": hosts}), "ansible/inventory/hosts.yml")
    assert inventory["all"]["children"]["gpu"]["children"]["pool_a100"]["hosts"] == {
        "gpu-[01:99].lab.example": {},
        "x.lab.example": {"ansible_host": "10.0.0.7", "gpu_node_name": "worker-7"},
        "y.lab.example": {"gpugen_host_description": "on loan", "ansible_port": 2222},
    }


def test_groups_carry_the_pools_names_with_underscores() -> None:
    tree = rendered({"/pools/0/name": "big-a100"})
    assert f"{VARIABLES}/pool_big_a100.yml" in tree
    assert "gpugen/pool: big-a100" in tree[f"{VARIABLES}/pool_big_a100.yml"].decode()


def texts(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string of a value with its place, keys left out."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, f"{at}/{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, f"{at}/{number}")


HEADER = "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ lookup('pipe', 'id') ]]"


@pytest.mark.parametrize("many", [False, True])
def test_every_string_is_data_but_our_own_expressions(many: bool) -> None:
    """By its type: Ansible takes a header in the text for other marks than the usual ones."""
    names = [f"gpu-{number:05}.lab.example" for number in range(MOST_AS_YAML if many else 1)]
    own = {"description": HEADER, "address": "10.0.0.7", "variables": {"rack": HEADER, "n": 1}}
    hosts = [*names, {"name": "x.lab.example", **own}]
    everything = {"/pools/0/hosts": hosts, "/description": HEADER, "/access/ssh/user": "ops"}
    tree = rendered({**MIG_POOL, **everything, "/pools/0/description": HEADER})
    found = {
        f"{path}:{at}": value
        for path in tree.below("ansible/inventory")
        for at, value in texts(loaded(tree, path))
    }
    inventory = f"ansible/inventory/hosts.{'json' if many else 'yml'}"
    assert len([value for value in found.values() if value == HEADER]) == 4
    control = f"{inventory}:/all/hosts/gpugen_control"
    assert {at: value for at, value in found.items() if type(value) is not Data} == {
        f"{inventory}:/all/vars/gpu_node_name": "{{ inventory_hostname_short | lower }}",
        f"{control}/ansible_connection": "local",
        f"{control}/ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }


def test_expressions_are_literals_of_ours() -> None:
    """An expression that holds what somebody wrote into a spec would run it."""
    for path in sorted(assets.PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Expression"):
                (stated,) = node.args
                assert isinstance(stated, ast.Constant), f"{path}: {ast.unparse(node)}"


def test_roles_are_copies() -> None:
    tree = rendered()
    for path in tree.below("ansible/roles"):
        assert tree[path] == (assets.roles() / path.removeprefix("ansible/roles/")).read_bytes()
    assert {"gpu_node", "gpu_prerequisites", "nvidia_container_toolkit", "nvidia_driver"} <= set(
        roles_of(tree)
    )


def test_without_a_context_the_cluster_is_left_alone() -> None:
    tree = rendered({"/access": {}})
    assert "gpu_node" not in roles_of(tree)
    names = [key for path in tree.below(VARIABLES) for key in loaded(tree, path)]
    assert not [name for name in names if name.startswith("gpu_node_")]


def test_labels_of_the_pool_and_of_its_components() -> None:
    found = variables({**MIG_POOL, "/pools/0/labels": {"lab.example/tier": "gold"}})
    labels = dict(found["gpu_node_labels"])
    assert labels.pop("nvidia.com/mig.config").startswith("a100-")
    assert labels == {"gpugen/pool": "a100", "lab.example/tier": "gold"}
    assert found["gpu_node_initial_labels"]["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert found["gpu_node_mig_manager"] == "mig-manager-a100"
    assert variables()["gpu_node_mig_manager"] == ""


def test_the_wait_is_for_what_the_algebra_predicts() -> None:
    shared = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 3}, "rename": True}
    found = variables({"/pools/0/sharing": shared})
    assert found["gpu_node_resources"] == {"nvidia.com/gpu.shared": 12}
    assert found["gpu_node_plugin"] == "device-plugin-a100"


def test_a_repository_in_the_vendors_layout_with_a_key_beside_the_plays() -> None:
    stated = {
        "baseURL": "https://packages.lab.example/cuda",
        "keyFile": "keys/cuda.asc",
        "fingerprint": "EB693B3035CD5710E231E123A4B469963BF863CC",
    }
    found = variables({"/hostDefaults/repositories": stated})["gpu_prerequisites_repositories"]
    assert found == [
        {
            "name": "nvidia",
            "uri": "https://packages.lab.example/cuda/ubuntu2404/x86_64/",
            "key": "keys/cuda.asc",
            "fingerprint": stated["fingerprint"],
        }
    ]


@pytest.mark.parametrize(
    ("system", "model", "version", "driver", "fabric", "nvlink5"),
    [
        ("ubuntu-24.04", "a100-sxm4-40gb", "550.163.01", "cuda-drivers-550", "-550", False),
        ("ubuntu-24.04", "a100-sxm4-40gb", "570.195.03", "nvidia-open-570", "-570", False),
        ("ubuntu-24.04", "a100-sxm4-40gb", "580.178.04", "nvidia-open-580", "", False),
        ("ubuntu-24.04", "a100-sxm4-40gb", "595.91.07", "nvidia-open", "", False),
        ("ubuntu-24.04", "v100-sxm2-32gb", "580.178.04", "cuda-drivers-580", None, False),
        ("ubuntu-26.04", "l4", "595.91.07", "nvidia-open", None, False),
        ("debian-12", "l4", "580.178.04", "nvidia-open", None, False),
        ("ubuntu-24.04", "b200", "580.178.04", "nvidia-open-580", "", True),
    ],
)
def test_package_names(
    system: str, model: str, version: str, driver: str, fabric: str | None, nvlink5: bool
) -> None:
    found = variables(
        {
            "/pools/0/gpu/model": model,
            "/hostDefaults/os": system,
            "/hostDefaults/driver/version": version,
        }
    )
    assert found["nvidia_driver_packages"] == [driver]
    names = found["nvidia_driver_fabric_packages"]
    assert names[:1] == ([] if fabric is None else [f"nvidia-fabricmanager{fabric}"])
    assert found["nvidia_driver_nvlink5_packages"] == (
        ["nvlsm", "infiniband-diags"] if nvlink5 else []
    )


@pytest.mark.parametrize(
    ("model", "version", "stated", "flavour"),
    [
        ("l4", "580.178.04", "auto", "open"),
        ("l4", "550.163.01", "auto", "proprietary"),
        ("l4", "580.178.04", "proprietary", "proprietary"),
        ("v100-sxm2-32gb", "580.178.04", "auto", "proprietary"),
        ("b200", "570.195.03", "auto", "open"),
    ],
)
def test_flavour_of_the_kernel_modules(model: str, version: str, stated: str, flavour: str) -> None:
    driver = {"version": version, "kernelModules": stated}
    found = variables({"/pools/0/gpu/model": model, "/hostDefaults/driver": driver})
    assert found["nvidia_driver_modules"] == flavour


def test_a_superchip_keeps_its_gpu_memory_from_the_system() -> None:
    found = variables({"/pools/0/gpu/model": "gh200-96gb"})
    assert found["nvidia_driver_module_options"] == {"NVreg_CoherentGPUMemoryMode": "driver"}
    assert variables()["nvidia_driver_module_options"] == {}


def test_a_driver_of_the_image_is_only_verified() -> None:
    found = variables({"/hostDefaults/driver": {"method": "none"}})
    assert found["nvidia_driver_method"] == "none"
    assert "nvidia_driver_packages" not in found
    assert found["gpu_prerequisites_headers"] is False


@pytest.mark.parametrize(
    ("distribution", "minor", "mode", "version"),
    [
        ("kubeadm", "1.36", "import", None),
        ("k3s", "1.36", "detect", None),
        ("rke2", "1.36", "detect", None),
        ("k0s", "1.35", "merge", 2),
        ("k0s", "1.36", "merge", 3),
    ],
)
def test_how_the_runtime_learns_of_the_toolkit(
    distribution: str, minor: str, mode: str, version: int | None
) -> None:
    stated = {"version": minor, "distribution": distribution}
    found = variables({"/kubernetes": stated}, "all")
    assert found["nvidia_container_toolkit_mode"] == mode
    assert found.get("nvidia_container_toolkit_dropin_version") == version
    assert ("nvidia_container_toolkit_dropin" in found) == (mode != "detect")


def test_the_toolkit_honours_the_list_strategy() -> None:
    volumes = variables({"/deviceListStrategy": ["volume-mounts"]}, "all")
    assert volumes["nvidia_container_toolkit_config"] == {
        "accept-nvidia-visible-devices-as-volume-mounts": "true",
        "accept-nvidia-visible-devices-envvar-when-unprivileged": "false",
    }
    cdi = variables({"/deviceListStrategy": ["cdi-cri"]}, "all")
    assert cdi["nvidia_container_toolkit_enable_cdi"] is True


def test_the_readme_names_what_is_left_to_people() -> None:
    text = rendered()["ansible/README.md"].decode()
    assert "--node-labels=gpugen/pool=a100 in KUBELET_EXTRA_ARGS of /etc/default/kubelet" in text
    assert "gpugen_allow_disruption=true" in text
    assert "in batches of 1, then 10%" in text


@pytest.mark.parametrize("distribution", ["k3s", "rke2"])
def test_where_the_agent_reads_drop_ins_the_registration_is_ours(distribution: str) -> None:
    tree = rendered({"/kubernetes/distribution": distribution})
    assert "join again" not in tree["ansible/README.md"].decode()
    file = loaded(tree, f"{VARIABLES}/all.yml")["gpu_node_registration_file"]
    assert file == f"/etc/rancher/{distribution}/config.yaml.d/90-gpugen.yaml"


def test_many_hosts_are_json_with_a_line_each() -> None:
    hosts: list[Any] = [f"gpu-{number:05}.lab.example" for number in range(10_000)]
    hosts[7] = {"name": "x.lab.example", "address": "10.0.0.7", "variables": {"rack": "on"}}
    tree = rendered({"/pools/0/hosts": hosts})
    text = tree["ansible/inventory/hosts.json"].decode()
    assert len(text.splitlines()) < 10_030
    own = '{"ansible_host": {"__ansible_unsafe": "10.0.0.7"}, "rack": {"__ansible_unsafe": "on"}}'
    assert f'  "x.lab.example": {own},\n' in text
    assert '  "gpu-09999.lab.example": {}\n' in text
    assert "inventory = inventory/hosts.json\n" in tree["ansible/ansible.cfg"].decode()
    assert "ansible/inventory/hosts.yml" not in tree
    pools = json.loads(text)["all"]["children"]["gpu"]["children"]
    assert list(pools["pool_a100"]["hosts"])[:2] == hosts[:2]


def test_a_dead_link_and_a_task_without_an_end_are_bounded() -> None:
    settings = ConfigParser(interpolation=None)
    settings.read_string(rendered({})["ansible/ansible.cfg"].decode())
    arguments = settings["ssh_connection"]["ssh_args"].split()
    options = dict(o.split("=") for flag, o in pairwise(arguments) if flag == "-o")
    silence = int(options["ServerAliveInterval"]) * int(options["ServerAliveCountMax"])
    assert 30 <= silence <= 300
    assert options["ControlMaster"] == "auto"
    assert settings["defaults"].getint("task_timeout") == 3600


def test_both_forms_of_the_inventory_say_the_same() -> None:
    hosts = [f"gpu-{number:05}.lab.example" for number in range(MOST_AS_YAML)]
    few = loaded(rendered({"/pools/0/hosts": hosts}), "ansible/inventory/hosts.yml")
    more = rendered({"/pools/0/hosts": [*hosts, "last.lab.example"]})
    many = loaded(more, "ansible/inventory/hosts.json")
    last = many["all"]["children"]["gpu"]["children"]["pool_a100"]["hosts"]
    assert last.pop("last.lab.example") == {}
    assert many == few


def test_many_hosts_carry_no_variable_that_says_what_a_role_takes_anyway() -> None:
    hosts = [f"gpu-{number:05}.lab.example" for number in range(MOST_AS_YAML + 1)]
    few, many = (rendered({"/pools/0/hosts": own}) for own in (hosts[1:], hosts))
    defaults: dict[str, Any] = {}
    for path in few.below("ansible/roles"):
        if path.endswith("/defaults/main.yml"):
            defaults |= loaded(few, path)
    for tree in (few, many):
        stated = {**loaded(tree, f"{VARIABLES}/all.yml")}
        stated |= loaded(tree, f"{VARIABLES}/pool_a100.yml")
        assert len(stated) > 15
        if tree is few:
            wanted = {**defaults, **stated}
        else:
            assert {**defaults, **stated} == wanted
            assert not any(defaults.get(name) == value for name, value in stated.items())

"""The inventory: its groups and forms, and that every string in it is data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpugen import assets
from gpugen.render.inventory import MOST_AS_YAML
from support.ansible_yaml import Data
from support.hosts_half import VARIABLES, loaded, rendered
from support.specs import MIG_POOL

HEADER = "#jinja2: variable_start_string:'[[', variable_end_string:']]'\n[[ lookup('pipe', 'id') ]]"


def test_a_range_stays_a_range_and_a_host_line_carries_only_its_own() -> None:
    hosts = [
        "gpu-[01:99].lab.example",
        {"name": "x.lab.example", "address": "10.0.0.7", "nodeName": "worker-7"},
        {"name": "y.lab.example", "description": "on loan", "variables": {"ansible_port": 2222}},
    ]
    inventory = loaded(rendered({"/pools/0/hosts": hosts}), "ansible/inventory/pool_a100.yml")
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
    common, control = (f"{inventory}:/all/{part}" for part in ("vars", "hosts/gpugen_control"))
    assert {at: value for at, value in found.items() if type(value) is not Data} == {
        f"{common}/gpu_node_name": "{{ inventory_hostname_short | lower }}",
        f"{common}/gpu_prerequisites_key_folder": "{{ inventory_dir | dirname }}/files",
        f"{control}/ansible_connection": "local",
        f"{control}/ansible_python_interpreter": "{{ ansible_playbook_python }}",
    }


def test_many_hosts_are_json_with_a_line_each() -> None:
    hosts: list[Any] = [f"gpu-{number:05}.lab.example" for number in range(10_000)]
    hosts[7] = {"name": "x.lab.example", "address": "10.0.0.7", "variables": {"rack": "on"}}
    tree = rendered({"/pools/0/hosts": hosts})
    text = tree["ansible/inventory/pool_a100.json"].decode()
    assert len(text.splitlines()) < 10_030
    own = '{"ansible_host": {"__ansible_unsafe": "10.0.0.7"}, "rack": {"__ansible_unsafe": "on"}}'
    assert f'  "x.lab.example": {own},\n' in text
    assert '  "gpu-09999.lab.example": {}\n' in text
    assert "inventory = inventory\n" in tree["ansible/ansible.cfg"].decode()
    assert "ansible/inventory/hosts.json" in tree
    assert "ansible/inventory/hosts.yml" not in tree
    pools = json.loads(text)["all"]["children"]["gpu"]["children"]
    assert list(pools["pool_a100"]["hosts"])[:2] == hosts[:2]


def test_both_forms_of_the_inventory_say_the_same() -> None:
    hosts = [f"gpu-{number:05}.lab.example" for number in range(MOST_AS_YAML)]
    few = loaded(rendered({"/pools/0/hosts": hosts}), "ansible/inventory/pool_a100.yml")
    more = rendered({"/pools/0/hosts": [*hosts, "last.lab.example"]})
    many = loaded(more, "ansible/inventory/pool_a100.json")
    last = many["all"]["children"]["gpu"]["children"]["pool_a100"]["hosts"]
    assert last.pop("last.lab.example") == {}
    assert many == few


def test_many_hosts_carry_no_variable_that_says_what_a_role_takes_anyway() -> None:
    hosts = [f"gpu-{number:05}.lab.example" for number in range(MOST_AS_YAML + 1)]
    few, many = (rendered({"/pools/0/hosts": own}) for own in (hosts[1:], hosts))
    defaults: dict[str, Any] = {}
    for path in assets.roles().glob("*/defaults/main.yml"):
        defaults |= yaml.safe_load(path.read_text("utf-8")) or {}
    for tree in (few, many):
        stated = {**loaded(tree, f"{VARIABLES}/all.yml")}
        stated |= loaded(tree, f"{VARIABLES}/pool_a100.yml")
        assert len(stated) > 15
        if tree is few:
            wanted = {**defaults, **stated}
        else:
            assert {**defaults, **stated} == wanted
            assert not any(defaults.get(name) == value for name, value in stated.items())

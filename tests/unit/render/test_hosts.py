"""The Ansible half as data: expressions, copies of roles, settings, and what is left to people."""

from __future__ import annotations

import ast
from configparser import ConfigParser
from itertools import pairwise
from typing import Any

import pytest

from gpugen import assets, pipeline
from gpugen.assemble import assemble
from gpugen.hosts import collection
from gpugen.model.half import Form, HostHalf
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from support.ansible_yaml import Data
from support.hosts_half import loaded, rendered, roles_of, variables
from support.specs import resolved


def test_expressions_are_literals_of_ours() -> None:
    """An expression that holds what somebody wrote into a spec would run it."""
    for path in sorted(assets.PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Expression"):
                (stated,) = node.args
                assert isinstance(stated, ast.Constant), f"{path}: {ast.unparse(node)}"


def test_the_roles_in_use_are_named() -> None:
    assert roles_of(rendered()) == [
        *("gpu_prerequisites", "nvidia_driver", "nvidia_container_toolkit", "gpu_node"),
    ]


def test_the_collection_is_a_copy() -> None:
    """Of all roles, whatever is in use: byte by byte what the wheel or the checkout has."""
    tree = pipeline.collection_tree()
    top = f"{collection.NAMESPACE}/"
    found = {path.removeprefix(top): tree[path] for path in tree.below(top)}
    for path, content in found.items():
        assert content == (assets.collection() / path).read_bytes()
    assert {"galaxy.yml", "meta/runtime.yml", "playbooks/site.yml"} <= found.keys()
    assert {path.split("/")[1] for path in found if path.startswith("roles/")} == {
        *collection.roles()
    }


@pytest.mark.parametrize("form", Form)
def test_each_form_says_where_the_collection_is(form: Form) -> None:
    """An external one is named with a version, and never with an address."""
    spec = resolved()
    tree = Tree()
    version = "0.2.0" if form is Form.EXTERNAL else ""
    render_hosts(spec, assemble(spec), tree, HostHalf(form, version))
    settings = ConfigParser(interpolation=None)
    settings.read_string(tree["ansible/ansible.cfg"].decode())
    stated = settings["defaults"].get("collections_path", "")
    copied = tree.below(f"ansible/collections/{collection.NAMESPACE}")
    if form is Form.SHARED:
        assert (stated, copied) == ("../../_hosts", [])
    elif form is Form.VENDORED:
        assert stated == "collections"
        assert len(copied) == len(collection.files())
        assert {tree.owner_of(path) for path in copied} == {collection.OWNER}
    else:
        assert (stated, copied) == ("", [])
        assert loaded(tree, "ansible/requirements.yml") == {
            "collections": [{"name": "gpugen.hosts", "version": "0.2.0"}]
        }
    assert ("ansible/requirements.yml" in tree) is (form is Form.EXTERNAL)


@pytest.mark.parametrize("stated", [[1, "10%"], [2], ["25%"]])
def test_batches_are_those_of_the_spec(stated: list[Any]) -> None:
    """As a variable: in the text of a play they would be part of a template."""
    tree = rendered({"/rollout": {"serial": stated}})
    for name in ("site", "remove"):
        (entry,) = loaded(tree, f"ansible/{name}.yml")
        assert entry["ansible.builtin.import_playbook"] == f"gpugen.hosts.{name}"
        assert entry["vars"] == {"gpugen_batches": stated}
        assert all(isinstance(size, int | Data) for size in entry["vars"]["gpugen_batches"])


def test_without_a_context_no_upgrade_is_prepared() -> None:
    main = {"/components": {"scheduler": {}}, "/controlPlane": {"hosts": ["cp-1.lab.example"]}}
    (entry,) = loaded(rendered(main), "ansible/before-upgrade.yml")
    assert entry["ansible.builtin.import_playbook"] == "gpugen.hosts.before_upgrade"
    for changes in ({}, {**main, "/access": {}}):
        assert "ansible/before-upgrade.yml" not in rendered(changes)


def test_a_spec_without_become_says_so_in_the_inventory() -> None:
    for stated in (True, False):
        own = variables({"/access/ssh": {"become": stated}}, "all")
        assert own["ansible_become"] is stated


def test_the_readme_names_what_is_left_to_people() -> None:
    text = rendered()["ansible/README.md"].decode()
    assert "--node-labels=gpugen/pool=<pool> in KUBELET_EXTRA_ARGS of /etc/default/kubelet" in text
    assert "gpugen_allow_disruption=true" in text
    assert "in batches of 1, then 10%" in text


def test_a_dead_link_and_a_task_without_an_end_are_bounded() -> None:
    settings = ConfigParser(interpolation=None)
    settings.read_string(rendered({})["ansible/ansible.cfg"].decode())
    arguments = settings["ssh_connection"]["ssh_args"].split()
    options = dict(o.split("=") for flag, o in pairwise(arguments) if flag == "-o")
    silence = int(options["ServerAliveInterval"]) * int(options["ServerAliveCountMax"])
    assert 30 <= silence <= 300
    assert options["ControlMaster"] == "auto"
    assert settings["defaults"].getint("task_timeout") == 3600

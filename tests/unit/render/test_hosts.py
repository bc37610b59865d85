"""The Ansible half as data: expressions, copies of roles, settings, and what is left to people."""

from __future__ import annotations

import ast
from configparser import ConfigParser
from itertools import pairwise

from gpugen import assets
from support.hosts_half import rendered, roles_of


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

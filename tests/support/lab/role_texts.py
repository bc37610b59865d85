"""What the container toolkit's role would write, decided from what this machine answers.

The probe reads runtimes that lie beside the test; nothing is written, and no Ansible runs.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from gpugen.hosts.decisions import load
from support import ROOT

ROLE = "nvidia_container_toolkit"


@cache
def _defaults() -> dict[str, Any]:
    text = (ROOT / "roles" / ROLE / "meta" / "argument_specs.yml").read_text()
    options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    return {name: option.get("default") for name, option in options.items()}


@cache
def probe() -> Any:
    """Return the module that reads a host, plugins/module_utils/reading.py."""
    path = ROOT / "plugins" / "module_utils" / "reading.py"
    spec = importlib.util.spec_from_file_location("reading", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wanted(own: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the role's variables: defaults, and own ones without the prefix.

    "__" in front of a name makes it private. more: state, check_mode.
    """
    return {
        **_defaults(),
        f"{ROLE}_version": "1.20.0",
        f"{ROLE}_services": ["containerd.service"],
        f"__{ROLE}_ctr": "false",  # nothing runs yet
        **{_full(name): value for name, value in own.items()},
        "state": "present",
        "check_mode": False,
        "no_log": True,
        **more,
    }


def decide(own: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the role's decision for this machine."""
    role: Any = load(ROLE)
    engine: Any = load("engine")
    variables = wanted(own, **more)
    decisions, _ = engine.decide({ROLE: role}, variables, probe().answer, _nothing)
    found: dict[str, Any] = decisions[ROLE]
    return found


def _nothing(_: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _full(name: str) -> str:
    """Return a variable's name with the role's prefix."""
    private = "__" if name.startswith("__") else ""
    return f"{private}{ROLE}_{name.removeprefix('__')}"

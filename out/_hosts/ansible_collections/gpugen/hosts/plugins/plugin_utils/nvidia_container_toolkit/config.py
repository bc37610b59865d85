# Copyright: the gpugen authors. Apache-2.0.
"""The toolkit's own configuration: keys of the spec, CRI-O's runtimes, a mode for its unit."""

from __future__ import annotations

from typing import Any

from . import crio, toml_text
from .view import TOML, Host

CTK = ("nvidia-ctk", "--quiet", "config", f"--config-file={TOML}")
TABLE, MODE = "nvidia-container-runtime", "nvidia-container-runtime.mode"


def stated(host: Host) -> list[str]:
    """Return the settings of the spec."""
    options = sorted(host.option("config").items(), key=lambda item: str(item[0]).lower())
    return [f"--set={name}={value}" for name, value in options]


def question(host: Host) -> dict[str, list[str]]:
    """Return how the toolkit is asked for the text that it would write; named by what it sets."""
    return {_name(host): [*CTK, *stated(host)]} if stated(host) else {}


def _name(host: Host) -> str:
    return " ".join(["expected", *stated(host)])


def further(host: Host) -> list[str]:
    """Return settings that the host itself asks for."""
    own = toml_text.parsed(host.text(TOML)).get(TABLE, {})
    found = []
    if own.get("mode", "auto") != "auto" and MODE not in host.option("config"):
        found.append(f"--set={MODE}=auto")
    paths = crio.paths(host)
    if not set(paths) <= set(own.get("runtimes", [])):
        names = dict.fromkeys([*paths, "runc", "crun"])
        found.append(f"--set={TABLE}.runtimes={':'.join(names)}")
    return found


def is_due(host: Host) -> bool:
    """Tell whether anything is to be set."""
    is_other = bool(stated(host)) and host.said(_name(host))["out"] != host.text(TOML)
    return is_other or bool(further(host))


def command(host: Host) -> list[str]:
    """Return the command that sets all (CTK-13, CTK-16)."""
    return [*CTK, *stated(host), *further(host), "--in-place"]


def answer(host: Host) -> dict[str, dict[str, Any]]:
    """Return what the toolkit says of a host that is as expected."""
    text = "\n".join(stated(host))
    return {name: {"rc": 0, "out": text, "err": ""} for name in question(host)}

"""The interface of a role: entry points, defaults, and the variables that it sets."""

from __future__ import annotations

import json
import re
from functools import cache

from gpugen import assets
from gpugen.load import reader

LEFT = re.compile(rb"(?m)^ *(?P<name>[a-z_]+_(?:disruption|reboot_due)):")


@cache
def entries(role: str) -> frozenset[str]:
    """Return the entry points of a role: those that its argument specs name."""
    text = (assets.roles() / role / "meta" / "argument_specs.yml").read_bytes()
    return frozenset(name.decode() for name in re.findall(rb"(?m)^  ([a-z_]+):", text))


@cache
def leaves(role: str) -> frozenset[str]:
    """Return which of <role>_disruption and <role>_reboot_due a role sets."""
    folder = assets.roles() / role
    files = [*folder.glob("vars/**/*.yml"), *folder.glob("tasks/*.yml")]
    found = {match["name"].decode() for file in files for match in LEFT.finditer(file.read_bytes())}
    return frozenset(name for name in found if name.startswith(f"{role}_"))


@cache
def defaults(role: str) -> dict[str, str]:
    """Return a role's defaults: variable -> value as JSON."""
    file = assets.roles() / role / "defaults" / "main.yml"
    stated = reader.data(file.read_text("utf-8")) if file.is_file() else {}
    return {name: json.dumps(value, sort_keys=True) for name, value in stated.items()}

# Copyright: the gpugen authors. Apache-2.0.
"""What a host says, as one JSON document; ``schemas/host.schema.json`` describes it.

No text of a file and no output of a command is in it: they may hold secrets. What a role found out
of them is in its decision, under ``facts``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

VERSION = 1


class Run(NamedTuple):
    """What is the same for all roles of a host. at: UTC, ISO 8601."""

    host: str
    cluster: str
    pool: str
    playbook: str  # site, verify, remove
    is_check: bool
    at: str


def document(
    run: Run,
    decisions: Mapping[str, Mapping[str, Any]],
    seen: Mapping[str, Mapping[str, Any]],
    wanted: Mapping[str, Any],
    earlier: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the document of a host after a decision. earlier: the one of the same run, or {}."""
    roles = dict(earlier.get("roles", {}))
    for name, decision in decisions.items():
        roles[name] = _role(name, decision, seen[name], wanted, roles.get(name, {}))
    problems = [text for role in roles.values() for text in role["differs"]]
    systems = [_system(each["host"]) for each in seen.values() if "host" in each]
    return {
        "version": VERSION,
        "host": run.host,
        "cluster": run.cluster,
        "pool": run.pool,
        "playbook": run.playbook,
        "checkMode": run.is_check,
        "at": run.at,
        "system": systems[0] if systems else earlier.get("system", {}),
        "roles": dict(sorted(roles.items())),
        "health": {"ok": not problems, "problems": problems},
    }


def _role(
    name: str,
    decision: Mapping[str, Any],
    seen: Mapping[str, Any],
    wanted: Mapping[str, Any],
    earlier: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a role's part. done: what differed when the run began, and does not any more."""
    differs = [*decision["shortfalls"]]
    first: Sequence[str] = earlier.get("differedFirst", differs)
    return {
        "seen": {
            "packages": seen.get("packages", {}),
            "units": seen.get("units", {}),
            "files": {path: _digest(own) for path, own in seen.get("files", {}).items()},
            "facts": decision.get("facts", {}),
        },
        "expected": {key: value for key, value in wanted.items() if key.startswith(f"{name}_")},
        "refused": list(decision["faults"]),
        "differedFirst": list(first),
        "differs": differs,
        "done": [text for text in first if text not in differs],
        "interrupts": list(decision["interrupts"]),
        "due": bool(decision["due"]),
        "rebootDue": bool(decision["reboot_due"]),
    }


def _digest(own: Mapping[str, Any] | None) -> str | None:
    return None if own is None else hashlib.sha256(own["text"].encode()).hexdigest()


def _system(host: Mapping[str, Any]) -> dict[str, str]:
    lines = (line.partition("=") for line in host["os_release"].splitlines())
    release = {name: value.strip("\"'") for name, _dummy, value in lines}
    return {
        "os": release.get("ID", ""),
        "osVersion": release.get("VERSION_ID", ""),
        "kernel": host["kernel"],
        "architecture": host["architecture"],
    }

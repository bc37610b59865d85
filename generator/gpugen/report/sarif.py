"""Findings as SARIF 2.1.0, which code scanning reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from gpugen.model.finding import Row

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(found: list[Row], explained: Callable[[str], str] = str) -> str:
    """Return a log by SARIF 2.1.0 with one run."""
    from gpugen import __version__

    ids = sorted({row.id for row in found})
    rules = [_rule(name, explained(name)) for name in ids]
    driver = {"name": "gpugen", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row, ids.index(row.id)) for row in found],
    }
    return dumped({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(id: str, meaning: str) -> dict[str, Any]:
    """Describe a rule with the texts that code scanning shows with its findings."""
    return {
        "id": id,
        "shortDescription": {"text": " ".join(meaning.partition("\n\n")[0].split())},
        "fullDescription": {"text": meaning},
        "help": {"text": f"{meaning}\n\n'gpugen explain {id}' prints this."},
    }


def _result(row: Row, rule: int) -> dict[str, Any]:
    path = quote(row.path.encode("utf-8", "backslashreplace"))
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": f"file://{path}" if path.startswith("/") else path},
            "region": {"startLine": row.line, "startColumn": row.column},
        }
    }
    if row.pointer:
        place["logicalLocations"] = [{"fullyQualifiedName": row.pointer}]
    reasons = [{"kind": "external", "status": "accepted", "justification": row.suppressed}]
    return {
        "ruleId": row.id,
        "ruleIndex": rule,
        "level": row.severity,
        "message": {"text": f"{row.message}. Hint: {row.hint}"},
        "locations": [place],
        "properties": {"tags": list(row.tags)},
        **({"suppressions": reasons} if row.suppressed else {}),
    }


def dumped(document: dict[str, Any]) -> str:
    """Return JSON in ASCII, so that it cannot contain terminal control characters."""
    return json.dumps(document, indent=2) + "\n"

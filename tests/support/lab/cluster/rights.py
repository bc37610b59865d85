"""What service accounts may do, and what the programs behind them asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from support.lab.cluster.api import Api
from support.lab.cluster.plane import AUDIT_LOG, Plane

Right: TypeAlias = tuple[str, str, str]  # verb, resource.group, name of the one object or ""
CLUSTER = "*"  # in a table of rights: in every namespace, and outside of them


def written(lines: Iterable[str], names: dict[str, str]) -> Iterator[tuple[str, Right]]:
    """Read a table: ``where verb,verb resource,resource [name]``. names: where -> namespace."""
    for line in lines:
        where, verbs, resources, *rest = line.split()
        for verb in verbs.split(","):
            for resource in resources.split(","):
                yield names.get(where, where), (verb, resource, rest[0] if rest else "")


def granted(api: Api, namespace: str) -> set[Right]:
    """Return what a user may do in a namespace, as ``kubectl auth can-i --list`` shows it."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    status = api.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body)["status"]
    assert not status["incomplete"], status
    found = {right for rule in status["resourceRules"] for right in of_rule(rule)}
    for rule in status["nonResourceRules"]:
        found |= {(verb, url, "") for verb in rule["verbs"] for url in rule["nonResourceURLs"]}
    return found


def of_rule(rule: dict[str, Any]) -> Iterator[Right]:
    """Yield the single rights of one RBAC rule."""
    for verb in rule["verbs"]:
        for url in rule.get("nonResourceURLs", ()):
            yield verb, url, ""
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                for name in rule.get("resourceNames") or [""]:
                    yield verb, f"{resource}.{group}" if group else resource, name


def mark(plane: Plane) -> int:
    """Return where the audit log ends now."""
    return (plane.folder / AUDIT_LOG).stat().st_size


def asked(
    plane: Plane, namespace: str, account: str, since: int
) -> dict[tuple[str, str, str], bool]:
    """Return what an account asked for: (namespace, verb, resource.group) -> it was allowed.

    since: what ``mark`` returned before the account's program was started.
    """
    user = f"system:serviceaccount:{namespace}:{account}"
    found: dict[tuple[str, str, str], bool] = {}
    for line in (plane.folder / AUDIT_LOG).read_bytes()[since:].splitlines():
        event = json.loads(line)
        reference = event.get("objectRef")
        if event["user"]["username"] != user or not reference or "resource" not in reference:
            continue
        if reference.get("apiGroup") == "authorization.k8s.io":
            continue  # a test of ours that used the account's token
        name = ".".join(filter(None, (reference["resource"], reference.get("apiGroup"))))
        if "subresource" in reference:
            name = name.replace(
                reference["resource"], f"{reference['resource']}/{reference['subresource']}", 1
            )
        decision = event["annotations"]["authorization.k8s.io/decision"]
        key = (reference.get("namespace", ""), event["verb"], name)
        found[key] = found.get(key, True) and decision == "allow"
    return found

"""The policy over the agents' namespace: only agents of this release, with no more than they need.

Their namespace is at the Pod Security level ``privileged``, so whoever may make a pod there is root
on the nodes. The policy knows pods by their name label and then admits what that agent may be:
image, command, account, paths of the host, privileges. Ephemeral containers are for none of them.
Source: kubernetes v1.36.3, admissionregistration.k8s.io/v1.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from gpugen.catalog import reading
from gpugen.components.scheduling.guardrails import cel, policy, rows
from gpugen.model.assembly import KubeObject
from gpugen.model.spec import ClusterSpec

NAME = "gpugen-agent-pods"


class AgentRights(NamedTuple):
    """A row of agent_rights.yaml: the most that the pods of one agent have."""

    name: str
    image: str
    commands: tuple[str, ...]
    environment: tuple[str, ...]
    anyVersion: bool = False  # noqa: N815 as in the row
    paths: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    privileged: bool = False
    capabilities: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    account: str = ""
    secrets: bool = False


@cache
def agents() -> tuple[AgentRights, ...]:
    """Return the rights of every agent."""
    return tuple(AgentRights(name, **row) for name, row in rows.read("agent_rights").items())


def agent_policy(spec: ClusterSpec, *, refuses: bool) -> list[KubeObject]:
    """Return the policy and its binding to the agents' namespace."""
    content = rows.read("agents")
    facts = _facts(spec) | content["variables"]
    validations = [
        {
            "expression": row["expression"],
            "messageExpression": row["message"],
            "message": row["summary"],
        }
        for row in content["rules"]
    ]
    resources = [
        policy.watched("", "v1", ["CREATE", "UPDATE"], "pods"),
        policy.watched("", "v1", ["UPDATE"], "pods/ephemeralcontainers"),
    ]
    selector = {"matchLabels": {policy.BY_NAME: spec.namespaces.agents}}
    return policy.validating(
        NAME,
        resources,
        rows.named(content["conditions"].items()),
        rows.named(facts.items()),
        validations,
        selector,
        refuses=refuses,
    )


def _facts(spec: ClusterSpec) -> dict[str, str]:
    """Return the tables that say what each agent may be, and for whom."""
    kubelet = spec.kubernetes.distribution.kubelet_root
    rights = agents()

    def table(field: Callable[[AgentRights], cel.Row]) -> str:
        return cel.table({each.name: field(each) for each in rights})

    def on_host(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(posixpath.join(kubelet, path) for path in paths)

    return {
        "home": cel.literal(spec.namespaces.agents),
        "release": cel.literal(spec.release.id),
        "agents": cel.listing([each.name for each in rights]),
        "images": table(lambda a: images(spec, a)),
        "commands": table(lambda a: a.commands),
        "environment": table(lambda a: a.environment),
        "accounts": table(lambda a: (a.account, "default") if a.account else ("default",)),
        "paths": table(lambda a: on_host((*a.paths, *a.seen))),
        "seen": table(lambda a: on_host(tuple(a.seen))),
        "kinds": table(_volumes),
        "privileged": cel.listing([each.name for each in rights if each.privileged]),
        "capabilities": table(lambda a: a.capabilities),
        "spaces": table(lambda a: a.spaces),
    }


def _volumes(agent: AgentRights) -> tuple[str, ...]:
    usual = ("configMap", "emptyDir", "hostPath", "projected")
    return (*usual, "secret") if agent.secrets else usual


def images(spec: ClusterSpec, agent: AgentRights) -> tuple[str, ...]:
    """Return the images that an agent may have, as regular expressions of the whole name.

    From the stated registry or one that is being left. Tags of this release and of those before
    it, so that a roll-out to it may end; any version where a spec may choose one; any digest.
    """
    host, _, path = spec.release.images[agent.image].repository.partition("/")
    registries = (spec.images.registry or host, *spec.images.previous_registries)
    tags = "v[0-9.]+" if agent.anyVersion else "|".join(map(_exact, _tags(spec, agent.image)))
    return tuple(
        f"^{_exact(registry)}/{_exact(path)}:({tags})(@sha256:[0-9a-f]{{64}})?$"
        for registry in dict.fromkeys(registries)
    )


def _tags(spec: ClusterSpec, component: str) -> list[str]:
    earlier = (each for each in reading.shipped_ids("releases") if each < spec.release.id)
    releases: tuple[Mapping[str, Any], ...] = tuple(
        reading.shipped("releases", each) or {"images": {}} for each in earlier
    )
    tags = {row["images"].get(component, {}).get("tag", "") for row in releases}
    return sorted({*tags, spec.release.images[component].tag} - {""})


def _exact(text: str) -> str:
    """Return text as a regular expression that matches it alone; names hold no other marks."""
    return text.replace(".", "[.]")

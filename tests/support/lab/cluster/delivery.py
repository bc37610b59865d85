"""What a delivery engine does, by raw HTTP: apply in order of waves, wait for CRDs, prune."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from support.lab.cluster.api import Api, Object
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import Item, Rendered

CRD_SETS = ("prometheus-operator", "argo-cd", "flux")  # NFD's are in the trees themselves
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RUNTIME_CLASS = {  # as distributions bring it that have one of their own
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
CAME_OF_IT = (
    ("nfd.k8s-sigs.io/v1alpha1", "NodeFeature"),
    ("apps/v1", "ReplicaSet"),
    ("v1", "Pod"),
    ("v1", "Node"),
)
KEPT = frozenset({"Namespace", "CustomResourceDefinition"})  # never pruned, as in sync/
Crds = Callable[[str], list[Path]]


class Delivery:
    """Brings trees into a cluster and knows what it brought."""

    def __init__(self, api: Api, crds: Crds) -> None:
        self.api = api
        self._crds = crds
        self.applied: dict[tuple[str, ...], Item] = {}
        self._namespaces: set[str] = set()  # that are known to exist
        self._canaries = 0

    def deliver(self, rendered: Rendered) -> dict[str, Object]:
        """Apply a whole tree to a cluster of its distribution, and prune what it does not have."""
        if rendered.spec.kubernetes.distribution.has_runtime_class:
            self.api.apply(RUNTIME_CLASS)
        result = self.apply(rendered.items)
        self.prune(rendered.items)
        return result

    def apply(self, items: Sequence[Item]) -> dict[str, Object]:
        """Apply in order and return path -> object; every kind is served before its wave."""
        result = {}
        for wave in dict.fromkeys(item.wave for item in items):
            batch = [item for item in items if item.wave == wave]
            self.prepare(item.object for item in batch)
            policies_change = any(self._changes_policies(item) for item in batch)
            for item in batch:
                result[item.path] = self.api.apply(item.object, item.text)
                self.applied[item.identity] = item
            self.wait_for_definitions(
                item.object for item in batch if item.object["kind"] == "CustomResourceDefinition"
            )
            if policies_change:
                self._wait_for_policies()
        return result

    def prune(self, items: Sequence[Item]) -> list[Item]:
        """Delete what was applied before and is not among the items; return it."""
        wanted = {item.identity for item in items}
        gone = [
            item
            for identity, item in self.applied.items()
            if identity not in wanted and item.object["kind"] not in KEPT
        ]
        for item in reversed(gone):
            self.api.delete(self.api.path(item.object))
            del self.applied[item.identity]
        return gone

    def clear(self) -> None:
        """Delete all that was applied, and what came of it: pods, nodes, found features."""
        had_policies = any("AdmissionPolicy" in identity[1] for identity in self.applied)
        self.prune([])
        if had_policies:
            self._wait_for_policies()
        self.api.delete(self.api.path(RUNTIME_CLASS))
        for kind in CAME_OF_IT:
            if not self.api.serves(*kind):
                continue
            for found in self.api.items(self.api.folder(*kind)):
                meta = found["metadata"]
                self.api.delete(
                    f"{self.api.folder(*kind, meta.get('namespace', ''))}/{meta['name']}"
                )
        wait_until("empty cluster", lambda: not self.api.items("/api/v1/pods"))

    def _changes_policies(self, item: Item) -> bool:
        before = self.applied.get(item.identity)
        is_new = before is None or before.object != item.object
        return is_new and item.object["kind"] in (POLICY, BINDING)

    def _wait_for_policies(self) -> None:
        """Wait until the server checks by the policies that it has now.

        It reads them anew with a delay, all in the order in which they came: a later one that
        answers says that the earlier ones do. Argo CD lets two seconds pass between waves for this.
        """
        self._canaries += 1
        meta = {"name": f"canary-{self._canaries}", "namespace": "default"}
        canary = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        policy, binding = guard(canary)
        self.api.apply(policy)
        self.api.apply(binding)
        wait_until("policies", lambda: POLICY in self.api.try_apply(canary, dryRun="All").message)
        for item in (binding, policy):
            self.api.delete(self.api.path(item))

    def prepare(self, objects: Iterable[Object]) -> None:
        """Bring what others own: CRDs of custom resources, namespaces that are not ours."""
        missing = {}
        for item in objects:
            kind = (item["apiVersion"], item["kind"])
            if not self.is_known(*kind):
                missing[kind] = self._definition(*kind)
            self._foreign_namespace(item["metadata"].get("namespace", ""))
        for definition in missing.values():
            self.api.post(CRDS, definition)
        self.wait_for_definitions(missing.values())

    def is_known(self, version: str, kind: str) -> bool:
        """Tell whether the server knows a kind."""
        try:
            self.api.folder(version, kind)
        except KeyError:
            return False
        return True

    def wait_for_definitions(self, definitions: Iterable[Object]) -> None:
        """Wait until the objects of definitions can be written."""
        for definition in definitions:
            spec = definition["spec"]
            for version in spec["versions"]:
                name = f"{spec['group']}/{version['name']}"
                kind = spec["names"]["kind"]
                wait_until(
                    f"{kind} of {name}",
                    lambda name=name, kind=kind: self.api.serves(name, kind),  # type: ignore[misc]
                )

    def _definition(self, version: str, kind: str) -> Object:
        """Return upstream's CRD. Raises LookupError: no upstream program brings one."""
        group = version.rpartition("/")[0]
        for path in (path for name in CRD_SETS for path in self._crds(name)):
            text = path.read_text(encoding="utf-8")
            if f"kind: {kind}\n" in text and f"group: {group}\n" in text:
                return definition_of(text)
        raise LookupError(f"no upstream program brings the CRD of {kind} in {version}")

    def _foreign_namespace(self, name: str) -> None:
        if name in self._namespaces:
            return
        self._namespaces.add(name)
        if name and self.api.find(f"/api/v1/namespaces/{name}") is None:
            self.api.post("/api/v1/namespaces", {"metadata": {"name": name}})


def guard(item: Object) -> tuple[Object, Object]:
    """Return a policy that refuses one ConfigMap, and its binding."""
    name = item["metadata"]["name"]
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "operations": ["CREATE"],
        "resourceNames": [name],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "false"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return {**head, "kind": POLICY, "spec": policy}, {**head, "kind": BINDING, "spec": binding}


def definition_of(text: str) -> Object:
    """Read a CRD; PyYAML takes a bare ``=`` for a type of its own."""
    content: Object = yaml.load(text.replace("- =\n", '- "="\n'), yaml.CSafeLoader)
    return content


def bare(item: Mapping[str, Any]) -> Object:
    """Return an object without what the server writes into it by itself."""
    meta = {
        key: value
        for key, value in item["metadata"].items()
        if key not in ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
    }
    return {**{k: v for k, v in item.items() if k != "status"}, "metadata": meta}

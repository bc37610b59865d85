"""Every example tree in a real API server: applied strictly, applied again, followed by the next.

By raw HTTP with strict field validation; a Warning header counts as a refusal. kubectl would hide
duplicate keys.
"""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpugen.components import find
from support.lab import pools
from support.lab.cluster.delivery import KEPT, Delivery, bare
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import ABSENT, ROOT, Item, Rendered, edited, example, examples

pytestmark = pytest.mark.xdist_group(GROUP)

OURS = {"labelSelector": "app.kubernetes.io/managed-by=gpugen"}
TRIES = 5  # a controller may write a status between two looks


def test_dies_with_its_tests(upstream: Callable[[str], Path], tmp_path: Path) -> None:
    """A killed pytest cannot clean up; the kernel does."""
    code = f"""\
        import sys, time
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from pathlib import Path
        from support.lab.cluster.plane import _etcd
        program, _ = _etcd(Path({str(upstream("etcd"))!r}), Path({str(tmp_path)!r}))
        print(program._process.pid, flush=True)
        time.sleep(60)
        """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent:
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}/comm").read_text() == "etcd\n"
        os.kill(parent.pid, signal.SIGKILL)
    wait_until("end of etcd", lambda: not _runs(child), 5)


def _runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---------------------------------------------------------------- the check itself

CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: canary, namespace: default}"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: canary, namespace: default}
spec:
  automountServiceAccountToken: false
  containers: [{name: canary, image: canary, resources: {limits: {nvidia.com/gpu: %s}}}]
"""
CANARIES = [
    (CONFIG_MAP + ", data: {a: b}}", ""),
    (CONFIG_MAP + ", data: {a: b, a: c}}", 'key "a" already set'),
    (CONFIG_MAP + ", dta: {a: b}}", ".dta: field not declared in schema"),
    (CONFIG_MAP + ", data: {a: 1}}", "expected string, got"),
    (POD % '"1"', ""),
    (POD % "500m", "must be an integer"),
]


@pytest.mark.parametrize(("text", "complaint"), CANARIES)
@pytest.mark.usefixtures("controllers")
def test_the_server_is_strict(plane: Plane, text: str, complaint: str) -> None:
    import yaml

    answer = plane.api.try_apply(yaml.safe_load(text), text, dryRun="All")
    assert answer.is_good is not bool(complaint), answer
    assert complaint in answer.message


def test_the_server_hears_warnings(plane: Plane) -> None:
    """A pod that a namespace warns about is taken, and still no good answer."""
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c", "labels": labels}}
    plane.api.apply(space)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    template["spec"]["containers"] = [{"name": "c", "image": "c"}]  # type: ignore[index]
    item = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "c", "namespace": "c"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    with pytest.raises(AssertionError, match=r"warned: .*would violate PodSecurity"):
        plane.api.apply(item, dryRun="All")


# ---------------------------------------------------------------- example trees


@pytest.mark.parametrize("name", examples())
def test_applied_again_nothing_moves(delivery: Delivery, name: str) -> None:
    delivery.deliver(example(name))
    assert_settled(delivery, example(name).items)


def assert_settled(delivery: Delivery, items: tuple[Item, ...]) -> None:
    """Apply once more: every object keeps its resourceVersion."""
    for _ in range(TRIES):
        before = {i.path: _version(delivery.api.get(delivery.api.path(i.object))) for i in items}
        after = {path: _version(item) for path, item in delivery.apply(items).items()}
        moved = [path for path in before if before[path] != after[path]]
        if not moved:
            return
    raise AssertionError(f"moved when applied again: {moved}")


def _version(item: dict[str, Any]) -> str:
    version: str = item["metadata"]["resourceVersion"]
    return version


AMOUNTS = [
    ({"requests": {"memory": "1536Mi", "cpu": "0.5"}, "limits": {"memory": "1.5Gi"}}, True),
    ({"requests": {"cpu": "100m"}, "limits": {"cpu": "50m"}}, False),
    ({"requests": {"memory": "1G"}, "limits": {"memory": "900M"}}, False),
    ({"limits": {"memory": "512m"}}, False),  # the server warns of half a byte
    ({"limits": {"storage": "1Gi"}}, False),
    ({"requests": {"nvidia.com/gpu": "1"}}, False),
]


@pytest.mark.parametrize(("amounts", "is_good"), AMOUNTS)
def test_amounts_are_refused_as_by_the_server(
    plane: Plane, amounts: dict[str, Any], is_good: bool
) -> None:
    data = pools.spec_of(pools.catalog().gpu("t4"), 1)
    data["components"] = {"device-plugin": {"resources": amounts}}
    assert (not pools.errors(data)) is is_good
    spec = pools.resolved(data)
    placed = find("device-plugin").contribute(spec, spec.options["device-plugin"]).objects
    (item,) = (i.object for i in placed if i.object["kind"] == "DaemonSet")
    item["metadata"]["namespace"] = "default"
    answer = plane.api.try_apply(item, dryRun="All")
    assert (answer.is_good and not answer.warnings) is is_good, answer


# ---------------------------------------------------------------- the next version of a spec

NEW_POOL = {
    "name": "train",
    "gpu": {"model": "h100-sxm5-80gb", "count": 8},
    "hosts": ["gpu-train-[01:02].lab.example"],
}
NOTEBOOKS, INFERENCE = "/pools/0", "/pools/1"
NEW_NAMESPACES, OLD_NAMESPACES = ["gpu-nodes", "gpu-control"], ["gpu-agents", "gpu-controllers"]
EDITS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "mirror and pull secret": {
        "/images": {"registry": "registry.lab.example", "pullSecrets": ["gpu-pull"]}
    },
    "other version of the plugin": {"/components/device-plugin": {"version": "0.19.1"}},
    "replicas": {f"{INFERENCE}/sharing/resources": {"nvidia.com/gpu": 8}},
    "renamed": {f"{INFERENCE}/sharing/rename": True},
    "MPS": {f"{INFERENCE}/sharing/mode": "mps"},
    "not shared": {f"{INFERENCE}/sharing": ABSENT, f"{NOTEBOOKS}/sharing": ABSENT},
    "new pool": {"/pools/2": NEW_POOL},
    "removed pool": {INFERENCE: ABSENT},
    "renamed pool": {f"{INFERENCE}/name": "serving"},
    "other layout": {f"{NOTEBOOKS}/mig/layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]},
    "uniform": {
        f"{NOTEBOOKS}/mig": {
            "strategy": "single",
            "layout": [{"gpus": "all", "profiles": {"2g.10gb": 3}}],
        },
        f"{NOTEBOOKS}/sharing": ABSENT,
    },
    "MIG by the host": {f"{NOTEBOOKS}/mig/manager": "host"},
    "no MIG": {f"{NOTEBOOKS}/mig": ABSENT, f"{NOTEBOOKS}/sharing": ABSENT},
    "taints": {
        f"{NOTEBOOKS}/taints": ABSENT,
        f"{INFERENCE}/taints": [{"key": "lab.example/batch", "effect": "NoExecute"}],
    },
    "CDI": {"/deviceListStrategy": ["cdi-cri"]},
    "own limits and annotations": {
        "/components/device-plugin": {
            "resources": {"limits": {"memory": "64Mi"}},
            "annotations": {"lab.example/owner": "gpu"},
            "maxUnavailable": 2,
        }
    },
    "no exporter": {
        f"/components/{name}": value
        for name, value in {
            "dcgm-exporter": False,
            "grafana": False,
            "prometheus": ABSENT,
        }.items()
    },
    "labels of pods": {"/components/dcgm-exporter": {"podLabels": ["lab.example/team"]}},
    "usage per pod": {"/components/dcgm-exporter": {"perPodUsage": True, "profiling": True}},
    "static targets": {"/components/prometheus": {"mode": "static"}},
    "no worker": {"/components/node-feature-discovery": {"worker": False}},
    "foreign feature discovery": {"/components/node-feature-discovery": {"mode": "existing"}},
    "scheduler": {"/components/scheduler": {"binPacking": True}},
    "two schedulers": {"/components/scheduler": {"replicas": 2, "weights": {"gpu": 20}}},
    "older Kubernetes": {"/kubernetes/version": "1.35", "/components/scheduler": True},
    "guardrails that refuse": {"/components/guardrails": {"mode": "enforce"}},
    # The last version's guardrails must not refuse our agents in new namespaces (guardrails.md).
    "announced namespaces": {
        "/components/guardrails": {"mode": "enforce", "exemptNamespaces": NEW_NAMESPACES},
    },
    "other namespaces": {
        "/components/guardrails": {"mode": "enforce", "exemptNamespaces": OLD_NAMESPACES},
        "/namespaces": {"agents": "gpu-nodes", "controllers": "gpu-control"},
    },
    "Flux": {"/delivery": {"engine": "flux", "flux": {"sourceRef": {"name": "platform"}}}},
    "applied by hand": {"/delivery": {"engine": "none"}},
}


@pytest.mark.usefixtures("controllers")
def test_next_version_applies_over_the_last(delivery: Delivery, tmp_path: Path) -> None:
    """Each edit follows on another one, and the last state is the first again.

    Nothing immutable is touched, what the next version no longer has goes away, and what stays is
    what the new files say.
    """
    versions = {name: edited("lab", edit, tmp_path / name) for name, edit in EDITS.items()}
    first = next(iter(versions))
    deliver(delivery, versions[first])
    fresh = specs(delivery, versions[first])
    for name, version in list(versions.items())[1:]:
        try:
            deliver(delivery, version)
        except AssertionError as refusal:
            raise AssertionError(f"on the way to {name!r}: {refusal}") from refusal
    deliver(delivery, versions[first])
    assert specs(delivery, versions[first]) == fresh
    assert_settled(delivery, versions[first].items)


def specs(delivery: Delivery, version: Rendered) -> dict[str, Any]:
    """Return what the objects of a version are on the server."""
    api = delivery.api
    return {item.path: bare(api.get(api.path(item.object))) for item in version.items}


def deliver(delivery: Delivery, version: Rendered) -> None:
    """Apply a version over what is there and prune; nothing of the last one is left."""
    items = version.items
    delivery.deliver(version)
    wanted = {item.identity for item in items}
    kinds = {(item.object["apiVersion"], item.object["kind"]) for item in items}
    for api_version, kind in kinds:
        group = api_version.rpartition("/")[0]
        for found in delivery.api.items(delivery.api.folder(api_version, kind), **OURS):
            meta = found["metadata"]
            identity = (group, kind, meta.get("namespace", ""), meta["name"])
            is_left = kind in KEPT or "ownerReferences" in meta or "deletionTimestamp" in meta
            assert identity in wanted or is_left, f"left behind: {identity}"


def test_a_selector_cannot_change(delivery: Delivery) -> None:
    """The check of the walk above: what is immutable is refused, by force too."""
    delivery.deliver(example("lab"))
    agent = copy.deepcopy(example("lab").of_kind("DaemonSet")[0])
    for labels in (
        agent["spec"]["selector"]["matchLabels"],
        agent["spec"]["template"]["metadata"]["labels"],
    ):
        labels["gpugen/mode"] = "other"
    answer = delivery.api.try_apply(agent)
    assert "field is immutable" in answer.message

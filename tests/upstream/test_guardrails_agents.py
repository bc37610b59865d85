"""The policy over the agents' namespace on a real API server: all of ours get in, nobody else."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from gpugen.components.scheduling.guardrails.agents import NAME, agent_policy, agents
from gpugen.model.spec import ClusterSpec
from support.guarded import opened
from support.lab.cluster.api import STRICT, Answer, Api, Object
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.lab.cluster.trees import example, examples
from support.specs import MIG_POOL, resolved

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]
RELEASE = "2026.12"
SPACE = "gpu-agents"
MPS = {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}
SLICES = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}}
OPTIONS: dict[str, dict[str, Any]] = {
    "device specs": {"/components/device-plugin": {"passDeviceSpecs": True}},
    "chosen version": {"/components/device-plugin": {"version": "0.20.0"}},
    "CDI": {"/deviceListStrategy": ["cdi-annotations", "cdi-cri"]},
    "volume mounts": {"/deviceListStrategy": "volume-mounts"},
    "MIG": MIG_POOL,
    "MPS": {"/pools/0/sharing": MPS},
    "usage per pod": {
        "/pools/0/sharing": SLICES,
        "/components/dcgm-exporter": {"perPodUsage": True, "profiling": True},
    },
    "labels of pods": {"/components/dcgm-exporter": {"podLabels": ["example.com/team"]}},
    "engine of the host": {"/hostDefaults/dcgm": {"mode": "host", "version": "4.5.3"}},
    "static": {"/components/prometheus": {"mode": "static"}},
    "vGPU labels": {"/components/gpu-feature-discovery": {"vgpuLabels": True}},
    "every source": {
        "/components/node-feature-discovery": {
            "sources": ["cpu", "kernel", "memory", "network", "pci", "storage", "system", "usb"]
        }
    },
    "mirror": {"/images": {"registry": "registry.lab.example:5000/mirror"}},
    "digest": {"/images/digests": {"mig-manager": f"sha256:{'0' * 64}"}, **MIG_POOL},
    "k3s": {"/kubernetes/distribution": "k3s"},
}
LEAVING = {"/images": {"registry": "new.example", "previousRegistries": ["nvcr.io", "old.example"]}}


class Door:
    """The agents' namespace of a server, under the policy of one spec at a time."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._applied: list[Object] = []

    def use(self, spec: ClusterSpec, *, refuses: bool = True) -> None:
        """Put a spec's policy in place of the last one's and wait until it works."""
        self.clear()
        self._applied = agent_policy(spec, refuses=refuses)
        for item in self._applied:
            self.api.apply(item)
        for agent in agents():
            if agent.account:
                self._account(agent.account)
        wait_until("refusal", lambda: NAME in self.told(foreign("probe")))

    def clear(self) -> None:
        """Take the policy away and wait until it refuses no more."""
        for item in reversed(self._applied):
            self.api.delete(self.api.path(item))
        if self._applied:
            wait_until("silence", lambda: NAME not in self.told(foreign("probe")))
        self._applied = []

    def ask(self, pod: Object) -> Answer:
        """Create a pod for the sake of the answer alone."""
        path = f"/api/v1/namespaces/{SPACE}/pods"
        return self.api.call("POST", path, pod, query={**STRICT, "dryRun": "All"})

    def told(self, pod: Object) -> str:
        answer = self.ask(pod)
        return "".join([answer.message, *answer.warnings])

    def _account(self, name: str) -> None:
        meta = {"name": name, "namespace": SPACE}
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})


@pytest.fixture(scope="module")
def door(plane: Plane) -> Iterator[Door]:
    """Return the namespace with what pods in it need."""
    with opened(plane) as server:
        found = Door(server.api)
        yield found
        found.clear()


def of_release(spec: ClusterSpec) -> ClusterSpec:
    """Return the spec under the release that has the policy."""
    return spec._replace(release=Catalog().release(RELEASE))


def pods(spec: ClusterSpec) -> list[Object]:
    """Return a pod of each agent, as its controller makes it."""
    sets = [p.object for p in assemble(spec).objects if p.object["kind"] == "DaemonSet"]
    assert sets
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **item["spec"]["template"]["metadata"],
                "name": item["metadata"]["name"],
                "namespace": SPACE,
            },
            "spec": item["spec"]["template"]["spec"],
        }
        for item in sets
        if item["metadata"]["namespace"] == spec.namespaces.agents
    ]


def foreign(name: str, **spec: Any) -> Object:
    """Return a pod of somebody else."""
    container = {"name": "work", "image": "work.example/tool:1"}
    content = {"containers": [container], "automountServiceAccountToken": False, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": content}


def assert_admitted(door: Door, spec: ClusterSpec) -> None:
    for pod in pods(spec):
        answer = door.ask(pod)
        assert answer.is_good, f"{pod['metadata']['name']}: {answer.message}"


@pytest.mark.parametrize("name", examples())
def test_agents_of_every_example_are_admitted(door: Door, name: str) -> None:
    spec = of_release(example(name).spec)
    door.use(spec)
    assert_admitted(door, spec)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_agents_are_admitted_whatever_is_chosen(door: Door, options: dict[str, Any]) -> None:
    """By the policy of their own spec, and while one without the options still holds."""
    spec = resolved({"/release": RELEASE, **options})
    door.use(spec)
    assert_admitted(door, spec)
    before = resolved({"/release": RELEASE})
    if not options.keys() & {"/images", "/kubernetes/distribution"}:
        door.use(before)
        assert_admitted(door, spec)


def test_a_registry_that_is_left_is_let_in_while_it_is_listed(door: Door) -> None:
    old = resolved({"/release": RELEASE, "/images": {"registry": "old.example"}})
    vendor = resolved({"/release": RELEASE})
    listed = resolved({"/release": RELEASE, **LEAVING})
    door.use(listed)
    assert_admitted(door, listed)
    assert_admitted(door, old)
    plugin = next(p for p in pods(vendor) if p["metadata"]["name"].startswith("device-plugin"))
    assert door.ask(plugin).is_good
    ended = resolved({"/release": RELEASE, "/images": {"registry": "new.example"}})
    door.use(ended)
    assert_admitted(door, ended)
    for pod in pods(old):
        assert "another image" in door.told(pod)


def _root(path: str) -> dict[str, Any]:
    return {"name": "extra", "hostPath": {"path": path}}


def _container(**fields: Any) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec["containers"][0].update(fields)

    return change


def _pod(**fields: Any) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec.update(fields)

    return change


def _more(key: str, item: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec[key] = [*spec.get(key, ()), item]

    return change


def _writing(spec: dict[str, Any]) -> None:
    for each in spec["containers"][0]["volumeMounts"]:
        each.pop("readOnly", None)


TOOL = {"name": "tool", "image": "work.example/tool:1"}
SHELL = ["sh", "-c", "id"]
FAULTS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "image": (_container(image="work.example/tool:1"), "image"),
    "image that begins alike": (_container(image="nvcr.io/nvidia/k8s-device-plugin-x:v1"), "image"),
    "registry that looks alike": (_container(image="nvcr-io/nvidia/k8s-device-plugin:v1"), "image"),
    "second container": (_more("containers", TOOL), "image"),
    "init container": (_more("initContainers", TOOL), "image"),
    "command": (_container(command=SHELL), "command"),
    "arguments": (_container(args=["--x"]), "command"),
    "hook": (_container(lifecycle={"preStop": {"exec": {"command": SHELL}}}), "command"),
    "probe": (_container(livenessProbe={"exec": {"command": SHELL}}), "command"),
    "variable": (_container(env=[{"name": "LD_PRELOAD", "value": "/x.so"}]), "environment"),
    "variables": (_container(envFrom=[{"configMapRef": {"name": "x"}}]), "environment"),
    "account": (_pod(serviceAccountName="mig-manager"), "service account"),
    "path of the host": (_more("volumes", _root("/etc")), "volume"),
    "root of the host": (_more("volumes", _root("/")), "volume"),
    "secret": (_more("volumes", {"name": "x", "secret": {"secretName": "x"}}), "volume"),
    "writing": (_writing, "writable path of the host"),
    "privileged": (_container(securityContext={"privileged": True}), "privileged container"),
    "capability": (
        _container(securityContext={"capabilities": {"add": ["SYS_PTRACE"]}}),
        "capability",
    ),
    "processes": (_pod(hostPID=True), "namespace of the host"),
    "network": (_pod(hostNetwork=True), "namespace of the host"),
    "messages": (_pod(hostIPC=True), "namespace of the host"),
}


@pytest.mark.parametrize(("change", "what"), FAULTS.values(), ids=FAULTS)
def test_whoever_poses_as_an_agent_is_refused(
    door: Door, change: Callable[[dict[str, Any]], None], what: str
) -> None:
    spec = resolved({"/release": RELEASE})
    door.use(spec)
    agent = next(p for p in pods(spec) if p["metadata"]["name"].startswith("gpu-feature-discovery"))
    posing = copy.deepcopy(agent)
    change(posing["spec"])
    answer = door.ask(posing)
    assert not answer.is_good
    assert f"this pod has another {what} than release {RELEASE} gives" in answer.message


def test_a_foreign_pod_is_refused_or_warned_about(door: Door) -> None:
    spec = resolved({"/release": RELEASE})
    pod = foreign("root", hostPID=True, volumes=[_root("/")])
    door.use(spec)
    answer = door.ask(pod)
    assert not answer.is_good
    assert "it has no such label" in answer.message
    door.use(spec, refuses=False)
    answer = door.ask(pod)
    assert answer.is_good
    assert "it has no such label" in "".join(answer.warnings)


def test_other_namespaces_and_old_pods_are_left_alone(door: Door) -> None:
    """A pod that was there before may change labels; its containers may not, nor be debugged."""
    spec = resolved({"/release": RELEASE})
    door.clear()
    path = f"/api/v1/namespaces/{SPACE}/pods"
    door.api.post(path, foreign("before"))
    door.use(spec)
    merge = door.api.merge(f"{path}/before", {"metadata": {"labels": {"a": "b"}}})
    assert merge["metadata"]["labels"]["a"] == "b"
    debug = {"name": "debug", "image": "work.example/tool:1"}
    pod = {**merge, "spec": {**merge["spec"], "ephemeralContainers": [debug]}}
    answer = door.api.call("PUT", f"{path}/before/ephemeralcontainers", pod, query=STRICT)
    assert NAME in answer.message
    answer = door.api.call(
        "POST", "/api/v1/namespaces/team/pods", foreign("work"), query={**STRICT, "dryRun": "All"}
    )
    assert answer.is_good, answer.message
    door.api.delete(f"{path}/before?gracePeriodSeconds=0")

"""Clusters with guardrails on a real API server, and workloads that ask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gpugen.components import find
from gpugen.model.assembly import KubeObject
from gpugen.model.options import Guardrails
from gpugen.model.spec import ClusterSpec
from support.lab.cluster.api import STRICT, Answer, Api, Object
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until
from support.specs import resolved

REQUESTS, ADVICE = "gpugen-gpu-requests", "gpugen-gpu-advice"
SPACE = "team"  # an ordinary namespace
SPACES = (SPACE, "exempt", "gpu-agents", "gpu-controllers")
GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-"
ONE = {GPU: "1"}
GPU_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
TEAM_TAINT = {"key": "lab.example/team", "value": "vision", "effect": "NoSchedule"}
LAYOUT = [
    {"gpus": [0, 1], "profiles": {"1g.5gb": 7}},
    {"gpus": [2, 3], "profiles": {"3g.20gb": 1, "2g.10gb": 2}},
]


def _pool(name: str, model: str, count: int, **more: Any) -> Any:
    hosts = [f"{name}-1.lab.example"]
    return {"name": name, "gpu": {"model": model, "count": count}, "hosts": hosts, **more}


HGX = _pool("hgx", "h100-sxm5-80gb", 8, taints=[GPU_TAINT])
CLUSTERS: dict[str, dict[str, Any]] = {
    "lab": {
        "/pools": [
            HGX,
            _pool("t4", "t4", 2, taints=[TEAM_TAINT], labels={"lab.example/tier": "batch"}),
            _pool(
                "mig",
                "a100-sxm4-40gb",
                4,
                mig={"strategy": "mixed", "layout": LAYOUT},
                sharing={
                    "mode": "time-slicing",
                    "resources": {"nvidia.com/mig-1g.5gb": 2},
                    "rename": True,
                },
            ),
        ],
        "/components/scheduler": {},
    },
    "shares": {
        "/pools": [
            _pool("whole", "a100-sxm4-40gb", 4),
            _pool(
                "edge",
                "l4",
                2,
                sharing={"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}},
            ),
        ],
    },
    "tainted": {  # whole GPUs behind a taint that nobody is given a toleration for; shares open
        "/pools": [
            _pool("whole", "a100-sxm4-40gb", 8, taints=[TEAM_TAINT]),
            _pool(
                "edge",
                "l4",
                2,
                sharing={"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}},
            ),
        ],
    },
    "single": {
        "/pools": [
            _pool(
                "thirds",
                "a100-sxm4-40gb",
                2,
                mig={
                    "strategy": "single",
                    "layout": [{"gpus": [0, 1], "profiles": {"2g.10gb": 3}}],
                },
            )
        ],
    },
    "long": {  # its product has more characters than a node's label
        "/pools": [
            _pool(
                "quarters",
                "rtx-pro-6000-maxq",
                1,
                mig={"strategy": "single", "layout": [{"gpus": "all", "profiles": {"1g.24gb": 4}}]},
                sharing={"mode": "time-slicing", "resources": {"nvidia.com/gpu": 2}},
            )
        ],
    },
    "mps": {
        "/pools": [
            _pool("edge", "l4", 1, sharing={"mode": "mps", "resources": {"nvidia.com/gpu": 6}})
        ],
    },
    "older": {"/pools": [HGX], "/kubernetes/version": "1.35", "/components/scheduler": {}},
}


def spec_of(cluster: str, options: object = True, **changes: Any) -> ClusterSpec:
    """Resolve one of the clusters with these options of the guardrails."""
    return resolved(
        {"/name": cluster, **CLUSTERS[cluster], "/components/guardrails": options, **changes}
    )


def with_options(spec: ClusterSpec, options: Mapping[str, Any]) -> ClusterSpec:
    """Return a spec with some options of the guardrails changed."""
    changed = spec.own(Guardrails)._replace(**options)
    return spec._replace(options={**spec.options, "guardrails": changed})


def policies(spec: ClusterSpec) -> list[KubeObject]:
    """Return what the component renders."""
    placed = find("guardrails").contribute(spec, spec.options["guardrails"]).objects
    return [item.object for item in placed]


def pod(*limits: Mapping[str, str], **spec: Any) -> Object:
    """Return a pod with a container per mapping of limits."""
    containers = [
        {"name": f"c{index}", "image": "work", "resources": {"limits": dict(each)}}
        for index, each in enumerate(limits)
    ]
    content = {"automountServiceAccountToken": False, "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "work"}, "spec": content}


def seeing(devices: str) -> Object:
    """Return a pod that says itself which devices it sees."""
    item = pod(ONE)
    item["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": devices}]
    return item


TEMPLATES = {
    "ReplicationController": "v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def made_by(kind: str, item: Object) -> Object:
    """Return what makes such pods."""
    labels = {"app": "work"}
    content = dict(item["spec"])
    spec: dict[str, Any] = {}
    if kind in ("Job", "CronJob"):
        content["restartPolicy"] = "Never"
    elif kind == "ReplicationController":
        spec["selector"] = labels
    else:
        spec["selector"] = {"matchLabels": labels}
    spec["template"] = {"metadata": {"labels": labels}, "spec": content}
    if kind == "StatefulSet":
        spec["serviceName"] = "work"
    if kind == "CronJob":
        spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": spec}}
    meta = {"name": "work"}
    return {"apiVersion": TEMPLATES[kind], "kind": kind, "metadata": meta, "spec": spec}


class Guarded:
    """An API server whose guardrails are those of one spec at a time."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._applied: list[KubeObject] = []
        self._known = ""

    def use(self, spec: ClusterSpec) -> None:
        """Put a spec's policies in place of the last one's and wait until they work."""
        wanted = policies(spec)
        if wanted == self._applied:
            return
        self.clear()
        for item in wanted:
            self.api.apply(item)
        self._applied = wanted
        names = {name for pool in spec.pools for name in pool.prediction.capacity}
        self._known = min(names - set(spec.own(Guardrails).other_resources))
        wait_until("refusal", self._refuses)
        if any("runtimeClassName" in str(item["spec"].get("mutations")) for item in wanted):
            wait_until("completion", self._completes)

    def clear(self) -> None:
        """Take the policies away and wait until nothing refuses any more."""
        for item in reversed(self._applied):
            self.api.delete(self.api.path(item))
        if self._applied:
            wait_until("silence", lambda: not (self._refuses() or self._completes()))
        self._applied = []

    def ask(self, item: Object, space: str = SPACE, **query: str) -> Answer:
        """Create something for the sake of the answer alone."""
        folder = self.api.folder(item["apiVersion"], item["kind"], space)
        return self.api.call("POST", folder, item, query={**STRICT, "dryRun": "All", **query})

    def _refuses(self) -> bool:
        answer = self.ask(pod({"nvidia.com/mig-0g.0gb": "1", "nvidia.com/none": "1"}))
        return "unknown-resource" in answer.message + "".join(answer.warnings) and bool(
            [text for text in answer.warnings if "other-resource" in text]
        )

    def _completes(self) -> bool:
        answer = self.ask(pod({self._known: "1"}, tolerations=[{"operator": "Exists"}]))
        return answer.is_good and "runtimeClassName" in answer.body["spec"]


@contextmanager
def opened(plane: Plane) -> Iterator[Guarded]:
    """Bring namespaces and RuntimeClass nvidia; the namespaces stay, others may use them."""
    for name in SPACES:
        plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        wait_until("account", lambda account=account: plane.api.find(account) is not None)
    (runtime_class,) = find("runtime-class").contribute(spec_of("lab"), {}).objects
    plane.api.apply(runtime_class.object)
    server = Guarded(plane.api)
    yield server
    server.clear()
    plane.api.delete(plane.api.path(runtime_class.object))


def told(answer: Answer) -> list[str]:
    """Return the warnings as kubectl prints them."""
    return [
        text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"')
        for text in answer.warnings
    ]


def warning(policy: str, message: str) -> str:
    """Return how the API server warns."""
    return (
        f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{policy}': "
        f"{message}"
    )


def refusal(policy: str, message: str) -> str:
    """Return how the API server refuses, behind the words for what."""
    return (
        f"is forbidden: ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied"
        f" request: {message}"
    )

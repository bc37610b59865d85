"""The guardrails on a real API server: every rule both ways, word for word, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from support.guarded import (
    ADVICE,
    GPU,
    MIG,
    ONE,
    REQUESTS,
    Guarded,
    made_by,
    opened,
    pod,
    refusal,
    seeing,
    spec_of,
    told,
    warning,
)
from support.lab.cluster.api import Object
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]
CERTAIN = frozenset(
    {
        "unknown-resource",
        "too-many",
        "more-than-one-share",
        "no-single-node",
        "wrong-pool",
        "untolerated-taint",
        "visible-devices",
    }
)


@pytest.fixture(scope="module")
def server(plane: Plane) -> Iterator[Guarded]:
    """Return the API server with what the tests need."""
    with opened(plane) as found:
        yield found


@dataclass(frozen=True)
class Case:
    """A rule, a cluster, a pod that it is about, a pod that it is not about, and its words."""

    rule: str
    cluster: str
    bad: Object
    good: Object
    says: str


def affinity(operator: str, *values: str, key: str = "nvidia.com/gpu.product") -> dict[str, Any]:
    expression = {"key": key, "operator": operator, **({"values": values} if values else {})}
    return affinity_terms({"matchExpressions": [expression]})


def affinity_terms(*terms: dict[str, Any]) -> dict[str, Any]:
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": rule}}


ON_HGX = {"key": "metadata.name", "operator": "In", "values": ["hgx-1"]}
TEAM = [{"key": "lab.example/team", "operator": "Equal", "value": "vision"}]
LAB_HAS = (
    "It has nvidia.com/gpu (8 per node in pool hgx, 2 per node in pool t4);"
    " nvidia.com/mig-1g.5gb.shared (28 per node in pool cut); nvidia.com/mig-2g.10gb (4 per node in"
    " pool cut); nvidia.com/mig-3g.20gb (2 per node in pool cut)"
)
HGX = "pool hgx (gpugen/pool=hgx, nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3)"
T4 = "pool t4 (gpugen/pool=t4, lab.example/tier=batch, nvidia.com/gpu.product=Tesla-T4)"
RULED_OUT = (
    "[wrong-pool] the node selector or the required node affinity rules out every pool that has"
    " what the pod asks for: "
)
ONLY_SHARES = (  # of a pod, and of a template, whose pods something may give tolerations
    "[more-than-one-share] a container asks for 8 nvidia.com/gpu; the pod tolerates only the"
    " taints of pool edge, where each is a share of a GPU, and the device plugin fails a pod"
    " whose container asks for more than 1, which would be no more GPU. Ask for 1, or tolerate"
    " those of pool whole (lab.example/team=vision:NoSchedule)",
    "[template-taint] in pool edge, whose taints the pod tolerates, each nvidia.com/gpu is a share"
    " of a GPU, of which a container gets 1; the pod does not tolerate the taints of any pool that"
    " it could run in: pool whole (lab.example/team=vision:NoSchedule). Add a toleration",
)
CASES = [
    Case(
        "unknown-resource",
        "lab",
        pod({f"{MIG}7g.40gb": "1"}),
        pod({f"{MIG}3g.20gb": "1"}),
        f"[unknown-resource] no node of cluster lab has nvidia.com/mig-7g.40gb. {LAB_HAS}",
    ),
    Case(
        "unknown-resource",
        "lab",
        pod({f"{MIG}1g.5gb": "1"}, {f"{MIG}1g.5gb": "1"}),
        pod({f"{MIG}1g.5gb.shared": "1"}, {f"{MIG}1g.5gb.shared": "1"}),
        "[unknown-resource] no node of cluster lab has nvidia.com/mig-1g.5gb. For"
        f" nvidia.com/mig-1g.5gb ask for nvidia.com/mig-1g.5gb.shared. {LAB_HAS}",
    ),
    Case(
        "unknown-resource",
        "single",
        pod({f"{MIG}2g.10gb": "1"}),
        pod(ONE),
        "[unknown-resource] no node of cluster single has nvidia.com/mig-2g.10gb. For"
        " nvidia.com/mig-2g.10gb ask for nvidia.com/gpu. It has nvidia.com/gpu (6 per node in pool"
        " thirds)",
    ),
    Case(
        "unknown-resource",
        "single",
        pod({"alpha.kubernetes.io/nvidia-gpu": "1"}),
        pod({}),
        "[unknown-resource] no node of cluster single has alpha.kubernetes.io/nvidia-gpu. It has"
        " nvidia.com/gpu (6 per node in pool thirds)",
    ),
    Case(
        "too-many",
        "lab",
        pod({GPU: "9"}),
        pod({GPU: "8"}),
        "[too-many] the pod asks for 9 nvidia.com/gpu, more than any node has (8 per node in pool"
        " hgx, 2 per node in pool t4)",
    ),
    Case(
        "too-many",
        "lab",
        pod({GPU: "5"}, {GPU: "4"}),
        pod({GPU: "5"}, {GPU: "3"}),
        "[too-many] the pod asks for 9 nvidia.com/gpu, more than any node has (8 per node in pool"
        " hgx, 2 per node in pool t4)",
    ),
    Case(
        "more-than-one-share",
        "lab",
        pod({f"{MIG}1g.5gb.shared": "2"}),
        pod(*[{f"{MIG}1g.5gb.shared": "1"}] * 28),
        "[more-than-one-share] a container asks for 2 nvidia.com/mig-1g.5gb.shared; each is a share"
        " of a GPU, and the device plugin fails a pod whose container asks for more than 1, which"
        " would be no more GPU. Ask for 1",
    ),
    Case(
        "more-than-one-share",
        "mps",
        pod({GPU: "6"}),
        pod(*[ONE] * 6),
        "[more-than-one-share] a container asks for 6 nvidia.com/gpu; each is a share of a GPU, and"
        " the device plugin fails a pod whose container asks for more than 1, which would be no"
        " more GPU. Ask for 1",
    ),
    Case(
        "more-than-one-share",
        "shares",
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "edge"}),
        pod(ONE, ONE, nodeSelector={"gpugen/pool": "edge"}),
        "[more-than-one-share] a container asks for 2 nvidia.com/gpu; the node selector leaves only"
        " pool edge, where each is a share of a GPU, and the device plugin fails a pod whose"
        " container asks for more than 1, which would be no more GPU. Ask for 1, or let the pod"
        " into pool whole (gpugen/pool=whole, nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB)",
    ),
    Case(
        "more-than-one-share",
        "tainted",
        pod({GPU: "8"}),
        pod({GPU: "8"}, tolerations=TEAM, nodeSelector={"gpugen/pool": "whole"}),
        ONLY_SHARES[0],
    ),
    Case(
        "more-than-one-share",
        "tainted",
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "edge"}, tolerations=TEAM),
        pod(*[ONE] * 8, nodeSelector={"gpugen/pool": "edge"}),
        "[more-than-one-share] a container asks for 2 nvidia.com/gpu; the node selector leaves only"
        " pool edge, where each is a share of a GPU, and the device plugin fails a pod whose"
        " container asks for more than 1, which would be no more GPU. Ask for 1, or let the pod"
        " into pool whole (gpugen/pool=whole, nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB)",
    ),
    Case(
        "untolerated-taint",
        "tainted",
        pod({GPU: "8"}, nodeSelector={"gpugen/pool": "whole"}),
        pod({GPU: "8"}, nodeSelector={"gpugen/pool": "whole"}, tolerations=TEAM),
        "[untolerated-taint] the pod does not tolerate the taints of any pool that it could run in:"
        " pool whole (lab.example/team=vision:NoSchedule). Add a toleration",
    ),
    Case(
        "wrong-pool",
        "tainted",
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "none"}),
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "whole"}, tolerations=TEAM),
        f"{RULED_OUT}pool whole (gpugen/pool=whole, nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB)",
    ),
    Case(
        "no-single-node",
        "lab",
        pod({GPU: "1", f"{MIG}2g.10gb": "1"}),
        pod({f"{MIG}3g.20gb": "1", f"{MIG}2g.10gb": "1"}),
        "[no-single-node] no node has all that the pod asks for: 1 nvidia.com/gpu and 1"
        f" nvidia.com/mig-2g.10gb. Cluster lab has {LAB_HAS.removeprefix('It has ')}",
    ),
    Case(
        "wrong-pool",
        "lab",
        pod(ONE, nodeSelector={"gpugen/pool": "cut"}),
        pod(ONE, nodeSelector={"gpugen/pool": "hgx"}),
        f"{RULED_OUT}{HGX}; {T4}",
    ),
    Case(
        "wrong-pool",
        "lab",
        pod({GPU: "3"}, nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"}),
        pod({GPU: "2"}, nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"}, tolerations=TEAM),
        f"{RULED_OUT}{HGX}",
    ),
    Case(
        "wrong-pool",
        "lab",
        pod(ONE, **affinity("In", "NVIDIA-A100-SXM4-40GB", "NVIDIA-L4")),
        pod(ONE, **affinity("In", "NVIDIA-H100-80GB-HBM3", "NVIDIA-L4")),
        f"{RULED_OUT}{HGX}; {T4}",
    ),
    Case(
        "wrong-pool",
        "lab",
        pod(ONE, **affinity("NotIn", "NVIDIA-H100-80GB-HBM3", "Tesla-T4")),
        pod(ONE, **affinity("NotIn", "Tesla-T4")),
        f"{RULED_OUT}{HGX}; {T4}",
    ),
    Case(
        "wrong-pool",
        "lab",
        pod({GPU: "4"}, nodeSelector={"lab.example/tier": "none"}, **affinity("DoesNotExist")),
        pod({GPU: "4"}, nodeSelector={"lab.example/tier": "none"}, **affinity("Exists")),
        f"{RULED_OUT}{HGX}",
    ),
    Case(
        "wrong-pool",
        "lab",
        pod({GPU: "4"}, **affinity_terms({})),
        pod({GPU: "4"}, **affinity_terms({}, {"matchFields": [ON_HGX]})),
        f"{RULED_OUT}{HGX}",
    ),
    Case(
        "wrong-pool",
        "long",
        pod(ONE, nodeSelector={"gpugen/pool": "none"}),
        pod(ONE, **affinity("DoesNotExist")),
        f"{RULED_OUT}pool quarters (gpugen/pool=quarters)",
    ),
    Case(
        "untolerated-taint",
        "lab",
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "t4"}),
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "t4"}, tolerations=TEAM),
        "[untolerated-taint] the pod does not tolerate the taints of any pool that it could run in:"
        " pool t4 (lab.example/team=vision:NoSchedule). Add a toleration",
    ),
    Case(
        "untolerated-taint",
        "older",
        pod(ONE, runtimeClassName="nvidia"),
        pod(ONE, runtimeClassName="nvidia", tolerations=[{"key": GPU, "operator": "Exists"}]),
        "[untolerated-taint] the pod does not tolerate the taints of any pool that it could run in:"
        " pool hgx (nvidia.com/gpu:NoSchedule). Add a toleration",
    ),
    Case(
        "visible-devices",
        "lab",
        seeing("all"),
        seeing("void"),
        "[visible-devices] a container sets NVIDIA_VISIBLE_DEVICES, which takes GPUs that"
        " the scheduler may have given to other pods. Remove it and ask for GPUs under"
        " resources.limits",
    ),
    Case(
        "other-resource",
        "lab",
        pod({"nvidia.com/gpus": "1"}, {"nvidia.com/gpus": "1", "nvidia.com/GPU": "1"}),
        pod({"lab.example/fpga": "1"}),
        "[other-resource] no pool of cluster lab advertises nvidia.com/gpus, nvidia.com/GPU; name"
        " it under components.guardrails.otherResources if something else advertises it",
    ),
    Case(
        "several-shares",
        "shares",
        pod({GPU: "2"}),
        pod({GPU: "2"}, nodeSelector={"gpugen/pool": "whole"}),
        "[several-shares] a container asks for 2 nvidia.com/gpu and may get it in pool edge; there"
        " each is a share of a GPU: several are no more GPU than 1, and the device plugin may fail"
        " the pod",
    ),
    Case(
        "several-instances",
        "single",
        pod({GPU: "2"}),
        pod(ONE, ONE),
        "[several-instances] a container asks for 2 nvidia.com/gpu and may get it in pool thirds;"
        " there each is a MIG instance, and one process uses 1, whatever it is given",
    ),
    Case(
        "runtime-class",
        "older",
        pod(ONE, tolerations=[{"key": GPU, "operator": "Exists"}]),
        pod(ONE, tolerations=[{"key": GPU, "operator": "Exists"}], runtimeClassName="nvidia"),
        "[runtime-class] the pod names no runtime class, and without nvidia its containers see no"
        " GPU. Write runtimeClassName: nvidia",
    ),
    Case(
        "idle-scheduler",
        "single",
        pod(ONE, schedulerName="gpu-binpack"),
        pod(ONE, schedulerName="default-scheduler"),
        "[idle-scheduler] the pod names scheduler gpu-binpack, which the spec of cluster single"
        " does not switch on; if nothing serves that name, the pod stays Pending without an event",
    ),
]
ORDERED = sorted(CASES, key=lambda c: c.cluster)  # each cluster is applied once a mode


@pytest.mark.parametrize("case", ORDERED, ids=lambda c: f"{c.cluster}-{c.rule}")
@pytest.mark.parametrize("mode", ["warn", "enforce"])
def test_rule(server: Guarded, mode: str, case: Case) -> None:
    server.use(spec_of(case.cluster, {"mode": mode}))
    for kind in ("Pod", "Deployment"):
        bad, good = (i if kind == "Pod" else made_by(kind, i) for i in (case.bad, case.good))
        passed = server.ask(good)
        assert passed.is_good, passed.message
        assert told(passed) == []
        rule, says = case.rule, case.says
        if kind != "Pod" and says == ONLY_SHARES[0]:
            rule, says = "template-taint", ONLY_SHARES[1]
        if kind != "Pod" and rule == "untolerated-taint":
            rule = "template-taint"  # something may add tolerations to the pods
        answer, says = server.ask(bad), says.replace(case.rule, rule, 1)
        if mode == "enforce" and rule in CERTAIN:
            assert answer.status == 403
            assert answer.message.partition('" ')[2] == refusal(REQUESTS, says)
        else:
            assert answer.is_good, answer.message
            assert told(answer) == [warning(REQUESTS if rule in CERTAIN else ADVICE, says)]

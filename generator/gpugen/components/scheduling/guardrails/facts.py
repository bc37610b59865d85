"""What the policies know of a cluster, read off the algebra, as variables of CEL.

Of a pool there is one row in each table, and nothing is said of several pools together: changes of
two pools never meet on a line. Only labels that are certain are among them: ours, the spec's, and
the product where the catalogue knows its one name and a component of ours sets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpugen.checks.mig_names import LABEL_LIMIT
from gpugen.components import options_schema
from gpugen.components.scheduling.guardrails import cel
from gpugen.gpu.mig import resource_name
from gpugen.kube import scheduling
from gpugen.model.options import Guardrails, Scheduler
from gpugen.model.prediction import ResourcePrediction
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode

PRODUCT = "nvidia.com/gpu.product"
GFD, TOOLKIT, RUNTIME_CLASS = "gpu-feature-discovery", "container-toolkit", "runtime-class"
KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")


def texts(spec: ClusterSpec, options: Guardrails) -> dict[str, str]:
    """Return all facts as CEL."""
    others = frozenset(options.other_resources)
    pools = {pool.name: pool for pool in spec.pools}

    def table(row: Callable[[NodePool], cel.Row]) -> str:
        return cel.table({name: row(pool) for name, pool in pools.items()})

    def resources(which: Callable[[NodePool, ResourcePrediction], bool]) -> str:
        return table(lambda p: [r.name for r in _resources(p, others) if which(p, r)])

    return {
        "cluster": cel.literal(spec.name),
        "others": cel.listing(sorted(others)),
        "completed": cel.listing(_completed(spec, options)),
        "idleScheduler": cel.literal(_idle_scheduler(spec)),
        "scheduler": cel.literal(scheduling.name(spec)),
        "variable": cel.literal(_device_variable(spec)),
        "pools": cel.listing(list(pools)),
        "units": table(lambda pool: {r.name: r.units for r in _resources(pool, others)}),
        "shares": resources(lambda _, r: r.replicas > 1),
        "single": resources(lambda p, r: r.replicas > 1 and _gives_one(p)),
        "instances": resources(lambda _, r: bool(r.profile)),
        "labels": table(lambda pool: _labels(spec, pool)),
        "taints": table(_taints),
        "instead": table(lambda pool: _instead(pool.prediction.resources)),
    }


def holding(spec: ClusterSpec, options: Guardrails) -> frozenset[str]:
    """Return the facts that hold, by which rows are chosen; none depends on a single pool."""
    scheduler = spec.find(Scheduler)
    is_main = scheduler is not None and scheduling.is_main(spec, scheduler)
    facts = {
        "": True,
        "completed": bool(_completed(spec, options)),
        "idleScheduler": bool(_idle_scheduler(spec)),
        "needsRuntimeClass": _needs_runtime_class(spec),
        "runtimeClassMissing": _needs_runtime_class(spec) and not scheduling.completes(spec),
        "mainScheduler": is_main and bool(scheduling.name(spec)),
        "secondScheduler": not is_main and bool(scheduling.name(spec)),
    }
    return frozenset(name for name, holds in facts.items() if holds)


def _resources(pool: NodePool, others: frozenset[str]) -> list[ResourcePrediction]:
    """Return what is checked; what something else advertises too is not."""
    return [r for r in pool.prediction.resources if r.name not in others]


def _gives_one(pool: NodePool) -> bool:
    """Tell whether the plugin gives a container one share only."""
    return pool.sharing.mode is SharingMode.MPS or pool.sharing.fail_requests_greater_than_one


def _completed(spec: ClusterSpec, options: Guardrails) -> list[dict[str, str]]:
    keys = sorted(options.tolerated_taints) if scheduling.completes(spec) else []
    return [{"key": key, "effect": effect} for key in keys for effect in KEEPS_PODS_AWAY]


def _idle_scheduler(spec: ClusterSpec) -> str:
    """Return the name that pods may expect a scheduler of ours to have, where there is none."""
    schema = options_schema(scheduling.COMPONENT) or {}
    default: str = schema["properties"]["schedulerName"]["default"]
    return "" if scheduling.COMPONENT in spec.options else default


def _uses_cdi(spec: ClusterSpec) -> bool:
    return any(strategy.startswith("cdi-") for strategy in spec.device_list_strategy)


def _needs_runtime_class(spec: ClusterSpec) -> bool:
    """Tell whether pods see GPUs only by RuntimeClass nvidia, and it exists.

    Where it is the default runtime of all hosts they need none. By CDI they need none either, and
    must not be given one: the plugin then leaves NVIDIA_VISIBLE_DEVICES as the image has it, often
    "all", and that runtime would hand out every GPU.
    Source: k8s-device-plugin v0.19.3, internal/plugin/server.go, getAllocateResponse.
    """
    exists = RUNTIME_CLASS in spec.options or spec.kubernetes.distribution.has_runtime_class
    is_default = all(pool.host.default_runtime for pool in spec.pools)
    return exists and not _uses_cdi(spec) and not is_default


def _device_variable(spec: ClusterSpec) -> dict[str, bool]:
    """Tell which containers NVIDIA_VISIBLE_DEVICES gives GPUs that nobody has allotted to them.

    Only the NVIDIA runtime reads it. needsClass: a pod gets that runtime by its class alone, as by
    CDI; else every pod that sees GPUs has it. needsPrivileges: the toolkit takes the devices from
    the mounts of the plugin, and the variable of privileged containers alone. isRefused: also where
    the plugin has mounted nothing, because the toolkit's configuration is ours.
    Source: nvidia-container-toolkit, cmd/nvidia-container-runtime-hook, getDevices;
    k8s-device-plugin v0.19.3, internal/plugin/server.go, getAllocateResponse.
    """
    by_default = any(pool.host.default_runtime for pool in spec.pools)
    by_mounts = "volume-mounts" in spec.device_list_strategy
    return {
        "needsClass": _uses_cdi(spec) and not by_default,
        "needsPrivileges": by_mounts,
        "isRefused": by_mounts and TOOLKIT in spec.options,
    }


def _labels(spec: ClusterSpec, pool: NodePool) -> dict[str, str]:
    """Return the labels by which pods choose nodes and that are certain, beside gpugen/pool."""
    labels = dict(pool.labels)
    product = pool.prediction.labels.get(PRODUCT, "")
    if product and len(product) <= LABEL_LIMIT and GFD in spec.options:
        labels[PRODUCT] = product
    return dict(sorted(labels.items()))


def _taints(pool: NodePool) -> list[list[str]]:
    return [
        [taint.key, taint.value, taint.effect]
        for taint in pool.taints
        if taint.effect in KEEPS_PODS_AWAY
    ]


def _instead(resources: Iterable[ResourcePrediction]) -> dict[str, str]:
    """Return the names that instances have under another strategy, with those that they have."""
    named = ((resource_name(r.profile), r) for r in resources if r.profile)
    return {plain: r.name for plain, r in named if plain != r.base}

"""What the policies know of a cluster, read off the algebra: units, labels and taints per pool.

Only labels that are certain are among them: ours, the spec's, and the product where the catalogue
knows its one name and a component of ours sets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpugen import kube
from gpugen.checks.mig_names import LABEL_LIMIT
from gpugen.gpu.mig import resource_name
from gpugen.gpu.prediction import SHARED_SUFFIX
from gpugen.kube.scheduling import completes
from gpugen.model.options import Guardrails
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode, Taint

PRODUCT = "nvidia.com/gpu.product"
GFD, TOOLKIT = "gpu-feature-discovery", "container-toolkit"
KEEPS_PODS_AWAY = ("NoSchedule", "NoExecute")
NAMED_POOLS, NAMED_RESOURCES = 6, 12  # a warning header has room for about 4000 characters


class PoolFacts(NamedTuple):
    """One pool as a pod meets it."""

    name: str
    units: Mapping[str, int]  # resource -> units per node
    single: tuple[str, ...]  # resources of which the plugin gives a container one unit only
    shares: tuple[str, ...]  # resources whose units are shares of a GPU
    instances: tuple[str, ...]  # resources whose units are MIG instances
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]  # those that keep pods away


class DeviceVariable(NamedTuple):
    """Which containers NVIDIA_VISIBLE_DEVICES gives GPUs that the device plugin has not allotted.

    Only the NVIDIA runtime reads it. needs_class: a pod gets that runtime by its class alone, as by
    CDI; else every pod that sees GPUs has it. needs_privileges: the toolkit takes the devices from
    the mounts of the plugin, and the variable of privileged containers alone. is_refused: also
    where the plugin has mounted nothing, because the toolkit's configuration is ours.
    Source: nvidia-container-toolkit, cmd/nvidia-container-runtime-hook, getDevices;
    k8s-device-plugin v0.19.3, internal/plugin/server.go, getAllocateResponse.
    """

    needs_class: bool
    needs_privileges: bool
    is_refused: bool


class Facts(NamedTuple):
    """The cluster, and names of resources that pods take for others."""

    cluster: str
    pools: tuple[PoolFacts, ...]
    others: tuple[str, ...]  # names that something else advertises, which are not judged
    instead: Mapping[str, str]  # name that no node has -> the one that is meant
    completed_keys: tuple[str, ...]  # taints that pods are made to tolerate; empty: none are
    variable: DeviceVariable

    @property
    def names(self) -> list[str]:
        """The resources that are judged, sorted."""
        return sorted({name for pool in self.pools for name in pool.units})

    def where(self, name: str) -> str:
        """Say how many units of a resource nodes have, most first."""
        by_count: dict[int, list[str]] = {}
        for pool in self.pools:
            if name in pool.units:
                by_count.setdefault(pool.units[name], []).append(pool.name)
        return ", ".join(
            f"{count} per node in {_pools(by_count[count])}"
            for count in sorted(by_count, reverse=True)
        )

    @property
    def overview(self) -> str:
        """Say what the cluster has."""
        shown = [f"{name} ({self.where(name)})" for name in self.names[:NAMED_RESOURCES]]
        rest = len(self.names) - len(shown)
        return "; ".join([*shown, *([f"{rest} more"] if rest else [])])


def facts_of(spec: ClusterSpec, options: Guardrails) -> Facts:
    """Read the facts off a spec; what something else advertises too is not judged."""
    others = tuple(sorted(options.other_resources))
    pools = (_pool(spec, pool, others) for pool in spec.pools)
    names = {name for pool in spec.pools for name in pool.prediction.capacity}.union(others)
    return Facts(
        cluster=spec.name,
        pools=tuple(pool for pool in pools if pool.units),
        others=others,
        instead=dict(sorted(_instead(spec.pools, names))),
        completed_keys=tuple(sorted(options.tolerated_taints)) if completes(spec) else (),
        variable=_variable(spec),
    )


def _variable(spec: ClusterSpec) -> DeviceVariable:
    uses_cdi = any(strategy.startswith("cdi-") for strategy in spec.device_list_strategy)
    by_mounts = "volume-mounts" in spec.device_list_strategy
    return DeviceVariable(
        needs_class=uses_cdi and not any(pool.host.default_runtime for pool in spec.pools),
        needs_privileges=by_mounts,
        is_refused=by_mounts and TOOLKIT in spec.options,
    )


def _pool(spec: ClusterSpec, pool: NodePool, others: tuple[str, ...]) -> PoolFacts:
    resources = [r for r in pool.prediction.resources if r.name not in others]
    shares = tuple(r.name for r in resources if r.replicas > 1)
    refuses = pool.sharing.mode is SharingMode.MPS or pool.sharing.fail_requests_greater_than_one
    return PoolFacts(
        name=pool.name,
        units={r.name: r.units for r in resources},
        single=shares if refuses else (),
        shares=shares,
        instances=tuple(r.name for r in resources if r.profile),
        labels=_labels(spec, pool),
        taints=tuple(taint for taint in pool.taints if taint.effect in KEEPS_PODS_AWAY),
    )


def _labels(spec: ClusterSpec, pool: NodePool) -> dict[str, str]:
    """Return the labels by which pods choose nodes and that are certain."""
    labels = {**pool.labels, kube.POOL_LABEL: pool.name}
    product = pool.prediction.labels.get(PRODUCT, "")
    if product and len(product) <= LABEL_LIMIT and GFD in spec.options:
        labels[PRODUCT] = product
    return dict(sorted(labels.items()))


def _instead(pools: Iterable[NodePool], names: set[str]) -> Iterable[tuple[str, str]]:
    """Pair names that no node has with the name under which the same thing is advertised."""
    for pool in pools:
        for resource in pool.prediction.resources:
            wrong = [resource.base, resource.base + SHARED_SUFFIX]
            if resource.profile:
                plain = resource_name(resource.profile)
                wrong += [plain, plain + SHARED_SUFFIX]
            yield from ((name, resource.name) for name in wrong if name not in names)


def _pools(names: list[str]) -> str:
    shown = [*names[:NAMED_POOLS]]
    if len(names) > NAMED_POOLS:
        shown.append(f"{len(names) - NAMED_POOLS} more")
    return f"pool {shown[0]}" if len(shown) == 1 else f"pools {', '.join(shown)}"

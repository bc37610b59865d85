"""Which components are on without being asked for: a line for each, a column for each stack.

A rule is asked for every pool; a component is on if it holds for one. What the spec says of a
component (``components.<name>``) wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gpugen.kube.gpu_access import is_paused_for_mig
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode

Rule: TypeAlias = Callable[[ClusterSpec, NodePool], bool]


def always(_spec: ClusterSpec, _pool: NodePool) -> bool:
    """The component belongs to every pool."""
    return True


def asked(_spec: ClusterSpec, _pool: NodePool) -> bool:
    """The component is on only where the spec asks for it."""
    return False


STACKS = ("device-plugin",)
TABLE: dict[str, tuple[Rule, ...]] = {
    "container-toolkit": (always,),
    "cuda-toolkit": (lambda _, pool: pool.host.cuda_toolkit is not None,),
    "dcgm": (lambda _, pool: pool.host.dcgm is not None,),
    "dcgm-exporter": (always,),
    "device-plugin": (always,),
    "driver": (always,),
    "gpu-feature-discovery": (always,),
    "gpu-node": (lambda spec, _: bool(spec.access.kubeconfig_context),),
    "gpu-tuning": (lambda _, pool: pool.host.tuning is not None,),
    "grafana": (asked,),
    "guardrails": (always,),
    "mig-manager": (lambda _, pool: is_paused_for_mig(pool),),
    "mig-service": (lambda _, pool: bool(pool.prediction.mig_config_name),),
    "mps-control-daemon": (lambda _, pool: pool.sharing.mode is SharingMode.MPS,),
    "namespaces": (always,),
    "network-policies": (lambda spec, _: spec.release.features.network_policies,),
    "node-feature-discovery": (always,),
    "prerequisites": (always,),
    "prometheus": (asked,),
    "runtime-class": (lambda spec, _: not spec.kubernetes.distribution.has_runtime_class,),
    "scheduler": (asked,),
}


def pools(spec: ClusterSpec, component: str) -> tuple[NodePool, ...]:
    """Return the pools whose stack has the component by itself."""
    rule = TABLE[component][STACKS.index(spec.stack)]
    return tuple(pool for pool in spec.pools if rule(spec, pool))

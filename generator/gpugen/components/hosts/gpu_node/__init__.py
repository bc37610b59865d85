"""The Kubernetes node of a host: labels, taints, cordon and drain, the wait for its GPUs.

Labels of other components come through the assembly; only the pool's own are added here.
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components import Component
from gpugen.kube import gpu_access
from gpugen.model.assembly import Contribution, Expression
from gpugen.model.spec import ClusterSpec, MigManager, NodePool

ROLE = "gpu_node"
PLUGIN = "device-plugin"  # DaemonSets are called <component>-<pool>
MIG_MANAGER = "mig-manager"
NAMES = {
    "short": Expression("{{ inventory_hostname_short | lower }}"),
    "fqdn": Expression("{{ inventory_hostname | lower }}"),
}


def contribute(spec: ClusterSpec, _: None) -> Contribution:
    """Return the role, the labels and taints of every pool, and how to reach the cluster."""
    return Contribution(
        node_labels={pool.name: {**pool.labels, kube.POOL_LABEL: pool.name} for pool in spec.pools},
        host_variables={pool.name: _variables(spec, pool) for pool in spec.pools},
        cluster_variables={
            "gpu_node_context": spec.access.kubeconfig_context,
            "gpu_node_cluster_uid": spec.access.cluster_uid,
            "gpu_node_namespace": spec.namespaces.agents,
            "gpu_node_drain_timeout": spec.drain.timeout,
            "gpu_node_drain_empty_dir": spec.drain.delete_empty_dir,
            "gpu_node_drain_past_budgets": spec.drain.ignore_pod_disruption_budgets,
            "gpu_node_kubelet_root": spec.kubernetes.distribution.kubelet_root,
            "gpu_node_registration_file": spec.kubernetes.distribution.registration_file,
        },
        expressions={"gpu_node_name": NAMES[spec.access.node_names]},
        roles=(ROLE,),
    )


def _variables(spec: ClusterSpec, pool: NodePool) -> dict[str, Any]:
    is_cut_by_host = pool.mig.manager is MigManager.HOST and pool.prediction.mig_config_name != ""
    is_cut_by_cluster = MIG_MANAGER in spec.options and gpu_access.is_paused_for_mig(pool)
    return {
        "gpu_node_taints": [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in pool.taints
        ],
        "gpu_node_plugin": f"{PLUGIN}-{pool.name}" if PLUGIN in spec.options else "",
        "gpu_node_resources": pool.prediction.capacity if PLUGIN in spec.options else {},
        "gpu_node_mig_manager": f"{MIG_MANAGER}-{pool.name}" if is_cut_by_cluster else "",
        "gpu_node_mig_is_hosts": is_cut_by_host,
    }


COMPONENT = Component(contribute)

"""The table of what each service account may do, which is what its program calls."""

from __future__ import annotations

from support.lab.cluster.trees import Rendered

WORKLOADS = ("DaemonSet", "Deployment")
FEATURES, RULES = "nodefeatures.nfd.k8s-sigs.io", "nodefeaturerules.nfd.k8s-sigs.io"
LEASES = "leases.coordination.k8s.io"
MASTER_LEASE = "nfd-master.nfd.kubernetes.io"
# What each program calls; sources stand with the components. A scheduler has the roles that
# Kubernetes keeps for it, and its own lease.
RIGHTS = {
    "nfd-master": [
        "* get,list,patch nodes",
        f"* list,watch {FEATURES},{RULES}",
        f"controllers create {LEASES}",
        f"controllers get,update {LEASES} {MASTER_LEASE}",
    ],
    "nfd-gc": [
        "* list,watch nodes",
        f"* list,delete {FEATURES}",
    ],
    "nfd-worker": [f"agents get,create,update {FEATURES}", "agents get pods"],
    "gpu-feature-discovery": [f"agents get,create,update {FEATURES}", "agents get pods"],
    "mig-manager": ["* get,list,watch,patch nodes", "agents list pods"],
    "dcgm-exporter": ["* list,watch pods"],
    "gpu-scheduler": [
        f"controllers create {LEASES}",
        f"controllers get,update {LEASES} gpu-scheduler",
        "kube-system get configmaps extension-apiserver-authentication",
        "kube-system list,watch configmaps extension-apiserver-authentication",
    ],
}
BUILT_IN = {"gpu-scheduler": ("system:kube-scheduler", "system:volume-scheduler")}


def without_workloads(tree: Rendered) -> Rendered:
    """Return a tree without what runs, so that only the lab runs programs."""
    items = tuple(i for i in tree.items if i.object["kind"] not in WORKLOADS)
    return Rendered(tree.spec, tree.plan, items)

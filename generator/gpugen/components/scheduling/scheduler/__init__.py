"""A kube-scheduler with bin packing for GPUs: it fills a node before it uses the next.

Pods select it by ``spec.schedulerName``. If the spec lists the hosts of the control plane it is a
profile of the main scheduler (main.py), which has one queue and one view of the nodes. Otherwise it
is a second scheduler, never on by default, because two schedulers that fill the same nodes do not
see each other's decisions. Source: kubernetes v1.36.3, pkg/scheduler/apis/config,
pkg/scheduler/framework/plugins; Kubernetes documentation, "Configure Multiple Schedulers" and
"Resource Bin Packing".
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components import Component
from gpugen.components.scheduling.scheduler import main, packing
from gpugen.kube import scheduling
from gpugen.model.assembly import Contribution, KubeObject, Placed, Wave
from gpugen.model.options import Scheduler
from gpugen.model.spec import ClusterSpec

NAME = scheduling.DEPLOYMENT
COMPONENT_NAME = scheduling.COMPONENT
CONFIG_FOLDER = "/etc/kubernetes/gpu-scheduler"
PORT = 10259  # HTTPS with a certificate of its own; /livez and /readyz need no login
USER = 65532  # the image sets none, and root is not allowed here
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def contribute(spec: ClusterSpec, options: Scheduler) -> Contribution:
    """Configure the main scheduler on its hosts, or add a second one and its rights."""
    if scheduling.is_main(spec, options):
        return main.contribution(spec, options)
    config = kube.to_yaml(packing.of_second(spec, options, NAME))
    objects = (
        *_access(spec.namespaces.controllers),
        kube.config_map(NAME, spec.namespaces.controllers, {"config.yaml": config}),
        _deployment(spec, options, kube.checksum(config)),
    )
    return Contribution(objects=tuple(Placed(Wave.SCHEDULING, item) for item in objects))


def _access(namespace: str) -> list[KubeObject]:
    """Return the account with the roles of a scheduler, and the right to its own lease.

    The built-in role covers only the lease named kube-scheduler.
    """
    create = kube.rule(["coordination.k8s.io"], ["leases"], ["create"])
    hold = kube.rule(["coordination.k8s.io"], ["leases"], ["get", "update"])
    prefix = f"gpugen-{COMPONENT_NAME}"
    return [
        kube.service_account(NAME, namespace),
        *(
            kube.cluster_role_binding(f"{prefix}-{role}", f"system:{role}", NAME, namespace)
            for role in ("kube-scheduler", "volume-scheduler")
        ),
        kube.role_binding(
            f"{prefix}-authentication-reader",
            "kube-system",
            "extension-apiserver-authentication-reader",
            NAME,
            namespace,
        ),
        kube.role(NAME, namespace, [create, {**hold, "resourceNames": [NAME]}]),
        kube.role_binding(NAME, namespace, NAME, NAME),
    ]


def _deployment(spec: ClusterSpec, options: Scheduler, checksum: str) -> KubeObject:
    container: dict[str, Any] = {
        "name": NAME,
        "image": kube.image(spec, COMPONENT_NAME),
        "command": ["kube-scheduler"],
        "args": [f"--config={CONFIG_FOLDER}/config.yaml", f"--secure-port={PORT}"],
        "ports": [{"name": "https", "containerPort": PORT}],
        "startupProbe": _probe("/livez", failures=30),
        "livenessProbe": _probe("/livez", failures=8),
        "readinessProbe": _probe("/readyz", failures=3),
        "securityContext": {**kube.restricted_security(), "runAsUser": USER, "runAsGroup": USER},
        "volumeMounts": [kube.mount("config", CONFIG_FOLDER, read_only=True)],
        **({"resources": options.resources} if options.resources else {}),
    }
    return kube.deployment(
        NAME,
        spec,
        containers=[container],
        volumes=[kube.config_volume("config", NAME)],
        service_account=NAME,
        replicas=options.replicas,
        checksum=checksum,
        annotations=options.annotations,
        priority="system-cluster-critical",
        tolerations=[{"key": CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}],
        affinity=_affinity(),
    )


def _probe(path: str, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "https", "scheme": "HTTPS"},
        "periodSeconds": 10,
        "timeoutSeconds": 15,
        "failureThreshold": failures,
    }


def _affinity() -> dict[str, Any]:
    """Return a preference for nodes without GPUs, and for replicas on different nodes."""
    without_gpus = {"matchExpressions": [{"key": kube.POOL_LABEL, "operator": "DoesNotExist"}]}
    apart = {
        "labelSelector": {"matchLabels": {kube.NAME_LABEL: NAME}},
        "topologyKey": "kubernetes.io/hostname",
    }
    wish = "preferredDuringSchedulingIgnoredDuringExecution"
    return {
        "nodeAffinity": {wish: [{"weight": 100, "preference": without_gpus}]},
        "podAntiAffinity": {wish: [{"weight": 100, "podAffinityTerm": apart}]},
    }


COMPONENT = Component(contribute, Scheduler)

"""How Prometheus finds and reads the exporters; the series come out alike in every mode.

Targets carry ``job``, ``node``, ``pool`` and, as ``instance``, the node's name; nothing of the
exporter's own pod, so that ``pod``, ``namespace`` and ``container`` are always the workload's.
"""

from __future__ import annotations

from typing import Any

from gpugen import kube
from gpugen.components.monitoring import metrics
from gpugen.hosts import ranges
from gpugen.kube import exporters
from gpugen.model.assembly import KubeObject
from gpugen.model.options import DcgmExporter, Prometheus
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.text.yaml import Mark, of_pools

DEFAULT_TIMEOUT = 10  # seconds; Prometheus' own default
TARGETS = "targets"
_NODE = "__meta_kubernetes_pod_node_name"
_POOL = "__meta_kubernetes_pod_label_gpugen_pool"
_OWN_POD = "container|endpoint|namespace|pod|service"


def interval(spec: ClusterSpec, options: Prometheus) -> int:
    """Return the seconds between two scrapes: the collector's unless the spec says otherwise."""
    own = options.interval or spec.own(DcgmExporter).interval
    return metrics.seconds(own)


def timeout(spec: ClusterSpec, options: Prometheus) -> int:
    """Return the seconds that a scrape may take."""
    if options.scrape_timeout:
        return metrics.seconds(options.scrape_timeout)
    return min(DEFAULT_TIMEOUT, interval(spec, options))


def service_monitor(spec: ClusterSpec, options: Prometheus) -> KubeObject:
    """Return the ServiceMonitor of the exporters."""
    name = exporters.NAME
    labels = {kube.NAME_LABEL: name, **(options.selector_labels or {})}
    namespace = options.namespace or spec.namespaces.agents
    endpoint: dict[str, Any] = {
        "port": exporters.PORT_NAME,
        "interval": f"{interval(spec, options)}s",
        "scrapeTimeout": f"{timeout(spec, options)}s",
        "honorLabels": True,
        "relabelings": [_camel(step) for step in [*_from_pod(), _drop_own_pod()]],
        **_operators_login(spec),
    }
    if dropped := _unusable(spec):
        endpoint["metricRelabelings"] = [_camel(step) for step in dropped]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": kube.metadata(name, namespace=namespace, labels=labels),
        "spec": {
            "jobLabel": kube.NAME_LABEL,
            "selector": {"matchLabels": {kube.NAME_LABEL: name}},
            "namespaceSelector": {"matchNames": [spec.namespaces.agents]},
            "endpoints": [endpoint],
        },
    }


def scrape_config(spec: ClusterSpec, options: Prometheus) -> list[dict[str, Any]]:
    """Return the fragment of a Prometheus configuration: one job that finds pods, or reads files.

    In mode ``static`` the files lie beside it, one per pool.
    """
    job: dict[str, Any] = {
        "job_name": exporters.NAME,
        "honor_labels": True,
        "scrape_interval": f"{interval(spec, options)}s",
        "scrape_timeout": f"{timeout(spec, options)}s",
        **_login(spec, options),
    }
    if options.mode == "static":
        job["file_sd_configs"] = [{"files": [f"{TARGETS}/*.yaml"]}]
    else:
        job["kubernetes_sd_configs"] = [
            {
                "role": "pod",
                "namespaces": {"names": [spec.namespaces.agents]},
                "selectors": [
                    {"role": "pod", "label": f"{kube.NAME_LABEL}={exporters.NAME}"},
                ],
            }
        ]
        port = {
            "source_labels": ["__meta_kubernetes_pod_container_port_name"],
            "regex": exporters.PORT_NAME,
            "action": "keep",
        }
        job["relabel_configs"] = [port, *_from_pod()]
    if dropped := _unusable(spec):
        job["metric_relabel_configs"] = dropped
    return [job]


def targets(spec: ClusterSpec, pool: NodePool) -> list[dict[str, Any]]:
    """Return a pool's exporters as file discovery reads them: one entry per host, expanded."""
    return [
        {
            "targets": [_address(line.address or host)],
            "labels": {"instance": node, "node": node, "pool": pool.name},
        }
        for line in pool.hosts
        for host in line.hosts
        for node in [ranges.node_name(spec, line, host)]
    ]


def secret_folder(spec: ClusterSpec, options: Prometheus) -> str:
    """Return where Prometheus finds the keys of the scrape's Secret as files; empty without one.

    The operator mounts what ``secrets`` of its Prometheus object names below /etc/prometheus.
    """
    exporter = spec.find(DcgmExporter)
    web = exporter.web_config if exporter else None
    if not web or not web.scrape_secret:
        return ""
    root = "" if options.mode == "static" else "/etc/prometheus/"
    return f"{root}secrets/{web.scrape_secret}"


def _login(spec: ClusterSpec, options: Prometheus) -> dict[str, Any]:
    """Return how a scrape job meets the exporter's web configuration."""
    web = spec.own(DcgmExporter).web_config
    folder = secret_folder(spec, options)
    if not web:
        return {}
    job: dict[str, Any] = {"scheme": web.scheme}
    authority = {"ca_file": f"{folder}/ca.crt"} if folder else {}
    name = {"server_name": web.server_name} if web.server_name else {}
    if web.scheme == "https" and (authority or name):
        job["tls_config"] = {**authority, **name}
    if web.basic_auth:
        files = {f"{key}_file": f"{folder}/{key}" for key in ("username", "password")}
        job["basic_auth"] = files
    return job


def _operators_login(spec: ClusterSpec) -> dict[str, Any]:
    """Return the same as the operator spells it, which reads the Secret itself."""
    web = spec.own(DcgmExporter).web_config
    if not web:
        return {}

    secret = web.scrape_secret

    def key(of: str) -> dict[str, str | None]:
        return {"name": secret, "key": of}

    endpoint: dict[str, Any] = {"scheme": web.scheme}
    authority = {"ca": {"secret": key("ca.crt")}} if web.scrape_secret else {}
    name = {"serverName": web.server_name} if web.server_name else {}
    if web.scheme == "https" and (authority or name):
        endpoint["tlsConfig"] = {**authority, **name}
    if web.basic_auth:
        endpoint["basicAuth"] = {"username": key("username"), "password": key("password")}
    return endpoint


def _address(host: str) -> str:
    return f"[{host}]:{exporters.PORT}" if ":" in host else f"{host}:{exporters.PORT}"


def _from_pod() -> list[dict[str, Any]]:
    return [
        {"source_labels": [_NODE], "target_label": "node"},
        {"source_labels": [_NODE], "target_label": "instance"},
        {"source_labels": [_POOL], "target_label": "pool"},
    ]


def _drop_own_pod() -> dict[str, Any]:
    """Return the step that forgets the exporter's pod, which the operator puts on every series."""
    return {"regex": _OWN_POD, "action": "labeldrop"}


def _unusable(spec: ClusterSpec) -> list[dict[str, Any] | Mark]:
    """Return a step per shared pool that drops readings per pod which are always 0.

    The first is for exporters of unknown pools, and keeps the list from being empty; every pool has
    its mark, so that branches that share two pools touch no common line.

    On shared pools the exporter reports utilisation and memory per pod by process, whom it cannot
    see without the host's process namespace and the API: 0 for every pod, beside the true reading
    of the GPU. Source: NVIDIA/dcgm-exporter 4.5.3-4.8.2 internal/pkg/transformation/kubernetes.go.
    """
    if spec.own(DcgmExporter).per_pod_usage:
        return []
    steps = {p.name: [_drop_per_pod(p.name)] * metrics.is_shared(p) for p in spec.pools}
    return [_drop_per_pod(""), *of_pools(steps)]


def _drop_per_pod(pool: str) -> dict[str, Any]:
    return {
        "source_labels": ["pool", "__name__", "pod"],
        "regex": f"{pool};DCGM_FI_DEV_(GPU_UTIL|FB_USED);.+",
        "action": "drop",
    }


def _camel(step: dict[str, Any] | Mark) -> dict[str, Any] | Mark:
    """Return a relabelling step as the operator spells it."""
    if isinstance(step, Mark):
        return step
    names = {"source_labels": "sourceLabels", "target_label": "targetLabel"}
    return {names.get(key, key): value for key, value in step.items()}

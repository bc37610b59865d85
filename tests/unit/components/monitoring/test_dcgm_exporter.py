"""The DCGM exporter: an agent and a list of metrics per pool, with the least privileges."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.components.monitoring.dcgm_exporter.checks import field_ids
from gpugen.kube import exporters
from gpugen.model.assembly import KubeObject, Wave
from gpugen.model.spec import ClusterSpec
from support.component_specs import (
    cluster,
    container,
    contribution,
    environment,
    mounts,
    objects,
    pod,
    pool,
)

NAME = "dcgm-exporter"
MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
RENAMED = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}, "rename": True}


def agent(spec: ClusterSpec, name: str = "a") -> KubeObject:
    return objects(spec, NAME)[f"DaemonSet/{NAME}-{name}"]


def one(exporter: Mapping[str, Any] = {}, **more: Any) -> KubeObject:
    return agent(cluster(pool(**more), components={NAME: exporter}))


def test_one_service_and_one_agent_with_its_metrics_per_pool() -> None:
    placed = contribution(cluster(pool("a"), pool("b")), NAME).objects
    assert {p.wave for p in placed} == {Wave.MONITORING}
    assert [(p.pool, p.object["kind"]) for p in placed] == [
        ("", "Service"),
        *((name, kind) for name in ("a", "b") for kind in ("ConfigMap", "DaemonSet")),
    ]


def test_service_finds_the_agents_of_all_pools() -> None:
    spec = cluster(pool("a"), pool("b"))
    service = objects(spec, NAME)["Service/dcgm-exporter"]["spec"]
    for name in ("a", "b"):
        workload = agent(spec, name)
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert service["selector"].items() <= labels.items()
        ports = [port["name"] for port in container(workload)["ports"]]
        assert [port["targetPort"] for port in service["ports"]] == ports


def test_the_list_of_metrics_is_mounted_where_it_is_looked_for() -> None:
    spec = cluster()
    made = objects(spec, NAME)
    (name,) = made["ConfigMap/dcgm-exporter-a"]["data"]
    volume = next(v for v in pod(made["DaemonSet/dcgm-exporter-a"])["volumes"] if "configMap" in v)
    assert volume["configMap"]["name"] == "dcgm-exporter-a"
    folder = next(
        m["mountPath"]
        for m in container(made["DaemonSet/dcgm-exporter-a"])["volumeMounts"]
        if m["name"] == volume["name"]
    )
    assert environment(agent(spec))["DCGM_EXPORTER_COLLECTORS"] == f"{folder}/{name}"


def test_the_list_is_read_as_the_exporter_reads_it() -> None:
    """Three columns, known fields, each id once; Source: counter_config.go, ExtractCounters."""
    spec = cluster(pool(model="h100-sxm5-80gb", count=8))
    (text,) = objects(spec, NAME)["ConfigMap/dcgm-exporter-a"]["data"].values()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = [[column.strip() for column in row] for row in csv.reader(lines)]
    assert {len(row) for row in rows} == {3}
    assert '"' not in text
    ids = [field_ids()[field] for field, _, _ in rows]
    assert len(set(ids)) == len(ids)


def test_a_change_of_metrics_rolls_the_pods() -> None:
    def checksum(change: dict[str, Any]) -> str:
        template = one({"metrics": change})["spec"]["template"]
        return str(template["metadata"]["annotations"]["gpugen/config-checksum"])

    assert checksum({}) != checksum({"remove": ["DCGM_FI_DEV_ENC_UTIL"]})


def test_interval_is_in_milliseconds() -> None:
    assert environment(one({"interval": "20s"}))["DCGM_EXPORTER_INTERVAL"] == "20000"


@pytest.mark.parametrize(
    ("distribution", "root"), [("kubeadm", "/var/lib/kubelet"), ("k0s", "/var/lib/k0s/kubelet")]
)
def test_pods_are_known_by_the_distributions_kubelet(distribution: str, root: str) -> None:
    workload = agent(cluster(distribution=distribution))
    assert mounts(workload) == {f"{root}/pod-resources": "/var/lib/kubelet/pod-resources"}
    assert environment(workload)["DCGM_EXPORTER_KUBERNETES"] == "true"


def test_privileges_only_for_profiling_or_mig() -> None:
    def added(**more: Any) -> Any:
        security = container(one(**more))["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] is True
        assert security["capabilities"]["drop"] == ["ALL"]
        return security["capabilities"].get("add", [])

    off, asked = {"profiling": False}, {"profiling": True}
    assert added() == []
    assert added(exporter=off) == []
    assert added(exporter=asked) == ["SYS_ADMIN"]
    assert added(exporter=asked, model="p100-pcie-16gb") == []
    assert added(mig=MIXED) == ["SYS_ADMIN"]
    assert added(exporter=off, mig=MIXED) == ["SYS_ADMIN"]


def test_no_token_and_no_rights_unless_pods_are_read() -> None:
    assert pod(one())["automountServiceAccountToken"] is False
    kinds = {key.partition("/")[0] for key in objects(cluster(), NAME)}
    assert kinds == {"Service", "ConfigMap", "DaemonSet"}


def test_labels_of_pods_take_rights_and_an_exact_list() -> None:
    spec = cluster(components={NAME: {"podLabels": ["team", "example.com/cost-center"]}})
    made = objects(spec, NAME)
    assert pod(agent(spec))["serviceAccountName"] == NAME
    assert made[f"ClusterRole/gpugen-{NAME}"]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
    ]
    values = environment(agent(spec))
    assert values["DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS"] == "true"
    assert (
        values["DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"]
        == r"^team$,^example\.com/cost\-center$"
    )


def test_shared_pools_name_every_pod_of_a_gpu() -> None:
    values = environment(one(sharing=RENAMED))
    assert values["KUBERNETES_VIRTUAL_GPUS"] == "true"
    assert values["NVIDIA_RESOURCE_NAMES"] == "nvidia.com/gpu.shared"
    assert "KUBERNETES_VIRTUAL_GPUS" not in environment(one())
    assert "NVIDIA_RESOURCE_NAMES" not in environment(one())


def test_several_renamed_resources_are_listed() -> None:
    layout = [{"gpus": "all", "profiles": {"1g.5gb": 3, "2g.10gb": 2}}]
    resources = {"nvidia.com/mig-1g.5gb": 2, "nvidia.com/mig-2g.10gb": 3}
    sharing = {"mode": "time-slicing", "resources": resources, "rename": True}
    values = environment(one(mig={"strategy": "mixed", "layout": layout}, sharing=sharing))
    assert (
        values["NVIDIA_RESOURCE_NAMES"]
        == "nvidia.com/mig-1g.5gb.shared,nvidia.com/mig-2g.10gb.shared"
    )


def test_usage_per_pod_takes_the_hosts_processes_on_shared_pools_only() -> None:
    spec = cluster(pool("a"), pool("b", sharing=RENAMED), components={NAME: {"perPodUsage": True}})
    plain, shared = pod(agent(spec, "a")), pod(agent(spec, "b"))
    assert "hostPID" not in plain
    assert "serviceAccountName" not in plain
    assert shared["hostPID"] is True
    assert shared["serviceAccountName"] == NAME


def test_the_mig_manager_can_pause_and_await_it() -> None:
    spec = cluster(pool("a", mig=MIXED), pool("b", mig={**MIXED, "manager": "host"}), pool("c"))
    label = {"nvidia.com/gpu.deploy.dcgm-exporter": "true"}
    template = agent(spec)["spec"]["template"]
    assert template["metadata"]["labels"]["app"] == "nvidia-dcgm-exporter"
    assert label.items() <= template["spec"]["nodeSelector"].items()
    assert contribution(spec, NAME).initial_labels == {"a": label, "b": {}, "c": {}}
    for name in ("b", "c"):
        assert pod(agent(spec, name))["nodeSelector"] == {"gpugen/pool": name}
        assert "app" not in agent(spec, name)["spec"]["template"]["metadata"]["labels"]


def test_a_port_of_the_host_only_for_a_prometheus_outside() -> None:
    def port(mode: str) -> dict[str, Any]:
        spec = cluster(components={"prometheus": {"mode": mode}})
        (found,) = container(agent(spec))["ports"]
        return dict(found)

    assert port("static")["hostPort"] == exporters.PORT
    assert "hostPort" not in port("scrape-config")


def test_everything_that_the_user_sets_arrives() -> None:
    resources = {"limits": {"memory": "1Gi"}}
    notes = {"example.com/team": "platform"}
    workload = one({"resources": resources, "annotations": notes, "maxUnavailable": 2})
    assert container(workload)["resources"] == resources
    assert notes.items() <= workload["spec"]["template"]["metadata"]["annotations"].items()
    assert workload["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 2


def test_probes_ask_for_health() -> None:
    found = container(one())
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert found[probe]["httpGet"] == {"path": "/health", "port": "metrics"}


def test_in_the_hosts_network_it_listens_on_the_nodes_address_alone() -> None:
    static = {"prometheus": {"mode": "static"}, NAME: {}}
    engine = pool(host={"dcgm": {"mode": "host", "version": "4.5.3"}})
    for spec in (cluster(components=static), cluster(engine)):
        workload = agent(spec)
        assert pod(workload)["hostNetwork"] is True
        names = [entry["name"] for entry in container(workload)["env"]]
        assert names.index("HOST_IP") < names.index("DCGM_EXPORTER_LISTEN")
        assert environment(workload)["DCGM_EXPORTER_LISTEN"] == "[$(HOST_IP)]:9400"
    assert "hostNetwork" not in pod(agent(cluster()))
    assert environment(agent(cluster()))["DCGM_EXPORTER_LISTEN"] == ":9400"


def test_a_web_configuration_is_mounted_and_probes_only_knock() -> None:
    workload = one({"webConfig": {"secret": "web"}})
    (volume,) = (v for v in pod(workload)["volumes"] if v["name"] == "web")
    assert volume["secret"] == {"secretName": "web"}
    path = environment(workload)["DCGM_EXPORTER_WEB_CONFIG_FILE"]
    (mount,) = (m for m in container(workload)["volumeMounts"] if m["name"] == "web")
    assert path == f"{mount['mountPath']}/web-config.yaml"
    assert container(workload)["livenessProbe"]["tcpSocket"] == {"port": "metrics"}
    assert "httpGet" not in container(workload)["livenessProbe"]

"""The MIG manager: one per pool that the cluster partitions, and nothing elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gpugen.components import options_schema
from gpugen.components.devices.mig_manager import PAUSED_LABELS, contribute
from gpugen.model.assembly import Contribution, Placed, Wave
from gpugen.model.spec import ClusterSpec
from support.specs import MIG_POOL, resolved

PLAIN_POOL = {"name": "t4", "gpu": {"model": "t4", "count": 2}, "hosts": ["t4-1"]}


def contribution(**options: Any) -> tuple[ClusterSpec, Contribution]:
    spec = resolved(
        {**MIG_POOL, "/pools/1": PLAIN_POOL, "/components": {"mig-manager": options or True}}
    )
    return spec, contribute(spec, spec.options["mig-manager"])


def find_object(result: Contribution, kind: str, name: str) -> Placed:
    (found,) = (
        placed
        for placed in result.objects
        if placed.object["kind"] == kind and placed.object["metadata"]["name"] == name
    )
    return found


def pod(result: Contribution) -> dict[str, Any]:
    agent = find_object(result, "DaemonSet", "mig-manager-a100").object
    template: dict[str, Any] = agent["spec"]["template"]
    return template


def environment(result: Contribution) -> dict[str, Any]:
    entries = pod(result)["spec"]["containers"][0]["env"]
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}


def test_is_due_only_where_the_cluster_partitions() -> None:
    assert "mig-manager" in resolved(MIG_POOL).options
    assert "mig-manager" not in resolved().options
    by_host = resolved({**MIG_POOL, "/pools/0/mig/manager": "host"})
    assert "mig-manager" not in by_host.options


def test_pool_of_the_host_manager_gets_nothing() -> None:
    spec = resolved(
        {**MIG_POOL, "/pools/0/mig/manager": "host", "/components": {"mig-manager": True}}
    )
    assert contribute(spec, spec.options["mig-manager"]) == Contribution()


def test_layout_is_mounted_under_the_name_of_the_label() -> None:
    spec, result = contribution()
    prediction = spec.pools[0].prediction
    layout = find_object(result, "ConfigMap", "mig-config-a100")
    assert (layout.wave, layout.pool) == (Wave.DEVICES, "a100")
    content = yaml.safe_load(layout.object["data"]["config.yaml"])
    assert content == prediction.mig_config
    assert list(content["mig-configs"]) == [prediction.mig_config_name]
    assert result.node_labels == {"a100": {"nvidia.com/mig.config": prediction.mig_config_name}}


def test_labels_that_it_flips_are_created_once() -> None:
    _, result = contribution()
    assert result.initial_labels == {"a100": dict.fromkeys(PAUSED_LABELS, "true")}


def test_pod_reaches_the_host() -> None:
    spec, result = contribution()
    values = environment(result)
    assert values["NODE_NAME"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert values["DEFAULT_GPU_CLIENTS_NAMESPACE"] == spec.namespaces.agents
    assert values["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] == "true"
    assert values["HOST_KUBELET_SYSTEMD_SERVICE"] == "kubelet.service"
    assert values["WITH_REBOOT"] == "false"
    content = pod(result)["spec"]
    assert (content["hostPID"], content["hostIPC"]) == (True, True)
    assert content["containers"][0]["securityContext"] == {"privileged": True}
    assert content["nodeSelector"] == {"gpugen/pool": "a100"}
    mounts = {m["name"]: m["mountPath"] for m in content["containers"][0]["volumeMounts"]}
    paths = {v["name"]: v["hostPath"]["path"] for v in content["volumes"] if "hostPath" in v}
    assert {paths[name]: mounts[name] for name in paths} == {"/": "/host", "/sys": "/sys"}
    assert values["CONFIG_FILE"].startswith(mounts["layout"] + "/")
    assert values["GPU_CLIENTS_FILE"].startswith(mounts["gpu-clients"] + "/")


def test_it_may_label_nodes_and_list_pods_and_no_more() -> None:
    spec, result = contribution()
    cluster = find_object(result, "ClusterRole", "gpugen-mig-manager").object["rules"]
    local = find_object(result, "Role", "mig-manager").object
    assert cluster == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]}
    ]
    assert local["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert local["metadata"]["namespace"] == spec.namespaces.agents


def test_options_reach_the_pod() -> None:
    _, result = contribution(
        reboot=True,
        hostServices=["vendor.service"],
        resources={"requests": {"cpu": "20m"}},
        annotations={"example.com/owner": "platform"},
        maxUnavailable=1,
    )
    assert environment(result)["WITH_REBOOT"] == "true"
    clients = find_object(result, "ConfigMap", "mig-gpu-clients").object["data"]["clients.yaml"]
    assert yaml.safe_load(clients) == {"version": "v1", "systemd-services": ["vendor.service"]}
    assert pod(result)["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "20m"}}
    assert pod(result)["metadata"]["annotations"]["example.com/owner"] == "platform"
    agent = find_object(result, "DaemonSet", "mig-manager-a100").object
    assert agent["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/pools/0/mig/layout/0/profiles", {"2g.10gb": 3}),
        ("/components/mig-manager", {"hostServices": []}),
    ],
)
def test_a_change_of_what_it_reads_rolls_the_pods(pointer: str, value: object) -> None:
    before = resolved(MIG_POOL)
    after = resolved({**MIG_POOL, pointer: value})
    sums = [
        pod(contribute(spec, spec.options["mig-manager"]))["metadata"]["annotations"]
        for spec in (before, after)
    ]
    assert sums[0] != sums[1]


def test_host_services_are_systemd_services() -> None:
    schema = options_schema("mig-manager")
    assert schema is not None
    services = schema["properties"]["hostServices"]["default"]
    assert "nvidia-dcgm.service" in services
    assert "kubelet.service" not in services, "the manager adds it where MIG mode changes"

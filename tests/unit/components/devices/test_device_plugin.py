"""The device plugin: one DaemonSet and one configuration per pool, with the least privileges."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

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

MIG = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
HOST_MIG = {**MIG, "manager": "host"}
MPS = {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}


def plugin(spec: ClusterSpec, name: str = "a") -> KubeObject:
    return objects(spec, "device-plugin")[f"DaemonSet/device-plugin-{name}"]


def test_one_agent_and_one_configuration_per_pool() -> None:
    spec = cluster(pool("a"), pool("b", sharing=MPS))
    placed = contribution(spec, "device-plugin").objects
    assert [(p.wave, p.pool, p.object["kind"]) for p in placed] == [
        (Wave.DEVICES, name, kind) for name in ("a", "b") for kind in ("ConfigMap", "DaemonSet")
    ]


def test_configuration_is_the_prediction_and_is_mounted() -> None:
    spec = cluster(pool(sharing=MPS))
    made = objects(spec, "device-plugin")
    config, agent = made["ConfigMap/device-plugin-a"], made["DaemonSet/device-plugin-a"]
    assert yaml.safe_load(config["data"]["config.yaml"]) == spec.pools[0].prediction.plugin_config
    assert {"name": "config", "configMap": {"name": config["metadata"]["name"]}} in pod(agent)[
        "volumes"
    ]
    assert {"name": "config", "mountPath": "/config", "readOnly": True} in container(agent)[
        "volumeMounts"
    ]
    assert environment(agent)["CONFIG_FILE"] == "/config/config.yaml"


def test_nothing_in_the_environment_outranks_the_file() -> None:
    spec = cluster(pool(mig=MIG, sharing={**MPS, "mode": "time-slicing"}))
    assert set(environment(plugin(spec))) == {
        "CONFIG_FILE",
        "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_MIG_MONITOR_DEVICES",
    }


def test_other_content_rolls_the_pods_of_its_pool_only() -> None:
    def checksums(*pools: Any) -> list[str]:
        spec = cluster(*pools)
        return [
            plugin(spec, name)["spec"]["template"]["metadata"]["annotations"][
                "gpugen/config-checksum"
            ]
            for name in ("a", "b")
        ]

    before = checksums(pool("a"), pool("b"))
    after = checksums(pool("a"), pool("b", sharing=MPS))
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_it_runs_on_its_pool_whatever_the_taints() -> None:
    agent = plugin(cluster())
    assert pod(agent)["nodeSelector"] == {"gpugen/pool": "a"}
    assert pod(agent)["tolerations"] == [{"operator": "Exists"}]
    assert pod(agent)["runtimeClassName"] == "nvidia"
    assert pod(agent)["priorityClassName"] == "system-node-critical"
    assert agent["spec"]["selector"]["matchLabels"] == {
        "app.kubernetes.io/name": "device-plugin",
        "gpugen/pool": "a",
    }


def test_it_has_no_token_and_no_rights() -> None:
    made = objects(cluster(), "device-plugin")
    assert {k.partition("/")[0] for k in made} == {"ConfigMap", "DaemonSet"}
    assert pod(plugin(cluster()))["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod(plugin(cluster()))


def test_whole_gpus_need_no_privilege() -> None:
    assert container(plugin(cluster()))["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


@pytest.mark.parametrize(
    "spec",
    [
        cluster(pool(mig=MIG)),
        cluster(pool(mig=HOST_MIG)),
        cluster(deviceListStrategy="volume-mounts"),
    ],
    ids=["mig-by-cluster", "mig-by-host", "volume-mounts"],
)
def test_mig_and_volume_mounts_need_sys_admin(spec: ClusterSpec) -> None:
    security = container(plugin(spec))["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
    assert security["readOnlyRootFilesystem"] is True
    assert "privileged" not in security


def test_mig_is_monitored_only_where_it_is_possible() -> None:
    assert "NVIDIA_MIG_MONITOR_DEVICES" not in environment(plugin(cluster()))
    assert environment(plugin(cluster(pool(mig=MIG))))["NVIDIA_MIG_MONITOR_DEVICES"] == "all"


def test_passing_device_specs_makes_it_privileged() -> None:
    agent = plugin(cluster(components={"device-plugin": {"passDeviceSpecs": True}}))
    assert container(agent)["securityContext"] == {"privileged": True}
    assert environment(agent)["PASS_DEVICE_SPECS"] == "true"


@pytest.mark.parametrize(
    ("distribution", "root"), [("kubeadm", "/var/lib/kubelet"), ("k0s", "/var/lib/k0s/kubelet")]
)
def test_sockets_of_the_kubelet_appear_where_the_plugin_looks(distribution: str, root: str) -> None:
    agent = plugin(cluster(distribution=distribution))
    assert mounts(agent) == {f"{root}/device-plugins": "/var/lib/kubelet/device-plugins"}
    volumes = {v["name"]: v for v in pod(agent)["volumes"]}
    assert volumes["kubelet-sockets"]["hostPath"]["type"] == "Directory"


def test_host_paths_of_mps_and_cdi_only_where_they_are_used() -> None:
    spec = cluster(pool("a"), pool("b", sharing=MPS))
    assert "/run/nvidia/mps" not in mounts(plugin(spec, "a"))
    assert mounts(plugin(spec, "b")).items() >= {
        ("/run/nvidia/mps", "/mps"),
        ("/run/nvidia/mps/shm", "/dev/shm"),
    }
    spec = cluster(deviceListStrategy=["cdi-annotations", "cdi-cri"])
    agent = plugin(spec)
    assert mounts(agent).items() >= {("/var/run/cdi", "/var/run/cdi"), ("/", "/driver-root")}
    assert {m["name"] for m in container(agent)["volumeMounts"] if m.get("readOnly")} == {
        "config",
        "driver-root",
    }


def test_the_mig_manager_can_pause_it_only_where_there_is_one() -> None:
    label = {"nvidia.com/gpu.deploy.device-plugin": "true"}
    spec = cluster(pool("a"), pool("b", mig=MIG), pool("c", mig=HOST_MIG))
    agents = {name: plugin(spec, name) for name in ("a", "b", "c")}
    assert pod(agents["b"])["nodeSelector"] == {"gpugen/pool": "b", **label}
    template = agents["b"]["spec"]["template"]["metadata"]["labels"]
    assert template["app"] == "nvidia-device-plugin-daemonset"
    for name in ("a", "c"):
        assert pod(agents[name])["nodeSelector"] == {"gpugen/pool": name}
        assert "app" not in agents[name]["spec"]["template"]["metadata"]["labels"]
    assert contribution(spec, "device-plugin").initial_labels == {"a": {}, "b": label, "c": {}}


def test_selectors_never_depend_on_an_option() -> None:
    spec = cluster(
        pool(mig=MIG), components={"device-plugin": {"version": "0.20.0", "maxUnavailable": 1}}
    )
    assert plugin(spec)["spec"]["selector"] == plugin(cluster())["spec"]["selector"]


def test_options_of_the_user() -> None:
    resources = {"limits": {"memory": "256Mi"}}
    options = {
        "resources": resources,
        "annotations": {"example.com/team": "gpu"},
        "maxUnavailable": 1,
        "version": "0.20.0",
    }
    agent = plugin(cluster(components={"device-plugin": options}))
    assert container(agent)["resources"] == resources
    assert agent["spec"]["template"]["metadata"]["annotations"]["example.com/team"] == "gpu"
    assert agent["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1}
    assert container(agent)["image"] == "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
    assert "resources" not in container(plugin(cluster()))


def test_no_probe_that_the_program_does_not_serve() -> None:
    assert not {"livenessProbe", "readinessProbe", "startupProbe"} & set(
        container(plugin(cluster()))
    )

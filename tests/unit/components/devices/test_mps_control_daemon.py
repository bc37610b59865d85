"""The MPS control daemon: on MPS pools only, and at the same paths as the plugin."""

from __future__ import annotations

from gpugen.model.assembly import KubeObject
from support.component_specs import cluster, container, contribution, mounts, objects, pod, pool

MPS = {"mode": "mps", "resources": {"nvidia.com/gpu": 4}}
SLICES = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}}
NAME = "mps-control-daemon"


def daemon() -> KubeObject:
    return objects(cluster(pool(sharing=MPS)), NAME)[f"DaemonSet/{NAME}-a"]


def test_it_is_due_only_where_a_pool_shares_by_mps() -> None:
    assert NAME not in cluster(pool(sharing=SLICES)).options
    assert NAME in cluster(pool("a", sharing=SLICES), pool("b", sharing=MPS)).options


def test_it_runs_only_in_those_pools() -> None:
    spec = cluster(pool("a", sharing=SLICES), pool("b", sharing=MPS))
    placed = contribution(spec, NAME).objects
    assert [(p.pool, p.object["kind"]) for p in placed] == [("b", "ConfigMap"), ("b", "DaemonSet")]


def test_it_waits_for_no_label_of_others() -> None:
    assert pod(daemon())["nodeSelector"] == {"gpugen/pool": "a"}


def test_plugin_and_daemon_meet() -> None:
    spec = cluster(pool(sharing=MPS))
    plugin = objects(spec, "device-plugin")["DaemonSet/device-plugin-a"]
    root = spec.pools[0].prediction.plugin_config["flags"]["mpsRoot"]
    shared = {(root, "/mps"), (f"{root}/shm", "/dev/shm")}
    assert mounts(daemon()).items() == shared
    assert mounts(plugin).items() >= shared


def test_shared_memory_is_mounted_for_the_host_before_the_daemon_starts() -> None:
    (first,) = pod(daemon())["initContainers"]
    assert first["command"] == [NAME, "mount-shm"]
    assert first["volumeMounts"] == [
        {"name": "mps-root", "mountPath": "/mps", "mountPropagation": "Bidirectional"}
    ]
    assert first["securityContext"]["privileged"] is True


def test_it_is_a_privileged_process_of_the_host() -> None:
    assert pod(daemon())["hostPID"] is True
    assert container(daemon())["command"] == [NAME]
    assert container(daemon())["securityContext"] == {"privileged": True}
    assert pod(daemon())["automountServiceAccountToken"] is False


def test_resources_hold_for_both_containers() -> None:
    resources = {"limits": {"memory": "1Gi"}}
    spec = cluster(pool(sharing=MPS), components={NAME: {"resources": resources}})
    agent = objects(spec, NAME)[f"DaemonSet/{NAME}-a"]
    for one in (*pod(agent)["initContainers"], *pod(agent)["containers"]):
        assert one["resources"] == resources

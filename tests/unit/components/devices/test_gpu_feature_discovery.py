"""GPU feature discovery: reads the plugin's configuration, writes one NodeFeature."""

from __future__ import annotations

from gpugen.model.assembly import KubeObject
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

MIG = {"strategy": "single", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
NAME = "gpu-feature-discovery"


def discovery(spec: ClusterSpec, name: str = "a") -> KubeObject:
    return objects(spec, NAME)[f"DaemonSet/{NAME}-{name}"]


def test_it_reads_what_the_plugin_reads() -> None:
    spec = cluster(pool(sharing={"mode": "time-slicing", "resources": {"nvidia.com/gpu": 2}}))
    theirs = objects(spec, "device-plugin")["ConfigMap/device-plugin-a"]["data"]
    assert objects(spec, NAME)[f"ConfigMap/{NAME}-a"]["data"] == theirs


def test_rights_are_what_it_calls() -> None:
    made = objects(cluster(), NAME)
    assert made[f"Role/{NAME}"]["rules"] == [
        {
            "apiGroups": ["nfd.k8s-sigs.io"],
            "resources": ["nodefeatures"],
            "verbs": ["get", "create", "update"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]
    binding = made[f"RoleBinding/{NAME}"]
    assert binding["roleRef"]["name"] == NAME
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": NAME, "namespace": "gpu-agents"}
    ]
    assert not [key for key in made if key.startswith("Cluster")]
    agent = discovery(cluster())
    assert pod(agent)["serviceAccountName"] == NAME
    assert pod(agent)["automountServiceAccountToken"] is True


def test_rights_stand_once_however_many_pools() -> None:
    placed = contribution(cluster(pool("a"), pool("b")), NAME).objects
    assert sorted(p.object["kind"] for p in placed if not p.pool) == [
        "Role",
        "RoleBinding",
        "ServiceAccount",
    ]


def test_it_knows_where_it_runs() -> None:
    fields = {
        e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"]
        for e in container(discovery(cluster()))["env"]
        if "valueFrom" in e
    }
    assert fields == {
        "NODE_NAME": "spec.nodeName",
        "NAMESPACE": "metadata.namespace",
        "POD_NAME": "metadata.name",
    }


def test_it_sees_the_machine_and_writes_nothing_there() -> None:
    agent = discovery(cluster())
    assert mounts(agent) == {"/sys": "/sys"}
    assert all(mount["readOnly"] for mount in container(agent)["volumeMounts"])
    assert pod(agent)["runtimeClassName"] == "nvidia"


def test_privileges() -> None:
    plain = container(discovery(cluster()))["securityContext"]
    assert plain["capabilities"] == {"drop": ["ALL"]}
    assert plain["allowPrivilegeEscalation"] is False
    capable = container(discovery(cluster(pool(mig=MIG))))["securityContext"]
    assert capable["capabilities"] == {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
    guest = cluster(components={NAME: {"vgpuLabels": True}})
    assert container(discovery(guest))["securityContext"]["capabilities"]["add"] == ["SYS_ADMIN"]


def test_the_mig_manager_can_pause_it() -> None:
    agent = discovery(cluster(pool(mig=MIG)))
    label = {"nvidia.com/gpu.deploy.gpu-feature-discovery": "true"}
    assert pod(agent)["nodeSelector"] == {"gpugen/pool": "a", **label}
    assert agent["spec"]["template"]["metadata"]["labels"]["app"] == "gpu-feature-discovery"
    assert contribution(cluster(pool(mig=MIG)), NAME).initial_labels == {"a": label}


def test_a_version_chosen_for_the_plugin_holds_here_too() -> None:
    spec = cluster(components={"device-plugin": {"version": "0.20.0"}})
    assert container(discovery(spec))["image"].endswith(":v0.20.0")


def test_interval() -> None:
    assert environment(discovery(cluster()))["GFD_SLEEP_INTERVAL"] == "60s"
    spec = cluster(components={NAME: {"sleepInterval": "5m"}})
    assert environment(discovery(spec))["GFD_SLEEP_INTERVAL"] == "5m"

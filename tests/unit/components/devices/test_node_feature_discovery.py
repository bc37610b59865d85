"""Node feature discovery: master and collector once, the worker on every pool's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpugen.model.assembly import KubeObject, Wave
from support.component_specs import cluster, container, contribution, mounts, objects, pod, pool

NAME = "node-feature-discovery"
PROGRAMS = ("Deployment/nfd-master", "Deployment/nfd-gc", "DaemonSet/nfd-worker")


def made(**options: Any) -> dict[str, KubeObject]:
    return objects(cluster(components={NAME: options}), NAME)


def rights(obj: KubeObject) -> Iterator[tuple[str, str]]:
    for rule in obj["rules"]:
        for resource in rule["resources"]:
            yield from ((resource, verb) for verb in rule["verbs"])


def test_everything_stands_once_however_many_pools() -> None:
    placed = contribution(cluster(pool("a"), pool("b")), NAME).objects
    assert {p.pool for p in placed} == {""}
    assert [p.object["metadata"]["name"] for p in placed if p.wave is Wave.CRDS] == [
        "nodefeatures.nfd.k8s-sigs.io",
        "nodefeaturerules.nfd.k8s-sigs.io",
    ]


def test_an_existing_installation_is_left_alone() -> None:
    assert made(mode="existing") == {}


def test_the_worker_can_be_left_out() -> None:
    rest = made(worker=False)
    assert set(made()) - set(rest) == {
        f"{kind}/nfd-worker"
        for kind in ("ConfigMap", "DaemonSet", "Role", "RoleBinding", "ServiceAccount")
    }


def test_rights_are_what_the_programs_call() -> None:
    all_of_them = made()
    assert set(rights(all_of_them["ClusterRole/nfd-master"])) == {
        *(("nodes", verb) for verb in ("get", "list", "patch")),
        *(("nodefeatures", verb) for verb in ("list", "watch")),
        *(("nodefeaturerules", verb) for verb in ("list", "watch")),
    }
    assert set(rights(all_of_them["Role/nfd-master"])) == {
        ("leases", verb) for verb in ("create", "get", "update")
    }
    assert set(rights(all_of_them["ClusterRole/nfd-gc"])) == {
        *(("nodes", verb) for verb in ("list", "watch")),
        *(("nodefeatures", verb) for verb in ("list", "delete")),
    }
    assert set(rights(all_of_them["Role/nfd-worker"])) == {
        *(("nodefeatures", verb) for verb in ("get", "create", "update")),
        ("pods", "get"),
    }


def test_only_its_own_lease_may_be_read_and_changed() -> None:
    create, change = made()["Role/nfd-master"]["rules"]
    assert create["verbs"] == ["create"]
    assert change["resourceNames"] == ["nfd-master.nfd.kubernetes.io"]
    assert "-enable-leader-election" in container(made()["Deployment/nfd-master"])["args"]


def test_bindings_name_the_accounts_of_their_namespace() -> None:
    all_of_them = made()
    for key, obj in all_of_them.items():
        if key.partition("/")[0] in ("RoleBinding", "ClusterRoleBinding"):
            (subject,) = obj["subjects"]
            account = all_of_them[f"ServiceAccount/{subject['name']}"]
            assert account["metadata"]["namespace"] == subject["namespace"]
            assert f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}" in all_of_them


def test_extended_resources_are_a_right_of_their_own() -> None:
    def config(all_of_them: dict[str, KubeObject]) -> Any:
        return yaml.safe_load(all_of_them["ConfigMap/nfd-master"]["data"]["nfd-master.conf"])

    plain, extended = made(), made(extendedResources=True)
    assert config(plain)["restrictions"] == {"disableExtendedResources": True}
    assert config(extended)["restrictions"] == {"disableExtendedResources": False}
    assert config(plain)["extraLabelNs"] == ["nvidia.com"]
    more = set(rights(extended["ClusterRole/nfd-master"])) - set(
        rights(plain["ClusterRole/nfd-master"])
    )
    assert more == {("nodes/status", "patch")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_restricted(program: str) -> None:
    workload = made()[program]
    assert container(workload)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert "runtimeClassName" not in pod(workload)


@pytest.mark.parametrize("program", PROGRAMS)
def test_probes_ask_the_port_that_is_served(program: str) -> None:
    one = container(made()[program])
    assert one["ports"] == [{"name": "http", "containerPort": 8080}]
    for probe in ("livenessProbe", "readinessProbe"):
        assert one[probe]["httpGet"] == {"path": "/healthz", "port": "http"}


def test_controllers_and_agents_stand_in_their_namespaces() -> None:
    namespaces = {key: made()[key]["metadata"]["namespace"] for key in PROGRAMS}
    assert list(namespaces.values()) == ["gpu-controllers", "gpu-controllers", "gpu-agents"]


def test_the_worker_runs_on_every_pool_and_nowhere_else() -> None:
    worker = pod(made()["DaemonSet/nfd-worker"])
    (term,) = worker["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term == {"matchExpressions": [{"key": "gpugen/pool", "operator": "Exists"}]}
    assert worker["tolerations"] == [{"operator": "Exists"}]
    assert "nodeSelector" not in worker


def test_controllers_may_run_on_the_control_plane_and_avoid_gpu_nodes() -> None:
    master = pod(made()["Deployment/nfd-master"])
    assert [t["key"] for t in master["tolerations"]] == ["node-role.kubernetes.io/control-plane"]
    (wish,) = master["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert wish["preference"]["matchExpressions"] == [
        {"key": "gpugen/pool", "operator": "DoesNotExist"}
    ]


def test_the_label_of_a_gpu_is_its_vendor() -> None:
    config = yaml.safe_load(made()["ConfigMap/nfd-worker"]["data"]["nfd-worker.conf"])
    assert config == {
        "core": {"featureSources": ["pci"], "labelSources": ["pci"], "sleepInterval": "60s"},
        "sources": {"pci": {"deviceLabelFields": ["vendor"]}},
    }
    assert mounts(made()["DaemonSet/nfd-worker"]) == {"/sys": "/host-sys"}


def test_more_sources_see_more_of_the_host() -> None:
    worker = made(sources=["kernel", "memory", "system"])["DaemonSet/nfd-worker"]
    assert mounts(worker) == {
        "/sys": "/host-sys",
        "/boot": "/host-boot",
        "/lib": "/host-lib",
        "/usr/lib": "/host-usr/lib",
        "/proc/swaps": "/host-proc/swaps",
        "/etc/os-release": "/host-etc/os-release",
    }
    assert all(mount["readOnly"] for mount in container(worker)["volumeMounts"])
    config = made(sources=["kernel"])["ConfigMap/nfd-worker"]["data"]["nfd-worker.conf"]
    assert "sources" not in yaml.safe_load(config)


def test_resources_of_one_program_leave_the_others() -> None:
    own = {"limits": {"memory": "8Gi"}}
    all_of_them = made(resources={"master": own})
    assert container(all_of_them["Deployment/nfd-master"])["resources"] == own
    for program in ("Deployment/nfd-gc", "DaemonSet/nfd-worker"):
        assert container(all_of_them[program]) == container(made()[program])

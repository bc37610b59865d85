"""The packing scheduler: in the main one, or a second one with its rights and its confinement."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.components.scheduling.scheduler import contribute
from gpugen.components.scheduling.scheduler.checks import main_not_configurable
from gpugen.model.assembly import Contribution, Wave
from gpugen.model.spec import ClusterSpec
from support.specs import MIG_POOL, resolved


def contribution(
    options: object = True, changes: dict[str, Any] | None = None
) -> tuple[ClusterSpec, Contribution]:
    spec = resolved({**(changes or {}), "/components": {"scheduler": options}})
    return spec, contribute(spec, spec.options["scheduler"])


def content(result: Contribution, kind: str) -> list[dict[str, Any]]:
    return [placed.object for placed in result.objects if placed.object["kind"] == kind]


def configuration(result: Contribution) -> dict[str, Any]:
    (config_map,) = content(result, "ConfigMap")
    loaded: dict[str, Any] = yaml.safe_load(config_map["data"]["config.yaml"])
    return loaded


def arguments(profile: dict[str, Any], plugin: str) -> dict[str, Any]:
    (found,) = (entry["args"] for entry in profile["pluginConfig"] if entry["name"] == plugin)
    result: dict[str, Any] = found
    return result


def test_it_is_on_only_when_asked_for() -> None:
    assert "scheduler" not in resolved().options
    assert "scheduler" in contribution()[0].options


def test_every_effective_resource_counts() -> None:
    sharing = {
        "mode": "time-slicing",
        "resources": {"nvidia.com/mig-1g.5gb": 2},
        "rename": True,
    }
    plain = {"name": "t4", "gpu": {"model": "t4", "count": 2}, "hosts": ["t4-1"]}
    _, result = contribution(
        {"weights": {"gpu": 20}}, {**MIG_POOL, "/pools/0/sharing": sharing, "/pools/1": plain}
    )
    (profile,) = configuration(result)["profiles"]
    assert arguments(profile, "NodeResourcesFit")["scoringStrategy"] == {
        "type": "MostAllocated",
        "resources": [
            {"name": "nvidia.com/gpu", "weight": 20},
            {"name": "nvidia.com/mig-1g.5gb.shared", "weight": 20},
            {"name": "cpu", "weight": 1},
            {"name": "memory", "weight": 1},
        ],
    }


def test_packing_is_not_drowned_by_other_wishes() -> None:
    (profile,) = configuration(contribution({"scoreWeight": 40})[1])["profiles"]
    assert profile["plugins"]["multiPoint"]["enabled"] == [
        {"name": "NodeResourcesFit", "weight": 40}
    ]
    assert profile["percentageOfNodesToScore"] == 100
    assert arguments(profile, "PodTopologySpread")["defaultConstraints"] == []


def test_without_bin_packing_the_profile_is_the_default_one() -> None:
    _, result = contribution({"binPacking": False, "schedulerName": "second"})
    assert configuration(result)["profiles"] == [{"schedulerName": "second"}]


def test_it_leads_by_a_lease_that_it_may_hold() -> None:
    spec, result = contribution()
    election = configuration(result)["leaderElection"]
    (role,) = content(result, "Role")
    assert election["leaderElect"] is True
    assert election["resourceNamespace"] == role["metadata"]["namespace"]
    assert role["metadata"]["namespace"] == spec.namespaces.controllers
    create, hold = role["rules"]
    assert create["verbs"] == ["create"]
    assert (hold["verbs"], hold["resourceNames"]) == (
        ["get", "update"],
        [election["resourceName"]],
    )


def test_it_has_the_roles_of_a_scheduler() -> None:
    _, result = contribution()
    names = {item["roleRef"]["name"] for item in content(result, "ClusterRoleBinding")}
    assert names == {"system:kube-scheduler", "system:volume-scheduler"}
    readers = {
        (item["metadata"]["namespace"], item["roleRef"]["name"])
        for item in content(result, "RoleBinding")
    }
    assert ("kube-system", "extension-apiserver-authentication-reader") in readers


def test_every_binding_names_the_account_of_the_pod() -> None:
    spec, result = contribution()
    (account,) = content(result, "ServiceAccount")
    (deployment,) = content(result, "Deployment")
    name = account["metadata"]["name"]
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == name
    for item in content(result, "ClusterRoleBinding") + content(result, "RoleBinding"):
        (subject,) = item["subjects"]
        assert (subject["name"], subject["namespace"]) == (name, spec.namespaces.controllers)


def test_image_is_of_the_cluster_minor() -> None:
    for version in ("1.35", "1.36"):
        _, result = contribution(changes={"/kubernetes/version": version})
        (deployment,) = content(result, "Deployment")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"].startswith(f"registry.k8s.io/kube-scheduler:v{version}.")


def test_pod_meets_the_level_restricted() -> None:
    _, result = contribution()
    (deployment,) = content(result, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    security = container["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] > 0
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert {p["httpGet"]["scheme"] for k, p in container.items() if k.endswith("Probe")} == {
        "HTTPS"
    }


def test_options_reach_the_deployment() -> None:
    _, result = contribution(
        {"replicas": 3, "resources": {"limits": {"memory": "1Gi"}}, "annotations": {"a": "b"}}
    )
    (deployment,) = content(result, "Deployment")
    assert deployment["spec"]["replicas"] == 3
    template = deployment["spec"]["template"]
    assert template["spec"]["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}
    assert template["metadata"]["annotations"]["a"] == "b"


def test_a_change_of_the_configuration_rolls_the_pods() -> None:
    sums = {
        content(contribution({"schedulerName": name})[1], "Deployment")[0]["spec"]["template"][
            "metadata"
        ]["annotations"]["gpugen/config-checksum"]
        for name in ("one", "two")
    }
    assert len(sums) == 2


def test_all_stands_in_the_last_wave_once() -> None:
    _, result = contribution()
    assert {(placed.wave, placed.pool) for placed in result.objects} == {(Wave.SCHEDULING, "")}


# ---------------------------------------------------------------- the main scheduler

HOSTS = {"/controlPlane": {"hosts": ["cp-[1:3].lab.example"]}}
DISTRIBUTIONS = ["kubeadm", "k3s", "rke2", "k0s"]


def of_main(
    options: object = True, distribution: str = "kubeadm", changes: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the variables of the control plane, without the role's name before them."""
    place = {"/kubernetes/distribution": distribution}
    _, result = contribution(options, {**HOSTS, **place, **(changes or {})})
    assert (result.objects, result.roles) == ((), ("kube_scheduler",))
    return {
        name.removeprefix("kube_scheduler_"): value
        for name, value in result.control_plane_variables.items()
    }


def test_named_hosts_of_the_control_plane_mean_the_main_scheduler() -> None:
    assert of_main()["configuration"]["profiles"][1]["schedulerName"] == "gpu-binpack"
    _, second = contribution({"mode": "second"}, HOSTS)
    assert content(second, "Deployment")
    _, idle = contribution({"binPacking": False}, HOSTS)
    assert content(idle, "Deployment")


def test_pods_that_name_no_scheduler_are_placed_as_before() -> None:
    default, own = of_main()["configuration"]["profiles"]
    assert default == {"schedulerName": "default-scheduler"}
    assert arguments(own, "NodeResourcesFit")["scoringStrategy"]["type"] == "MostAllocated"


def test_the_default_profile_packs_where_its_name_is_asked_for() -> None:
    (profile,) = of_main({"schedulerName": "default-scheduler"})["configuration"]["profiles"]
    assert arguments(profile, "NodeResourcesFit")["scoringStrategy"]["type"] == "MostAllocated"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_file_names_the_kubeconfig_of_the_distribution(distribution: str) -> None:
    """DIST-10: the flag --kubeconfig is ignored beside a file."""
    own = of_main(distribution=distribution)
    row = resolved({"/kubernetes/distribution": distribution}).kubernetes.distribution
    connection = own["configuration"]["clientConnection"]
    assert connection == {"kubeconfig": row.scheduler_kubeconfig}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_file_says_of_leading_what_the_flag_says(distribution: str) -> None:
    """DIST-11: they elect a leader everywhere; the role follows a flag that says otherwise."""
    configuration = of_main(distribution=distribution)["configuration"]
    assert configuration["leaderElection"] == {"leaderElect": True}
    assert configuration["enableProfiling"] is False


def test_only_a_scheduler_within_another_program_needs_an_image() -> None:
    """DIST-13: everywhere else the program that runs on the host reads the file."""
    assert "image" not in of_main(distribution="rke2")
    own = of_main(distribution="k3s", changes={"/images/registry": "registry.lab.example"})
    assert own["image"].startswith("registry.lab.example/kube-scheduler:v1.36.")
    assert own["in_process"] == "k3s"


def test_what_the_administrator_adds_is_said_in_full() -> None:
    own = of_main(distribution="k0s")
    assert own["mode"] == "reported"
    assert own["file"] in own["lines"]


@pytest.mark.parametrize(
    ("distribution", "word"),
    [
        ("eks", "scoringStrategy"),
        ("aks", "SchedulerConfiguration"),
        ("gke", "second scheduler"),
        ("openshift", "does not count GPUs"),
        ("talos", "KubeSchedulerConfig"),
        ("kubespray", "kube_scheduler_profiles"),
        ("microk8s", "args/kube-scheduler"),
        ("kind", "second scheduler"),
        ("minikube", "second scheduler"),
    ],
)
def test_a_distribution_without_a_way_is_told_its_own(distribution: str, word: str) -> None:
    """DIST-12: no role, and what to do instead."""
    place = {"/kubernetes/distribution": distribution}
    spec, result = contribution(True, {**HOSTS, **place})
    assert (result.objects, result.roles, dict(result.control_plane_variables)) == ((), (), {})
    (finding,) = main_not_configurable.run(spec)
    assert word in finding.hint


def test_guardrails_leave_pods_to_a_default_profile_that_packs() -> None:
    changes = {
        **HOSTS,
        "/components": {"scheduler": {"schedulerName": "default-scheduler"}, "guardrails": {}},
    }
    text = str([placed.object for placed in assemble(resolved(changes)).objects])
    assert "/spec/schedulerName" not in text

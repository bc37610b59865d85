"""The second scheduler: its configuration, its rights, and how its pod is confined."""

from __future__ import annotations

from typing import Any

import yaml

from gpugen.components.scheduler import contribute
from gpugen.model.plan import Contribution, Wave
from gpugen.model.spec import ClusterSpec
from specs import MIG_POOL, resolved


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

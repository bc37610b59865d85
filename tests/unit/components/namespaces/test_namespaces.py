"""The two namespaces: each has the Pod Security level of its pods, and critical pods may run."""

from __future__ import annotations

from gpugen.model.assembly import Wave
from support.component_specs import cluster, contribution, objects

LEVELS = {"gpu-agents": "privileged", "gpu-controllers": "restricted"}


def test_levels_are_stated_for_every_mode() -> None:
    made = objects(cluster(), "namespaces")
    for name, level in LEVELS.items():
        labels = made[f"Namespace/{name}"]["metadata"]["labels"]
        for mode in ("enforce", "audit", "warn"):
            assert labels[f"pod-security.kubernetes.io/{mode}"] == level


def test_names_come_from_the_spec() -> None:
    made = objects(cluster(namespaces={"agents": "x", "controllers": "y"}), "namespaces")
    assert {"Namespace/x", "Namespace/y"} < set(made)


def test_critical_pods_are_admitted_in_both() -> None:
    quotas = [
        placed.object
        for placed in contribution(cluster(), "namespaces").objects
        if placed.object["kind"] == "ResourceQuota"
    ]
    assert {quota["metadata"]["namespace"] for quota in quotas} == set(LEVELS)
    for quota in quotas:
        (expression,) = quota["spec"]["scopeSelector"]["matchExpressions"]
        assert expression["scopeName"] == "PriorityClass"
        assert set(expression["values"]) == {"system-node-critical", "system-cluster-critical"}
        assert set(quota["spec"]["hard"]) == {"pods"}


def test_all_stands_in_the_first_wave_of_the_cluster() -> None:
    placed = contribution(cluster(), "namespaces").objects
    assert {(p.wave, p.pool) for p in placed} == {(Wave.NAMESPACES, "")}


def test_own_labels_and_annotations() -> None:
    options = {"labels": {"example.com/team": "gpu"}, "annotations": {"example.com/cost": "7"}}
    meta = objects(cluster(components={"namespaces": options}), "namespaces")[
        "Namespace/gpu-agents"
    ]["metadata"]
    assert meta["labels"]["example.com/team"] == "gpu"
    assert meta["labels"]["app.kubernetes.io/managed-by"] == "gpugen"
    assert meta["annotations"] == {"example.com/cost": "7"}


def test_is_due_everywhere() -> None:
    assert "namespaces" in cluster(distribution="k3s").options

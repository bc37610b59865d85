"""Simulated nodes: what follows from the spec, and the command that prints or writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.render.simulation import NVIDIA_PCI, nodes, stages
from support.commands import ROOT, Answer, gpugen
from support.specs import MIG_POOL, resolved
from support.trees import snapshot


def simulated(
    changes: dict[str, Any] | None = None, most: int | None = None
) -> list[dict[str, Any]]:
    """Return the nodes of the minimal spec after setting values at pointers."""
    spec = resolved(changes)
    return list(nodes(spec, assemble(spec), most))


def names(changes: dict[str, Any], most: int | None = None) -> list[str]:
    return [node["metadata"]["name"] for node in simulated(changes, most)]


HOSTS = {
    "/pools/0/hosts": [
        "GPU-[08:11].lab.example",
        {"name": "odd.lab.example", "nodeName": "worker-7"},
    ]
}


def test_names_are_those_of_the_nodes() -> None:
    short = ["gpu-08", "gpu-09", "gpu-10", "gpu-11", "worker-7"]
    assert names(HOSTS) == short
    fqdn = names({**HOSTS, "/access": {"kubeconfigContext": "c", "nodeNames": "fqdn"}})
    assert fqdn == [*(f"{name}.lab.example" for name in short[:4]), "worker-7"]


def test_fewer_nodes_are_the_first_of_each_pool() -> None:
    assert names(HOSTS, 2) == ["gpu-08", "gpu-09"]
    assert names(HOSTS, 99) == names(HOSTS)


def test_a_node_is_for_kwok_and_carries_what_the_plan_says() -> None:
    spec = resolved({**MIG_POOL, "/pools/0/labels": {"lab.example/tier": "batch"}})
    (pool, *_) = spec.pools
    made = assemble(spec)
    for node in nodes(spec, made):
        assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
        labels = node["metadata"]["labels"]
        assert labels == {
            "kubernetes.io/hostname": node["metadata"]["name"],
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "gpugen/pool": pool.name,
            "lab.example/tier": "batch",
            "nvidia.com/mig.config.state": "success",
            NVIDIA_PCI: "true",
            **made.node_labels[pool.name],
            **made.initial_labels[pool.name],
            **pool.prediction.labels,
        }
        status = node["status"]
        assert status["capacity"] == status["allocatable"]
        units = {k: int(v) for k, v in status["capacity"].items() if "nvidia.com/" in k}
        assert units == pool.prediction.capacity


def test_a_pool_is_labelled_even_where_no_play_can_reach_the_cluster() -> None:
    (node, *_) = simulated({"/access": {}})
    assert node["metadata"]["labels"]["gpugen/pool"]


def test_a_component_that_is_off_leaves_nothing() -> None:
    off = {
        "/components/gpu-feature-discovery": False,
        "/components/node-feature-discovery": {"worker": False},
        "/components/device-plugin": False,
    }
    (node, *_) = simulated(off)
    assert not [key for key in node["metadata"]["labels"] if "nvidia" in key or "feature" in key]
    assert not [key for key in node["status"]["allocatable"] if "nvidia" in key]
    assert simulated()[0]["status"]["allocatable"]["nvidia.com/gpu"] == "4"


def test_what_another_feature_discovery_finds_is_not_foretold() -> None:
    (node, *_) = simulated({"/components/node-feature-discovery": {"mode": "existing"}})
    assert "nvidia.com/gpu.product" in node["metadata"]["labels"]
    assert NVIDIA_PCI not in node["metadata"]["labels"]


def test_a_label_that_no_node_can_carry_is_left_out() -> None:
    (node, *_) = simulated(
        {
            "/pools/0/gpu/model": "rtx-pro-6000-ws",
            "/pools/0/mig": {
                "strategy": "mixed",
                "layout": [{"gpus": "all", "profiles": {"1g.24gb": 4}}],
            },
            "/pools/0/sharing": {
                "mode": "time-slicing",
                "resources": {"nvidia.com/mig-1g.24gb": 2},
            },
        }
    )
    labels = node["metadata"]["labels"]
    assert "nvidia.com/mig-1g.24gb.product" not in labels
    assert labels["nvidia.com/mig-1g.24gb.count"] == "16"


def test_no_mig_state_without_a_manager() -> None:
    (node, *_) = simulated()
    assert "nvidia.com/mig.config.state" not in node["metadata"]["labels"]


def test_taints_are_the_pools() -> None:
    assert "spec" not in simulated()[0]
    taints = [
        {"key": "a.example/b", "value": "c", "effect": "NoExecute"},
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
    ]
    assert simulated({"/pools/0/taints": taints})[0]["spec"] == {"taints": taints}


def test_processors_and_memory_grow_with_the_gpus() -> None:
    (node, *_) = simulated()
    amounts = {key: node["status"]["capacity"][key] for key in ("cpu", "memory", "pods")}
    assert amounts == {"cpu": "64", "memory": "512Gi", "pods": "110"}
    shared = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 30}}
    (node, *_) = simulated({"/pools/0/sharing": shared})
    assert node["status"]["allocatable"]["pods"] == "150", "a pod for each of 120 units, and agents"


def test_stages_are_of_nodes_and_pods() -> None:
    documents = list(yaml.safe_load_all(stages()))
    assert {d["apiVersion"] for d in documents} == {"kwok.x-k8s.io/v1alpha1"}
    assert [d["spec"]["resourceRef"]["kind"] for d in documents] == ["Node", "Pod", "Pod", "Pod"]


# ---------------------------------------------------------------- the command


def test_prints_one_document_per_node() -> None:
    answer = gpugen("simulate", "lab")
    documents = list(yaml.safe_load_all(answer.out))
    assert answer.code == 0
    assert [d["kind"] for d in documents] == ["Node"] * 10
    assert answer.out.startswith("# Generated by gpugen from inventories/lab/cluster.yaml;")
    assert len(list(yaml.safe_load_all(gpugen("simulate", "lab", "--nodes", "1").out))) == 2


def test_stages_stand_before_the_nodes() -> None:
    answer = gpugen("simulate", "lab", "--nodes", "1", "--with-stages")
    kinds = [d["kind"] for d in yaml.safe_load_all(answer.out)]
    assert kinds == ["Stage"] * 4 + ["Node"] * 2


def write(folder: Path, *arguments: str) -> Answer:
    return gpugen("simulate", "lab", "--output", folder, *arguments)


def test_a_folder_holds_the_same(tmp_path: Path) -> None:
    answer = write(tmp_path / "sim")
    assert answer.code == 0
    assert answer.out == ""
    kustomization = yaml.safe_load((tmp_path / "sim/kustomization.yaml").read_text())
    printed = {
        f"node-{d['metadata']['name']}.yaml": d
        for d in yaml.safe_load_all(gpugen("simulate", "lab").out)
    }
    assert kustomization["resources"] == sorted(printed)
    for path, document in printed.items():
        assert yaml.safe_load((tmp_path / "sim" / path).read_text()) == document
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sim"]


def test_a_second_run_changes_only_what_differs(tmp_path: Path) -> None:
    write(tmp_path / "sim")
    before = snapshot(tmp_path / "sim")
    write(tmp_path / "sim")
    assert snapshot(tmp_path / "sim") == before
    write(tmp_path / "sim", "--nodes", "1", "--with-stages")
    assert sorted(p.name for p in (tmp_path / "sim").iterdir()) == [
        ".gpugen-index",
        "kustomization.yaml",
        "kwok-stages.yaml",
        "node-gpu-nb-01.yaml",
        "node-gpu-t4-01.yaml",
    ]


def test_foreign_files_stop_the_run(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim/kustomization.yaml").write_text("mine\n")
    before = snapshot(tmp_path)
    answer = write(tmp_path / "sim")
    assert answer.code == 5
    assert "choose another folder" in answer.err
    assert snapshot(tmp_path) == before


def test_a_rendered_cluster_is_not_taken_for_nodes(tmp_path: Path) -> None:
    """Its index names its files as gpugen's: they would be deleted as nodes that are gone."""
    assert gpugen("render", "lab", "--out", tmp_path / "out", "--quiet").code == 0
    before = snapshot(tmp_path)
    answer = write(tmp_path / "out" / "lab")
    assert answer.code == 5
    assert "contains rendered output" in answer.err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("folder", [".hidden", "/"])
def test_some_folders_cannot_be_used(tmp_path: Path, folder: str) -> None:
    assert write(tmp_path / folder).code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("lap",), 2), (("lab", "--nodes", "0"), 2), ((), 2), (("lab", "train"), 2)],
)
def test_wrong_usage(arguments: tuple[str, ...], code: int) -> None:
    assert gpugen("simulate", *arguments).code == code


def test_a_wrong_spec_is_explained_and_not_simulated(tmp_path: Path) -> None:
    text = (ROOT / "inventories/lab/cluster.yaml").read_text()
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text.replace("3g.20gb: 1, 2g.10gb: 2", "3g.20gb: 2, 1g.5gb: 1"))
    answer = gpugen("simulate", spec)
    assert answer.code == 1
    assert answer.out == ""
    assert "mig-does-not-fit" in answer.err
    assert "nothing simulated" in answer.err

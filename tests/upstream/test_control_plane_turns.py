"""Whose turn it is at a node, by Leases of a real API server (DRV-15); and plays that obey it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support import ROOT
from support.collection import collections
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.turns import Play

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.validated_by("kubectl")]

NODE = "gpu-01.lab.example"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
RULE = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
VERBS = ["create", "delete", "get", "update"]
PLAY = """\
- hosts: gpu
  gather_facts: false
  tasks:
    - gpugen.hosts.decide: {roles: [gpu_node]}
      when: reads | default(false)
    - ansible.builtin.include_role: {name: gpu_node, tasks_from: "{{ step }}"}
      loop: "{{ steps }}"
      loop_control: {loop_var: step}
"""
READY = {"type": "Ready", "status": "True", "reason": "Test", "message": "ready"}
HEARTBEAT = 10.0  # seconds; controllers are patient for forty or more
LONG = ".".join(["n" * 63] * 4)[:253]


class Cluster:
    """Two plays that meet at a node."""

    def __init__(self, plane: Plane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        self.kubectl = [
            str(plane.find("kubectl")),
            *(f"--kubeconfig={plane.kubeconfig('admin')}", f"--cache-dir={folder / 'cache'}"),
        ]
        self.first, self.second = Play(folder), Play(folder)

    def ask(self, play: Play, do: str, over: str = "", node: str = NODE) -> Any:
        """Return what a play is told about a node."""
        return play.ask(do, over, kubectl=self.kubectl, node=node)

    def lease(self, node: str = NODE) -> Any:
        """Return a node's Lease."""
        return self.plane.api.find(f"{LEASES}/gpugen-{node}")

    def names(self) -> list[str]:
        """Return the names of the nodes' Leases; the API server keeps one of its own."""
        found = [item["metadata"]["name"] for item in self.plane.api.items(LEASES)]
        return [name for name in found if name.startswith("gpugen-")]


@pytest.fixture
def cluster(plane: Plane, tmp_path: Path) -> Iterator[Cluster]:
    own = Cluster(plane, tmp_path)
    yield own
    own.first.kill()
    own.second.kill()
    for name in own.names():
        plane.api.delete(f"{LEASES}/{name}")


def test_who_creates_the_lease_has_the_turn_and_renews_it(cluster: Cluster) -> None:
    taken = cluster.ask(cluster.first, "take")
    assert (taken["state"], taken["run"]) == ("ours", taken["own"])
    again = cluster.ask(cluster.first, "take")
    assert (again["state"], again["since"]) == ("ours", taken["since"])
    refused = cluster.ask(cluster.second, "take")
    assert (refused["state"], refused["run"]["id"]) == ("held", taken["run"]["id"])
    assert refused["since"] == taken["since"]
    spec = cluster.lease()["spec"]
    assert spec["holderIdentity"] == f"{taken['run']['id']} {taken['run']['who']}"


def test_a_turn_is_ended_by_its_own_run_alone(cluster: Cluster) -> None:
    cluster.ask(cluster.first, "take")
    assert cluster.ask(cluster.second, "end")["state"] == "held"
    assert cluster.lease() is not None
    assert cluster.ask(cluster.first, "end")["state"] == "ours"
    assert cluster.lease() is None


def test_a_look_writes_nothing(cluster: Cluster) -> None:
    """GEN-05."""
    assert cluster.ask(cluster.first, "look")["state"] == "free"
    assert cluster.lease() is None
    cluster.ask(cluster.first, "take")
    before = cluster.lease()
    assert cluster.ask(cluster.second, "look")["state"] == "held"
    assert cluster.lease() == before


def test_a_killed_run_has_no_turn_any_more(cluster: Cluster) -> None:
    """GEN-10."""
    left = cluster.ask(cluster.first, "take")["run"]
    cluster.first.kill()
    found = cluster.ask(cluster.second, "take")
    assert (found["state"], found["former"]["id"]) == ("ours", left["id"])


def test_a_run_whose_turn_was_taken_over_is_refused(cluster: Cluster) -> None:
    cluster.ask(cluster.first, "take")
    assert cluster.ask(cluster.second, "take", "*")["state"] == "ours"
    assert cluster.ask(cluster.first, "take")["state"] == "held"
    assert cluster.ask(cluster.first, "end")["state"] == "held"
    assert cluster.lease() is not None


@pytest.mark.parametrize(
    ("renewed", "state"),
    [("2026-01-01T00:00:00.000000Z", "ours"), ("2999-01-01T00:00:00.000000Z", "held")],
)
def test_a_turn_of_elsewhere_runs_out(cluster: Cluster, renewed: str, state: str) -> None:
    """Whether its process runs cannot be seen from here; a holder of another make has none."""
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 60, "renewTime": renewed}
    cluster.plane.api.post(LEASES, {"metadata": {"name": f"gpugen-{NODE}"}, "spec": spec})
    found = cluster.ask(cluster.first, "take")
    assert found["state"] == state
    assert found["former" if state == "ours" else "run"]["id"] == "somebody"


def test_a_holder_that_the_note_belies_is_believed(cluster: Cluster) -> None:
    """Whoever edits the note alone takes nothing."""
    own = cluster.first.identify()
    note = {"gpugen/run": json.dumps(own)}
    meta = {"name": f"gpugen-{NODE}", "annotations": note}
    spec = {"holderIdentity": "0123 ops@other", "renewTime": "2999-01-01T00:00:00.000000Z"}
    cluster.plane.api.post(LEASES, {"metadata": meta, "spec": spec})
    assert cluster.ask(cluster.first, "take")["state"] == "held"


@pytest.mark.parametrize("node", ["n" * 63, LONG[:246].rstrip("."), LONG])
def test_every_name_of_a_node_names_a_lease(cluster: Cluster, node: str) -> None:
    assert cluster.ask(cluster.first, "take", node=node)["state"] == "ours"
    (name,) = cluster.names()
    assert len(name) <= 253
    assert cluster.ask(cluster.second, "take", node=node)["state"] == "held"


@pytest.mark.parametrize("missing", ["", *VERBS])
def test_the_documented_rights_are_enough_and_needed(cluster: Cluster, missing: str) -> None:
    """docs/hosts/rollout.md names them."""
    name = f"turns-{missing or 'all'}"
    api = cluster.plane.api
    account = "/api/v1/namespaces/kube-system/serviceaccounts"
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system"
    api.post(account, {"metadata": {"name": name}})
    verbs = [verb for verb in VERBS if verb != missing]
    api.post(f"{rbac}/roles", {"metadata": {"name": name}, "rules": [{**RULE, "verbs": verbs}]})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": role}
    api.post(f"{rbac}/rolebindings", binding)
    user = f"system:serviceaccount:kube-system:{name}"
    kubectl = [*cluster.kubectl, f"--as={user}"]
    steps = ("take", "take", "end")
    found = [cluster.first.try_to(step, kubectl=kubectl, node=NODE) for step in steps]
    failed = {problem.partition(": ")[0] for problem in found if problem}
    assert failed == ({f"lease gpugen-{NODE} in kube-system"} if missing else set()), found
    page = (ROOT / "docs/hosts/rollout.md").read_text(encoding="utf-8")
    assert "`leases`" in page
    assert all(f"`{verb}`" in page for verb in VERBS)


class Runs:
    """Plays of the role over one node, without its host: who empties it, who gives it back."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        (folder / "play.yml").write_text(PLAY, encoding="utf-8")
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        host = {
            "gpu_node_context": "admin",
            "gpu_node_name": NODE,
            "gpu_node_namespace": "default",
            "__gpu_node_kubectl": cluster.kubectl,
            "gpu_node_patience": 1,
            "gpu_node_labels": {"gpugen/pool": "train"},
        }
        hosts = {"gpu": {"hosts": {NODE: {**local, **host}}}}
        content = {"all": {"hosts": {"gpugen_control": local}, "children": hosts}}
        (folder / "hosts.json").write_text(json.dumps(content), encoding="utf-8")

    def play(self, *steps: str, **extra: Any) -> tuple[int, str]:
        """Run entry points of the role; return the status and what is said.

        The node reports itself meanwhile: if it is silent, a controller takes it for lost.
        """
        own = {"steps": steps, "gpu_node_reasons": ["a reason"], **extra}
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "ansible", "playbook", "play.yml"),
                *("-i", "hosts.json", "--extra-vars", json.dumps(own)),
            ],
            cwd=self.folder,
            env={
                **os.environ,
                "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
                "ANSIBLE_COLLECTIONS_PATH": str(collections(self.folder)),
                "ANSIBLE_HOME": str(self.folder / "home"),
                "ANSIBLE_NOCOLOR": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process:
            while True:
                self.report()
                try:
                    said, _ = process.communicate(timeout=HEARTBEAT)
                except subprocess.TimeoutExpired:
                    continue
                return process.returncode, said

    def report(self) -> None:
        """Say that the node is ready, as a kubelet does."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"conditions": [{**READY, "lastHeartbeatTime": now}]}
        self.cluster.plane.api.merge(f"/api/v1/nodes/{NODE}/status", {"status": status})

    def holder(self) -> str:
        """Return the note of who cordoned the node, empty if nobody did."""
        node = self.cluster.plane.api.get(f"/api/v1/nodes/{NODE}")
        note: str = node["metadata"].get("annotations", {}).get("gpugen/cordoned-by", "")
        assert bool(note) == bool(node["spec"].get("unschedulable"))
        return note


@pytest.fixture
def runs(cluster: Cluster, tmp_path: Path) -> Iterator[Runs]:
    api = cluster.plane.api
    api.post("/api/v1/nodes", {"metadata": {"name": NODE}})
    yield Runs(cluster, tmp_path)
    api.delete(f"/api/v1/nodes/{NODE}")


def test_a_run_empties_takes_again_and_gives_back(runs: Runs) -> None:
    code, said = runs.play("empty", "empty", "release")
    assert code == 0, said
    assert (runs.holder(), runs.cluster.lease()) == ("", None)


def test_two_runs_and_one_node(runs: Runs) -> None:
    """The other one is refused, and its end uncordons nothing; what ended is continued."""
    first = runs.cluster.ask(runs.cluster.first, "take")["own"]
    code, said = runs.play("empty")
    assert code == 2, said
    assert f"{NODE} belongs to run {first['id']} of {first['who']} since " in said
    assert "pass -e gpugen_take_over=true" in said
    assert runs.holder() == ""
    code, said = runs.play("empty", gpu_node_take_over=True)
    assert code == 0, said
    assert f"was left by run {first['id']} of {first['who']}" in said
    note = runs.holder()
    assert runs.cluster.ask(runs.cluster.second, "take")["state"] == "ours"
    code, said = runs.play("release", reads=True)
    assert code == 0, said
    assert f"{NODE} stays cordoned: {NODE} belongs to run" in said
    assert runs.holder() == note
    runs.cluster.second.kill()
    code, said = runs.play("release", reads=True)
    assert code == 0, said
    assert (runs.holder(), runs.cluster.lease()) == ("", None)


def test_a_node_is_labelled_tainted_verified_and_cleaned(runs: Runs) -> None:
    """KUB-01, KUB-02: a second run changes nothing, and what is removed leaves no trace."""
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    own = {"gpu_node_taints": [taint], "gpu_node_initial_labels": {"lab.example/flips": "no"}}
    code, said = runs.play("preflight", "verify", **own)
    assert code == 2, said
    assert "KUB-01: labels differ from the spec (gpugen/pool is absent, expected train" in said
    code, said = runs.play("preflight", "converge", "verify", "converge", **own)
    assert code == 0, said
    assert "changed=3 " in said
    found = runs.cluster.plane.api.get(f"/api/v1/nodes/{NODE}")
    labels = {"gpugen/pool": "train", "lab.example/flips": "no"}
    assert labels.items() <= found["metadata"]["labels"].items()
    assert taint in found["spec"]["taints"]
    code, said = runs.play("absent", **own)
    assert code == 0, said
    found = runs.cluster.plane.api.get(f"/api/v1/nodes/{NODE}")
    labels, notes = (found["metadata"].get(key, {}) for key in ("labels", "annotations"))
    assert not {*labels} & {"gpugen/pool", "lab.example/flips"}
    assert not [key for key in notes if key.startswith("gpugen/")]
    assert taint not in found["spec"].get("taints", [])


def test_a_taint_that_comes_meanwhile_stays_beside_ours(runs: Runs, tmp_path: Path) -> None:
    """KUB-01: controllers set some of their own at any time, such as behind a cordon."""
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    other = {"key": "lab.example/theirs", "effect": "NoSchedule"}
    real, kubectl = runs.cluster.kubectl[0], tmp_path / "kubectl"
    set_theirs = shlex.join(
        [
            *runs.cluster.kubectl,
            "--context=admin",
            "taint",
            "node",
            NODE,
            f"{other['key']}=:NoSchedule",
        ]
    )
    kubectl.write_text(
        f"#!/bin/sh\ncase $* in *'patch node'*/spec/taints*)\n"
        f"  mkdir {tmp_path}/once 2>/dev/null && {set_theirs} >/dev/null ;;\nesac\n"
        f'exec {real} "$@"\n',
        encoding="utf-8",
    )
    kubectl.chmod(0o755)
    client = [str(kubectl), *runs.cluster.kubectl[1:]]
    code, said = runs.play("converge", gpu_node_taints=[taint], __gpu_node_kubectl=client)
    assert code == 0, said
    assert (tmp_path / "once").is_dir()
    found = runs.cluster.plane.api.get(f"/api/v1/nodes/{NODE}")["spec"]["taints"]
    assert [each for each in (taint, other) if each not in found] == []

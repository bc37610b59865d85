"""What the play does to a node: labels, taints, layouts of MIG, drain, waits, and all of it back.

One booted host is a node of a real API server; KWOK plays its kubelet, a spare node takes the pods.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest
import yaml

from support import ansible_yaml
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import Program
from support.lab.nodes.machine import Machine
from support.lab.nodes.members import AGENTS, CONTEXT, Members
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

NODE, SPARE = "worker", "spare"
PATH = f"/api/v1/nodes/{NODE}"
FOREIGN = {"lab.example/ours": "no", "kubernetes.io/hostname": NODE}
FOREIGN_TAINT = {"key": "site.example/repair", "effect": "PreferNoSchedule"}
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
TIER = {"lab.example/tier": "batch"}
OURS = {"labels": TIER, "taints": [TAINT]}
STRANGER = "00000000-0000-4000-8000-000000000000"
MIG_LABEL, MIG_STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
BUDGET = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
PODS = "/api/v1/namespaces/default/pods"
CORDON = "gpu_node : Cordon the node, with an annotation that says who did (DRV-15)"
REGISTRATION = "/etc/rancher/k3s/config.yaml.d/90-gpugen.yaml"
GATES = "apiVersion: kubelet.config.k8s.io/v1beta1\nfeatureGates:\n  DevicePlugins: true\n"


def layout(profile: str, count: int) -> dict[str, Any]:
    """Return a layout of the pool: one profile on all of its GPUs."""
    return {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {profile: count}}]}


class Site:
    """The steps, each a property that is computed once."""

    def __init__(self, room: Room, checkout: Checkout, plane: Plane) -> None:
        self.room, self.checkout = room, checkout
        self.members = Members(plane, (NODE, SPARE), checkout.folder)
        own = Machine(files={"var/lib/kubelet/config.yaml": GATES})
        self.hosts = room.boot({NODE: own})
        self.members.api.merge(PATH, {"spec": {"taints": [FOREIGN_TAINT]}})

    def render(self, *, uid: str = "", changes: dict[str, Any] | None = None, **pool: Any) -> None:
        """Render a pool of one host. changes: of the whole spec."""
        access = {"kubeconfigContext": CONTEXT, "clusterUID": uid or self.members.uid}
        content = spec(self.room, self.hosts.values(), access=access, pool=pool)
        self.checkout.render({**content, "drain": {"timeout": "6s"}, **(changes or {})})

    def play(self, *arguments: str, playbook: str = "site.yml", **extra: Any) -> Run:
        """Run what concerns the node."""
        private = {"__gpu_node_kubectl": self.members.kubectl, "gpu_node_patience": 5}
        every = {**ALL_AT_ONCE, **private, **extra}
        return self.checkout.play("--tags", "gpu_node", *arguments, playbook=playbook, extra=every)

    @property
    def version(self) -> str:
        """Version of the node's object."""
        found: str = self.members.node(NODE)["metadata"]["resourceVersion"]
        return found

    def labels(self) -> dict[str, str]:
        """Return the node's labels."""
        return self.members.labels(NODE)

    def taints(self) -> set[str]:
        """Return the keys of the node's taints."""
        return {taint["key"] for taint in self.members.node(NODE)["spec"].get("taints", [])}

    @cached_property
    def fresh_check(self) -> tuple[Run, dict[str, str]]:
        """Check mode in front of the first run."""
        self.render(**OURS)
        return self.play("--check"), self.labels()

    @cached_property
    def labelled(self) -> tuple[Run, dict[str, str], set[str]]:
        """The first run."""
        assert self.fresh_check
        return self.play(), self.labels(), self.taints()

    @cached_property
    def rerun(self) -> tuple[Run, bool]:
        """The same again, and whether the node's object stayed as it was."""
        assert self.labelled
        before = self.members.node(NODE)["metadata"]["labels"]
        run = self.play()
        return run, before == self.labels()

    @cached_property
    def restored(self) -> tuple[Run, dict[str, str], set[str]]:
        """A label that somebody changed, and a label and a taint that left the spec."""
        assert self.rerun
        self.members.label(NODE, "gpugen/pool", "stray")
        self.render()
        return self.play(), self.labels(), self.taints()

    @cached_property
    def short(self) -> Run:
        """The plugin runs and advertises a GPU too few."""
        assert self.restored
        self.render()
        self.members.daemon("device-plugin", "train")
        self.members.advertise(NODE, gpu="3")
        return self.play()

    @cached_property
    def first_layout(self) -> Run:
        """A layout for GPUs that are in use, unconfirmed."""
        assert self.short
        self.members.advertise(NODE, gpu="4")
        self.render(mig=layout("1g.5gb", 7))
        return self.play()

    @cached_property
    def bare(self) -> Run:
        """With the word, but a pod without a controller runs there."""
        assert self.first_layout
        pod = {
            "metadata": {"name": "bare"},
            "spec": {
                "nodeName": NODE,
                "automountServiceAccountToken": False,
                "containers": [{"name": "work", "image": "work"}],
            },
        }
        self.members.create(PODS, pod)
        run = self.play(**REBOOT)
        self.members.api.delete(f"{PODS}/bare")
        return run

    @cached_property
    def protected(self) -> tuple[Run, str]:
        """Pods that a budget protects do not leave; and who cordons the node after that."""
        assert self.bare
        self.members.cordon(SPARE, is_on=True)  # so that the pods come to the host
        self.members.deploy(2)
        self.members.cordon(SPARE, is_on=False)
        budget = {
            "metadata": {"name": "work"},
            "spec": {"selector": {"matchLabels": {"app": "work"}}, "minAvailable": 2},
        }
        self.members.create(BUDGET, budget)
        return self.play(**REBOOT), self.members.holder(NODE)

    @cached_property
    def unknown(self) -> Run:
        """The budget is gone, but the manager in the cluster does not know the layout yet."""
        assert self.protected
        self.members.api.delete(f"{BUDGET}/work")
        self.members.daemon("mig-manager", "train", "0" * 16)
        return self.play(**REBOOT)

    @cached_property
    def relaid(self) -> tuple[Run, list[str]]:
        """The manager knows it; and which steps of its the manager saw."""
        assert self.unknown
        folder = self.checkout.plays / "inventory" / "group_vars"
        known = ansible_yaml.read((folder / "pool_train.yml").read_text())["gpu_node_mig_checksum"]
        notes = {"gpugen/config-checksum": known}
        self.members.api.merge(
            f"/apis/apps/v1/namespaces/{AGENTS}/daemonsets/mig-manager-train",
            {"spec": {"template": {"metadata": {"annotations": notes}}}},
        )
        with Manager(self.members) as manager:
            return self.play(gpu_node_patience=60, **REBOOT), manager.seen

    @cached_property
    def whole(self) -> Run:
        """The spec names no layout any more, but the GPUs still have instances."""
        assert self.relaid
        self.render()
        return self.play(**REBOOT)

    @cached_property
    def registered(self) -> tuple[Run, str]:
        """The same host under k3s, whose agent reads drop-ins; and what it reads."""
        assert self.whole
        self.members.advertise(NODE, gpu="4", mig_1g_5gb="0")
        self.members.label(NODE, "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")
        kubernetes = {"version": "1.36", "distribution": "k3s"}
        self.render(changes={"kubernetes": kubernetes})
        run = self.play(**REBOOT)
        return run, self.hosts[NODE].read(REGISTRATION)

    @cached_property
    def removed(self) -> tuple[Run, dict[str, str], set[str]]:
        """Everything is taken back."""
        assert self.registered
        run = self.play(playbook="remove.yml", gpugen_remove=True)
        return run, self.labels(), self.taints()


class Manager:
    """Plays the MIG manager: sees a layout without a result, applies it, reports."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.seen: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Manager:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        own = self.members.another()
        while not self._ended.is_set():
            labels = own.labels(NODE)
            if MIG_STATE not in labels and MIG_LABEL in labels:
                self.seen += [labels[MIG_LABEL], own.holder(NODE)]
                time.sleep(1)
                own.advertise(NODE, mig_1g_5gb="28")
                own.label(NODE, MIG_STATE, "success")
            time.sleep(0.2)
        own.api.close()


@pytest.fixture(scope="module")
def site(
    room: Room, checkout: Checkout, plane: Plane, kwok: Program, scheduler: Program
) -> Iterator[Site]:
    assert kwok.is_running
    assert scheduler.is_running
    own = Site(room, checkout, plane)
    yield own
    own.members.leave()
    room.stop(own.hosts.values())


def test_check_mode_shows_labels_and_sets_none(site: Site) -> None:
    """GEN-05."""
    run, labels = site.fresh_check
    assert run.code == 0, run.output
    assert run[NODE].changed
    assert labels == FOREIGN


def test_gates_of_old_kubelets_are_reported_and_left_alone(site: Site) -> None:
    """KUB-04, KUB-05, KUB-06: the file is the installer's."""
    run, _ = site.fresh_check
    assert "the kubelet's settings name DevicePlugins" in run.output
    assert site.hosts[NODE].read("/var/lib/kubelet/config.yaml") == GATES


def test_labels_and_taints_stand_beside_those_of_others(site: Site) -> None:
    """KUB-01, KUB-02."""
    run, labels, taints = site.labelled
    assert run.code == 0, run.output
    assert labels == {**FOREIGN, **TIER, "gpugen/pool": "train"}
    assert taints == {TAINT["key"], FOREIGN_TAINT["key"]}


def test_a_second_run_changes_nothing_and_starts_few_modules(site: Site) -> None:
    """GEN-04."""
    run, is_same = site.rerun
    assert (run.code, run[NODE].changed, is_same) == (0, (), True), run.output
    own = {name: n for name, n in run[NODE].modules.items() if name != "Gathering Facts"}
    assert sum(own.values()) <= 4, own


def test_what_leaves_the_spec_leaves_the_node_and_what_somebody_changed_is_set_back(
    site: Site,
) -> None:
    """KUB-01."""
    run, labels, taints = site.restored
    assert run.code == 0, run.output
    assert labels == {**FOREIGN, "gpugen/pool": "train"}
    assert taints == {FOREIGN_TAINT["key"]}


def test_another_cluster_is_refused(site: Site) -> None:
    assert site.restored
    site.render(uid=STRANGER)
    run = site.play()
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert f"leads to the cluster {site.members.uid}, expected {STRANGER}" in message


def test_a_node_that_the_cluster_lacks_is_refused(site: Site) -> None:
    """PRE-09."""
    assert site.restored
    host = {"name": f"{NODE}.lab.example", "nodeName": "nobody"}
    site.render(hosts=[{**host, "address": site.hosts[NODE].address}])
    run = site.play()
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "PRE-09: the cluster has no node nobody" in message


def test_verification_names_what_it_found_and_what_it_wanted(site: Site) -> None:
    """KUB-01."""
    assert site.restored
    site.render(taints=[TAINT])
    site.members.label(NODE, "gpugen/pool", "stray")
    run = site.play(playbook="verify.yml")
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "gpugen/pool is stray, expected train" in message
    assert "taints are site.example/repair:PreferNoSchedule" in message
    assert "of which gpugen's are to be nvidia.com/gpu:NoSchedule (gpu_node_taints)" in message


def test_a_control_host_without_kubectl_says_so(site: Site) -> None:
    """PRE-09."""
    assert site.restored
    site.render()
    run = site.play(__gpu_node_kubectl=["kubectl-of-nobody"])
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "kubectl-of-nobody cannot be run on the control host" in message


def test_the_play_waits_for_what_the_spec_predicts(site: Site) -> None:
    """KUB-03."""
    run = site.short
    assert run.code == 2, run.output
    (message,) = run[NODE].messages
    assert "KUB-03: the node advertises nvidia.com/gpu 3, expected 4" in message


def test_gpus_in_use_are_not_partitioned_unconfirmed(site: Site) -> None:
    """DRV-15, MIG-06."""
    run = site.first_layout
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "MIG layout none -> train-" in message


def test_a_pod_without_a_controller_is_not_lost(site: Site) -> None:
    """DRV-15: refused before the node is cordoned."""
    run = site.bare
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "cannot delete Pods that declare no controller" in message
    assert "default/bare" in message


def test_a_disruption_budget_holds_and_the_node_stays_cordoned(site: Site) -> None:
    """DRV-15."""
    run, holder = site.protected
    assert (run.code, holder) == (2, "gpugen")
    assert run[NODE].changed == (CORDON,)
    (message,) = run[NODE].messages
    assert "did not leave within 6s" in message


def test_a_layout_that_the_manager_does_not_know_is_not_named(site: Site) -> None:
    """MIG-06: the Kubernetes half comes first."""
    run = site.unknown
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "daemonset/mig-manager-train does not know the layout" in message


def test_an_interrupted_run_continues_applies_and_releases(site: Site) -> None:
    """MIG-06, KUB-03: the layout is named on the empty node, the result is awaited."""
    run, seen = site.relaid
    assert run.code == 0, run.output
    name, holder = seen
    assert (name.startswith("train-"), holder) == (True, "gpugen")
    assert site.members.holder(NODE) == "nobody"
    assert run[NODE].changed[-1] == "gpu_node : Uncordon the node, which the play cordoned (KUB-03)"
    assert set(site.members.running()) == {SPARE}


def test_gpus_that_would_keep_instances_are_not_forgotten(site: Site) -> None:
    """MIG-06."""
    run = site.whole
    assert (run.code, run[NODE].changed) == (2, ())
    (message,) = run[NODE].messages
    assert "its GPUs would keep the instances" in message


def test_where_the_agent_reads_drop_ins_a_node_registers_with_its_pool(site: Site) -> None:
    """KUB-01: a node that joins again comes back by itself."""
    run, text = site.registered
    assert run.code == 0, run.output
    assert yaml.safe_load(text) == {"node-label+": ["gpugen/pool=train"]}
    assert MIG_LABEL not in site.labels()


def test_nothing_of_ours_is_left(site: Site) -> None:
    """DRV-23 for the node: its labels, taints, annotations and the registration."""
    run, labels, taints = site.removed
    assert run.code == 0, run.output
    product = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
    assert labels == {**FOREIGN, **product}
    assert taints == {FOREIGN_TAINT["key"]}
    notes = site.members.node(NODE)["metadata"]["annotations"]
    assert not [key for key in notes if key.startswith("gpugen/")]
    assert site.members.holder(NODE) == "nobody"
    assert site.hosts[NODE].read(REGISTRATION) == ""

"""The main scheduler of booted control-plane nodes: real schedulers, real API servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.hosts import control_plane
from lab.hosts.node import Node
from lab.hosts.plays import Checkout, Run, spec
from lab.hosts.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

ROLE = "kube_scheduler"
FILE = "etc/kubernetes/gpugen/kube-scheduler.yaml"
PATCH = "etc/kubernetes/gpugen/patches/kube-scheduler+json.json"
K0S_FILE = "etc/k0s/gpugen-kube-scheduler.yaml"
K3S_FILE = "etc/rancher/k3s/gpugen-kube-scheduler.yaml"
K3S_FLAG = "etc/rancher/k3s/config.yaml.d/90-gpugen-kube-scheduler.yaml"
ALLOW: dict[str, Any] = {"gpugen_allow_disruption": True}
SHORT: dict[str, Any] = {"kube_scheduler_patience": 15}


def cluster(room: Room, nodes: list[Node], distribution: str) -> dict[str, Any]:
    """Return a spec; the first node is a GPU host too, so its address stands in its pool."""
    first, *others = nodes
    hosts = [{"name": f"{node.name}.lab.example", "address": node.address} for node in others]
    return {
        **spec(room, [first]),
        "kubernetes": {"version": "1.36", "distribution": distribution},
        "controlPlane": {"hosts": [f"{first.name}.lab.example", *hosts]},
        "components": {"scheduler": {}},
    }


def schedulers(node: Node) -> dict[int, str]:
    """Return the running schedulers: pid -> command line."""
    lines = node.run("pgrep", "-a", "-x", "kube-scheduler", status=None).splitlines()
    return {int(pid): words for pid, _, words in (line.partition(" ") for line in lines)}


def files(node: Node) -> dict[str, str]:
    """Return what the role may write, by path."""
    paths = (control_plane.MANIFEST, FILE, PATCH, K3S_FILE, K3S_FLAG)
    return {path: node.read(path) for path in paths}


class Scene:
    """Nodes, and runs of the role over them in one order, each computed once."""

    def __init__(self, checkout: Checkout, nodes: dict[str, Node]) -> None:
        self.checkout = checkout
        self.nodes = nodes
        self.before = {name: files(node) for name, node in nodes.items()}

    def play(self, playbook: str = "site.yml", **extra: Any) -> Run:
        """Run the plays of the control plane."""
        return self.checkout.play("--tags", ROLE, playbook=playbook, extra=extra)

    def configuration(self) -> dict[str, Any]:
        """Return what gpugen rendered."""
        path = self.checkout.plays / "inventory" / "group_vars" / "control_plane.yml"
        variables = yaml.safe_load(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = variables[f"{ROLE}_configuration"]
        return found


class Kubeadm(Scene):
    """Two nodes with static pods."""

    @cached_property
    def unreadable(self) -> tuple[Run, dict[str, dict[str, str]]]:
        """A configuration that the program refuses."""
        configuration = self.configuration()
        configuration["profiles"][1]["percentageOfNodesToScore"] = 101
        run = self.play(kube_scheduler_configuration=configuration)
        return run, {name: files(node) for name, node in self.nodes.items()}

    @cached_property
    def broken(self) -> tuple[Run, dict[str, dict[str, str]], dict[int, str]]:
        """The first node's scheduler does not come up with the new file."""
        assert self.unreadable
        node = self.nodes["cp1"]
        node.sh("touch /run/lab-no-config")
        run = self.play(**SHORT)
        node.sh("rm /run/lab-no-config")
        return run, {name: files(n) for name, n in self.nodes.items()}, schedulers(node)

    @cached_property
    def converged(self) -> tuple[Run, dict[str, dict[str, str]]]:
        """The role as it is."""
        assert self.broken
        return self.play(), {name: files(node) for name, node in self.nodes.items()}

    @cached_property
    def again(self) -> tuple[Run, bool]:
        """Once more; and whether the same processes run as before."""
        assert self.converged
        before = {name: schedulers(node) for name, node in self.nodes.items()}
        run = self.play()
        return run, before == {name: schedulers(node) for name, node in self.nodes.items()}

    @cached_property
    def upgraded(self) -> tuple[Run, Run]:
        """An upgrade writes the second node's manifest anew: verified, then put right."""
        assert self.again
        node = self.nodes["cp2"]
        own = self.before["cp2"][control_plane.MANIFEST]
        node.sh(f"cat >/{control_plane.MANIFEST}", text=own)
        return self.play("verify.yml"), self.play()

    @cached_property
    def healed(self) -> tuple[int, Run]:
        """Somebody deletes our folder, and the first node's scheduler cannot start any more."""
        assert self.upgraded
        node = self.nodes["cp1"]
        node.sh("rm -r /etc/kubernetes/gpugen; pkill -x kube-scheduler; sleep 2")
        return len(schedulers(node)), self.play("site.yml")

    @cached_property
    def removed(self) -> tuple[Run, dict[str, dict[str, str]]]:
        """Everything taken away."""
        assert self.healed
        run = self.play("remove.yml", gpugen_remove=True)
        return run, {name: files(node) for name, node in self.nodes.items()}


class K3s(Scene):
    """One server of k3s."""

    @cached_property
    def refused(self) -> tuple[Run, Run, dict[str, str]]:
        """Without the word; then with it, but without the image."""
        node = self.nodes["server"]
        silent = self.play()
        node.sh("touch /run/lab-no-images")
        run = self.play(**ALLOW)
        node.sh("rm /run/lab-no-images")
        return silent, run, files(node)

    @cached_property
    def unreadable(self) -> tuple[Run, dict[str, str]]:
        """A configuration that would end the server."""
        assert self.refused
        run = self.play(**ALLOW, kube_scheduler_configuration={**self.configuration(), "x": 1})
        return run, files(self.nodes["server"])

    @cached_property
    def converged(self) -> tuple[Run, Run, str]:
        """The role as it is, twice; and how the scheduler runs."""
        assert self.unreadable
        run, again = self.play(**ALLOW), self.play()
        return run, again, " ".join(schedulers(self.nodes["server"]).values())

    @cached_property
    def removed(self) -> tuple[Run, dict[str, str], str]:
        """Verified, then everything taken away."""
        assert self.converged
        assert self.play("verify.yml").code == 0
        run = self.play("remove.yml", gpugen_remove=True)
        node = self.nodes["server"]
        return run, files(node), " ".join(schedulers(node).values())


class K0s(Scene):
    """One controller of k0s, whose settings are the administrator's."""

    @cached_property
    def reported(self) -> tuple[Run, Run]:
        """The file is written, the line is not there yet."""
        return self.play(), self.play("verify.yml")

    @cached_property
    def named(self) -> tuple[Run, Run]:
        """The administrator has added the line; then the file changes, without and with a word."""
        assert self.reported
        line = f"spec: {{scheduler: {{extraArgs: {{config: /{K0S_FILE}}}}}}}\n"
        node = self.nodes["controller"]
        node.sh(f"cat >/{control_plane.K0S_CONFIG}; systemctl restart k0scontroller", text=line)
        control_plane.wait_for_scheduler(node, "/var/lib/k0s/pki/admin.conf")
        return self.play(), self.play("verify.yml")

    @cached_property
    def changed(self) -> tuple[Run, Run, str]:
        """The file changes: without the word, and with it."""
        assert self.named
        own = {**self.configuration(), "parallelism": 8}
        silent = self.play(kube_scheduler_configuration=own)
        run = self.play(**ALLOW, kube_scheduler_configuration=own)
        return silent, run, self.nodes["controller"].read(K0S_FILE)


@pytest.fixture(scope="module")
def programs(reader: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return control_plane.layer(reader, tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def kubeadm(
    room: Room, checkout: Checkout, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubeadm]:
    folder = tmp_path_factory.mktemp("keys")
    nodes = room.boot({"cp1": control_plane.machine(programs, folder)})
    server = nodes["cp1"].address
    nodes |= room.boot({"cp2": control_plane.machine(programs, folder, server)})
    checkout.render(cluster(room, list(nodes.values()), "kubeadm"))
    control_plane.wait_for_scheduler(nodes["cp1"])
    control_plane.wait_for_scheduler(nodes["cp2"])
    yield Kubeadm(checkout, nodes)
    room.stop(list(nodes.values()))


@pytest.fixture(scope="module")
def k3s(room: Room, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[K3s]:
    checkout = Checkout(room, tmp_path_factory.mktemp("k3s"))
    nodes = room.boot({"server": control_plane.k3s(programs, checkout.folder)})
    checkout.render(cluster(room, list(nodes.values()), "k3s"))
    control_plane.wait_for_scheduler(nodes["server"], "/etc/rancher/k3s/k3s.yaml")
    yield K3s(checkout, nodes)
    room.stop(list(nodes.values()))


@pytest.fixture(scope="module")
def k0s(room: Room, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[K0s]:
    checkout = Checkout(room, tmp_path_factory.mktemp("k0s"))
    nodes = room.boot({"controller": control_plane.k0s(programs, checkout.folder)})
    checkout.render(cluster(room, list(nodes.values()), "k0s"))
    control_plane.wait_for_scheduler(nodes["controller"], "/var/lib/k0s/pki/admin.conf")
    yield K0s(checkout, nodes)
    room.stop(list(nodes.values()))


# ---------------------------------------------------------------- kubeadm


def test_what_its_scheduler_does_not_read_is_not_written(kubeadm: Kubeadm) -> None:
    """DIST-13: the program that runs on the host judges, on every host before any is touched."""
    run, after = kubeadm.unreadable
    for name in ("cp1", "cp2"):
        (message,) = run[name].messages
        assert "DIST-13" in message
        assert "101" in message
    assert after == kubeadm.before


def test_a_scheduler_that_does_not_come_up_is_put_back(kubeadm: Kubeadm) -> None:
    """GEN-11: the files of before, and a scheduler that is healthy with them."""
    run, after, running = kubeadm.broken
    assert "the scheduler runs as before" in run["cp1"].messages[-1]
    assert after["cp1"] == kubeadm.before["cp1"]
    (words,) = running.values()
    assert "--config" not in words


def test_the_next_node_is_not_touched_after_a_failure(kubeadm: Kubeadm) -> None:
    run, after, _ = kubeadm.broken
    assert run.code == 2
    assert run["cp2"].changed == ()
    assert after["cp2"] == kubeadm.before["cp2"]


def test_every_scheduler_runs_with_the_file(kubeadm: Kubeadm) -> None:
    """DIST-10, DIST-11: the kubeconfig and leading are what the flags of the manifest say."""
    run, after = kubeadm.converged
    assert run.code == 0, run.output
    for name in ("cp1", "cp2"):
        found = yaml.safe_load(after[name][FILE])
        assert found == kubeadm.configuration()
        manifest = yaml.safe_load(after[name][control_plane.MANIFEST])
        own = yaml.safe_load(kubeadm.before[name][control_plane.MANIFEST])
        (container,), (plain,) = manifest["spec"]["containers"], own["spec"]["containers"]
        assert container["command"] == [*plain["command"], f"--config=/{FILE}"]
        assert container["volumeMounts"][:-1] == plain["volumeMounts"]
        assert manifest["spec"]["volumes"][:-1] == own["spec"]["volumes"]


def test_a_second_run_changes_nothing(kubeadm: Kubeadm) -> None:
    """GEN-04; each look at a host is one module run."""
    run, is_same = kubeadm.again
    for name in ("cp1", "cp2"):
        assert run[name].changed == ()
        assert run[name].module_runs <= 5  # facts, two looks of the judges, one of the role
    assert is_same


def test_an_upgrade_that_drops_the_flag_is_noticed_and_healed(kubeadm: Kubeadm) -> None:
    proof, run = kubeadm.upgraded
    assert "did an upgrade write it anew" in proof["cp2"].messages[-1]
    assert not proof["cp1"].is_failed
    assert run.code == 0
    assert run["cp1"].changed == ()
    assert len(run["cp2"].changed) == 1


def test_a_file_of_ours_that_is_gone_comes_back(kubeadm: Kubeadm) -> None:
    """GEN-10: there is no scheduler that could be asked, and none that could be harmed."""
    left, run = kubeadm.healed
    assert left == 0
    assert run.code == 0, run.output
    assert kubeadm.nodes["cp1"].read(FILE)
    assert run["cp2"].changed == ()


def test_removal_leaves_what_was_there(kubeadm: Kubeadm) -> None:
    run, after = kubeadm.removed
    assert run.code == 0, run.output
    for name in ("cp1", "cp2"):
        assert yaml.safe_load(after[name][control_plane.MANIFEST]) == yaml.safe_load(
            kubeadm.before[name][control_plane.MANIFEST]
        )
        assert (after[name][FILE], after[name][PATCH]) == ("", "")
        assert "--config" not in "".join(schedulers(kubeadm.nodes[name]).values())


# ---------------------------------------------------------------- k3s


def test_a_restart_of_the_server_needs_a_word(k3s: K3s) -> None:
    """DRV-15: the API server pauses with it."""
    silent, _, after = k3s.refused
    assert "gpugen_allow_disruption=true" in silent["server"].messages[-1]
    assert after == k3s.before["server"]


def test_without_a_program_that_reads_the_file_nothing_is_written(k3s: K3s) -> None:
    """DIST-13: a wrong file would end the server, and k3s has no kube-scheduler to ask."""
    _, run, after = k3s.refused
    assert "DIST-13" in run["server"].messages[-1]
    assert "no such image at any mirror" in run["server"].messages[-1]
    assert after == k3s.before["server"]


def test_a_file_that_would_end_the_server_is_refused(k3s: K3s) -> None:
    """DIST-13."""
    run, after = k3s.unreadable
    assert "DIST-13" in run["server"].messages[-1]
    assert "unknown field" in run["server"].messages[-1]
    assert after == k3s.before["server"]


def test_the_server_takes_our_flag_and_keeps_the_others(k3s: K3s) -> None:
    """DIST-10: the flag stands in a drop-in of ours; v=2 of the site stays."""
    run, again, words = k3s.converged
    assert run.code == 0, run.output
    assert f"--v=2 --config=/{K3S_FILE}" in words
    assert again.code == 0, again.output
    assert again["server"].changed == ()


def test_removal_gives_the_server_its_own_settings(k3s: K3s) -> None:
    run, after, words = k3s.removed
    assert run.code == 0, run.output
    assert after == k3s.before["server"]
    assert words.endswith("--v=2")


# ---------------------------------------------------------------- k0s


def test_the_line_for_the_administrator_is_said_until_it_is_there(k0s: K0s) -> None:
    """GEN-12: k0s.yaml is not ours."""
    run, proof = k0s.reported
    assert run.code == 0, run.output
    assert f"extraArgs: {{config: /{K0S_FILE}}}" in run.output
    assert "the scheduler runs without it" in proof["controller"].messages[-1]


def test_a_named_file_needs_nothing_more(k0s: K0s) -> None:
    run, proof = k0s.named
    assert (run.code, proof.code) == (0, 0), run.output + proof.output
    assert run["controller"].changed == ()


def test_the_file_follows_the_flag_about_leading(k0s: K0s) -> None:
    """DIST-11: a single controller elects nobody, and the file says so."""
    _, run, text = k0s.changed
    assert run.code == 0, run.output
    found = yaml.safe_load(text)
    assert found["leaderElection"] == {"leaderElect": False}
    assert found["parallelism"] == 8


def test_a_restart_of_the_controller_needs_a_word(k0s: K0s) -> None:
    """DRV-15."""
    silent, _, _ = k0s.changed
    assert "gpugen_allow_disruption=true" in silent["controller"].messages[-1]

"""The main scheduler of two booted nodes of kubeadm: static pods, one API server, one lease."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
import yaml

from support.lab.nodes import control_plane
from support.lab.nodes.plays import Checkout, Run
from support.lab.nodes.room import Room
from support.lab.nodes.schedulers import FILE, PATCH, SHORT, Scene, cluster, files, schedulers

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]


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


def test_what_its_scheduler_does_not_read_is_not_written(kubeadm: Kubeadm) -> None:
    """DIST-13: the program that runs on the host checks, on every host before any is touched."""
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
        assert run[name].module_runs <= 5  # facts, two looks of the checks, one of the role
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

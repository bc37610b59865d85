"""The main scheduler within a booted server of k3s, which ends with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

from support.lab.nodes import control_plane
from support.lab.nodes.plays import Checkout, Run
from support.lab.nodes.room import Room
from support.lab.nodes.schedulers import ALLOW, K3S_FILE, Scene, cluster, files, schedulers

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]


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


@pytest.fixture(scope="module")
def k3s(room: Room, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[K3s]:
    checkout = Checkout(room, tmp_path_factory.mktemp("k3s"))
    nodes = room.boot({"server": control_plane.k3s(programs, checkout.folder)})
    checkout.render(cluster(room, list(nodes.values()), "k3s"))
    control_plane.wait_for_scheduler(nodes["server"], "/etc/rancher/k3s/k3s.yaml")
    yield K3s(checkout, nodes)
    room.stop(list(nodes.values()))


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

"""The main scheduler of a booted controller of k0s, whose settings are the administrator's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
import yaml

from support.lab.nodes import control_plane
from support.lab.nodes.plays import Checkout, Run
from support.lab.nodes.room import Room
from support.lab.nodes.schedulers import ALLOW, K0S_FILE, Scene, cluster

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]


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
def k0s(room: Room, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[K0s]:
    checkout = Checkout(room, tmp_path_factory.mktemp("k0s"))
    nodes = room.boot({"controller": control_plane.k0s(programs, checkout.folder)})
    checkout.render(cluster(room, list(nodes.values()), "k0s"))
    control_plane.wait_for_scheduler(nodes["controller"], "/var/lib/k0s/pki/admin.conf")
    yield K0s(checkout, nodes)
    room.stop(list(nodes.values()))


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

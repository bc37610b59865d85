"""Hosts whose driver and container toolkit come from two repositories with two keys.

Rules: PRE-07, CTK-02.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from gpugen.catalog.packages import PackageSource, fetch_command
from gpugen.model.finding import ROOT
from support.lab.nodes import deb, el, el_standins, rpm, standins
from support.lab.nodes.machine import Machine
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

DEBIAN, NINE = "debian", "nine"
ONLY_THERE = "1.18.2"  # a toolkit that the driver's repository does not have
ROLES = ("--tags", "gpu_prerequisites,nvidia_container_toolkit,preflight")
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
FILES = {
    DEBIAN: ("/etc/apt/sources.list.d/gpugen-{}.sources", "/etc/apt/keyrings/gpugen-{}.asc"),
    NINE: ("/etc/yum.repos.d/gpugen-{}.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-gpugen-{}"),
}
READ = {
    DEBIAN: "apt-get -qq update -o APT::Update::Error-Mode=any",
    NINE: "dnf -q -y --refresh makecache",
}


class Story:
    """The hosts and the steps that they take."""

    def __init__(self, room: Room, checkout: Checkout) -> None:
        self.room, self.checkout = room, checkout
        self.nodes = room.boot({DEBIAN: Machine(), NINE: Machine(system=el.EL9)})
        self.key = deb.Key(room.folder / "second-gpg")
        self.ctk = room.folder / "www" / "ctk"
        (checkout.folder / "keys" / "toolkit.asc").write_bytes(self.key.public)
        deb.write_repository(self.ctk / "deb/amd64", standins.toolkit(ONLY_THERE), "amd64")
        wanted = {"ctk/rpm/x86_64": el_standins.toolkit(ONLY_THERE)}
        rpm.write_repositories(
            room.folder / "www", wanted, {}, el.tree(), self.key, "x86_64", signing=""
        )
        self.sign(self.key)

    def sign(self, key: deb.Key) -> None:
        """Sign the indexes of the toolkit's repository."""
        deb.sign(self.ctk / "deb/amd64", key)
        rpm.sign(self.ctk / "rpm/x86_64", key)

    def render(self, *, is_split: bool) -> None:
        """Render a pool per system."""
        own = spec(self.room, self.nodes.values(), toolkit=ONLY_THERE)
        (pool,) = own["pools"]
        systems = {DEBIAN: "debian-12", NINE: el.EL9}
        own["pools"] = [
            {**pool, "name": name, "hosts": [host], "host": {"os": systems[name]}}
            for name, host in zip(self.nodes, pool["hosts"], strict=True)
        ]
        if is_split:
            own["hostDefaults"]["repositories"] = {
                "driver": own["hostDefaults"]["repositories"],
                "containerToolkit": {
                    "baseURL": f"{self.room.address}/ctk",
                    "keyFile": "keys/toolkit.asc",
                    "fingerprint": self.key.fingerprint,
                    "signedMetadata": True,
                },
            }
        self.checkout.render(own)

    def play(self, *arguments: str, **options: Any) -> Run:
        """Play."""
        return self.checkout.play(*(arguments or ROLES), **{"extra": ALLOWED, **options})

    @cached_property
    def converged(self) -> Run:
        """The first run."""
        self.render(is_split=True)
        return self.play()

    @cached_property
    def rerun(self) -> Run:
        """The same again."""
        assert self.converged
        return self.play()

    @cached_property
    def forged(self) -> dict[str, str]:
        """What the tools say about indexes that somebody else signed."""
        assert self.rerun
        self.sign(self.room.key)
        said = {
            name: self.nodes[name].sh(f"{line} 2>&1 && echo taken || true")
            for name, line in READ.items()
        }
        self.sign(self.key)
        return said

    @cached_property
    def single(self) -> tuple[Run, Run]:
        """One repository for both, and that again."""
        assert self.forged
        self.render(is_split=False)
        return self.play(), self.play()


@pytest.fixture(scope="module")
def story(room: Room, checkout: Checkout) -> Iterator[Story]:
    own = Story(room, checkout)
    yield own
    own.key.close()
    room.stop(own.nodes.values())


def present(story: Story, name: str, repository: str) -> list[str]:
    paths = (path.format(repository) for path in FILES[name])
    return story.nodes[name].sh(f"ls {' '.join(paths)} 2>/dev/null || true").split()


def test_each_part_comes_from_its_own_repository(story: Story) -> None:
    assert story.converged.code == 0, story.converged.output
    package = "nvidia-container-toolkit"
    assert story.nodes[DEBIAN].versions()[package] == f"={ONLY_THERE}-1"
    assert el.versions(story.nodes[NINE])[package] == f"={ONLY_THERE}-1"
    for name, paths in FILES.items():
        for repository in ("nvidia", package):
            wanted = [path.format(repository) for path in paths]
            assert sorted(present(story, name, repository)) == sorted(wanted)


def test_each_source_is_signed_by_its_own_key(story: Story) -> None:
    assert story.converged.code == 0
    package = "nvidia-container-toolkit"
    source = story.nodes[DEBIAN].read(FILES[DEBIAN][0].format(package))
    assert f"Signed-By: /etc/apt/keyrings/gpugen-{package}.asc\n" in source
    repo = story.nodes[NINE].read(FILES[NINE][0].format(package))
    assert "\ngpgcheck=0\nrepo_gpgcheck=1\n" in repo
    assert "\ngpgcheck=1\nrepo_gpgcheck=0\n" in story.nodes[NINE].read(
        FILES[NINE][0].format("nvidia")
    )


def test_a_second_run_changes_nothing(story: Story) -> None:
    assert story.rerun.code == 0, story.rerun.output
    assert {name: story.rerun[name].changed for name in FILES} == dict.fromkeys(FILES, ())


def test_an_index_that_another_key_signed_is_not_taken(story: Story) -> None:
    assert {name: "taken" in said.split() for name, said in story.forged.items()} == {
        DEBIAN: False,
        NINE: False,
    }, story.forged


def test_what_the_spec_no_longer_states_goes(story: Story) -> None:
    first, second = story.single
    assert first.code == second.code == 0, first.output + second.output
    for name in FILES:
        assert present(story, name, "nvidia-container-toolkit") == []
        assert len(present(story, name, "nvidia")) == 2
        assert second[name].changed == ()


@pytest.mark.parametrize("is_right", [True, False])
def test_the_command_keeps_a_key_only_if_it_is_the_one(
    story: Story, tmp_path: Path, *, is_right: bool
) -> None:
    """The line that init and validate print, with a fetcher that brings the laboratory's key."""
    (tmp_path / "bin").mkdir()
    fetched = tmp_path / "bin" / "curl"
    fetched.write_text(f"#!/bin/sh\nmkdir -p keys\ncp {tmp_path}/key keys/own.asc\n")
    fetched.chmod(0o755)
    (tmp_path / "key").write_bytes(story.key.public)
    fingerprint = story.key.fingerprint if is_right else story.room.key.fingerprint
    source = PackageSource("own", "", "keys/own.asc", fingerprint, ROOT, "https://own.example/key")
    done = subprocess.run(
        ["/bin/sh", "-c", fetch_command(source)],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{fetched.parent}:{os.environ['PATH']}"},
        check=False,
    )
    assert (done.returncode == 0) is is_right
    assert (tmp_path / "keys/own.asc").exists() is is_right

"""Fixtures: one machine room per worker, and a repository of specs for each module."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from support import required
from support.lab.nodes import base
from support.lab.nodes.plays import Checkout
from support.lab.nodes.room import DIRECTORIES, NEEDED, Room

MOUNTS = """
mount -t tmpfs lab /mnt
mkdir /mnt/lower /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work lab /mnt/root
"""


@pytest.fixture(scope="session")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """Return the room; skip where this machine cannot have one.

    Where tools are required (GPUGEN_REQUIRE_TOOLS) a machine that cannot fails the tests.
    """
    needs = unmet()
    if needs:
        missing(needs)
    try:
        base.tree()
    except base.UnavailableError as problem:
        missing(str(problem))
    opened = Room(tmp_path_factory.mktemp("room"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def containerd() -> Callable[[str], Path]:
    """Return a function from a minor version to a folder with that containerd's programs."""

    def find(minor: str) -> Path:
        try:
            return base.containerd(minor)
        except base.UnavailableError as problem:
            missing(str(problem))

    return find


@pytest.fixture(scope="module")
def checkout(room: Room, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return an empty repository of specs."""
    return Checkout(room, tmp_path_factory.mktemp("checkout"))


def unmet() -> str:
    """Return what this machine is missing, empty if nothing."""
    if platform.machine() not in DIRECTORIES:
        return f"machines of type {platform.machine()}"
    if os.geteuid() != 0:
        return "root"
    if not base.MIRROR:
        return "a mirror of Debian (GPUGEN_DEBIAN_MIRROR)"
    programs = ", ".join(name for name in NEEDED if shutil.which(name) is None)
    return programs or _refused()


def _refused() -> str:
    """Return what the kernel refuses this root, as in most containers; empty if nothing."""
    probe = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "sh", "-euc", MOUNTS]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        return f"namespaces and overlays of root's own ({done.stderr.strip()})"
    return ""


def missing(what: str) -> NoReturn:
    """Skip, or fail where tools are required."""
    message = f"the laboratory of hosts is missing: {what} (docs/develop/host-lab.md)"
    required.missing(message)

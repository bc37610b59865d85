"""Fixtures: one control plane per session, and what works on it where a test asks for it.

Tests that use them carry ``xdist_group(GROUP)``, so that one worker has the one control plane.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from gpugen.render.simulation import stages
from support.lab.cluster.api import Object
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.plane import Plane, running
from support.lab.cluster.programs import Program, space_refusal
from support.lab.cluster.trees import ROOT
from support.required import missing

GROUP = "control-plane"
Find = Callable[[str], Path]
Simulate = Callable[..., list[Object]]


@pytest.fixture(scope="session")
def plane(upstream: Find, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """Return a running API server without controllers, nodes, or CRDs."""
    with running(tmp_path_factory.mktemp("plane"), upstream) as found:
        yield found


@pytest.fixture(scope="session")
def spaces() -> None:
    """Skip where this machine allows no namespaces; fail where upstream programs are required."""
    if refusal := space_refusal():
        message = f"programs cannot run as in their pods here: {refusal}"
        missing(message)


@pytest.fixture(scope="session")
def controllers(plane: Plane) -> Iterator[Program]:
    """Run kube-controller-manager from here on."""
    with plane.controller_manager() as program:
        yield program


@pytest.fixture(scope="session")
def kwok(plane: Plane, controllers: Program) -> Iterator[Program]:
    """Run KWOK from here on with the stages that gpugen ships."""
    path = plane.folder / "kwok-stages.yaml"
    path.write_text(stages(), encoding="utf-8")
    with plane.kwok(path) as program:
        yield program


@pytest.fixture(scope="session")
def scheduler(plane: Plane, controllers: Program) -> Iterator[Program]:
    """Run the cluster's own kube-scheduler, with its defaults, from here on."""
    with plane.scheduler() as program:
        yield program


@pytest.fixture
def delivery(plane: Plane, crds: Callable[[str], list[Path]]) -> Iterator[Delivery]:
    """Return what applies trees; what a test applied is gone after it."""
    found = Delivery(plane.api, crds)
    yield found
    found.clear()


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    """Return a function from the command's arguments to the nodes that it prints."""

    def run(*arguments: str, root: Path = ROOT) -> list[Object]:
        command = [sys.executable, "-m", "gpugen", "simulate", *arguments, f"--root={root}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return list(yaml.load_all(done.stdout, yaml.CSafeLoader))

    return run

"""CTK-20: where an image is named, verification starts a container on all GPUs, else none.

Real: containerd of two versions and its client, runc, nvidia-container-runtime and its hooks, a
pull from a registry. Played: NVML, the devices (files without a driver), and nvidia-smi, which the
runtime brings into the container and which counts these files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.lab.nodes import containers, images
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

ROLE = "nvidia_container_toolkit"
CELLS = {"1.6": None, "2": "2"}  # containerd of Debian 12, and of a newer suite
GPUS = 4
PRELOADED = "registry.lab.example/cuda:13.0.1"
PULLED = f"{containers.REGISTRY}/cuda:13.0.1"


def node_name(cell: str) -> str:
    return f"s{cell.replace('.', '')}"


class Lab:
    """Nodes that have the toolkit, and runs of verify.yml over them."""

    def __init__(self, checkout: Checkout, nodes: dict[str, Node]) -> None:
        self.checkout, self.nodes = checkout, nodes

    def node(self, cell: str) -> Node:
        """Return the node of a cell."""
        return self.nodes[node_name(cell)]

    def verify(self, cell: str, image: str = "", *words: str) -> Run:
        """Verify one node, with an image named on the command line."""
        extra = {**ALL_AT_ONCE, **({f"{ROLE}_smoke_test": image} if image else {})}
        limit = ("--limit", f"{node_name(cell)}.lab.example")
        return self.checkout.play(
            "--tags", ROLE, *limit, *words, playbook="verify.yml", extra=extra
        )

    def message(self, cell: str, image: str) -> str:
        """Return what a node that fails is told."""
        run = self.verify(cell, image)
        assert run[node_name(cell)].is_failed, run.output
        return run[node_name(cell)].messages[-1]

    def left(self, cell: str) -> tuple[str, ...]:
        """Return containers, tasks and images of every namespace that verification may use."""
        words = (("containers", "ls"), ("tasks", "ls"), ("images", "ls"))
        return tuple(
            self.node(cell).run("ctr", "--namespace", space, *each, "--quiet")
            for space in ("k8s.io", "gpugen")
            for each in words
        )


@pytest.fixture(scope="module")
def lab(
    room: Room,
    checkout: Checkout,
    upstream: Callable[[str], Path],
    containerd: Callable[[str], Path],
    mock_of_nvml: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("smoke")
    programs = {name: upstream(name) for name in ("nvidia-ctk", "nvidia-container-runtime")}
    smi = containers.program(folder)
    trees = {
        cell: containers.layer(
            folder / cell, programs, mock_of_nvml, smi, containerd(minor) if minor else None
        )
        for cell, minor in CELLS.items()
    }
    image = images.image(smi, "hello")  # nvidia-smi is not in it: the runtime brings it
    image.archive(PRELOADED, folder / "preloaded.tar")
    for tree in trees.values():
        image.served(tree / "srv/lab/image")
        (tree / "srv/lab/preloaded.tar").write_bytes((folder / "preloaded.tar").read_bytes())
    nodes = room.boot({node_name(cell): containers.machine(tree) for cell, tree in trees.items()})
    for node in nodes.values():
        containers.start(node, GPUS)
    checkout.render(spec(room, nodes.values()))
    run = checkout.play("--tags", ROLE)
    assert run.code == 0, run.output
    yield Lab(checkout, nodes)
    for node in nodes.values():
        containers.stop(node)
    room.stop(nodes.values())


every_cell = pytest.mark.parametrize("cell", CELLS)
one_cell = pytest.mark.parametrize("cell", ["2"])


@every_cell
def test_nothing_is_started_or_pulled_unless_an_image_is_named(lab: Lab, cell: str) -> None:
    run = lab.verify(cell)
    assert run.code == 0, run.output
    assert run[node_name(cell)].changed == ()
    assert not any("Pull" in task or "Run" in task for task in run[node_name(cell)].modules)
    assert set(lab.left(cell)) == {""}


@one_cell
def test_check_mode_starts_nothing_either(lab: Lab, cell: str) -> None:
    run = lab.verify(cell, PULLED, "--check")
    assert run.code == 0, run.output
    assert not any("Pull" in task for task in run[node_name(cell)].modules)


@every_cell
def test_a_pulled_image_shows_all_gpus_and_nothing_is_left(lab: Lab, cell: str) -> None:
    run = lab.verify(cell, PULLED)
    assert run.code == 0, run.output
    assert run[node_name(cell)].changed == ()
    assert set(lab.left(cell)) == {""}


@every_cell
def test_fewer_gpus_than_declared_are_told(lab: Lab, cell: str) -> None:
    node = lab.node(cell)
    containers.play(node, GPUS - 1)
    message = lab.message(cell, PULLED)
    containers.play(node, GPUS)
    assert f"CTK-20: a container of {PULLED}, started by containerd, shows 3 GPUs" in message
    assert f"expected 4 ({ROLE}_expected_gpus)" in message
    assert "GPU 2: NVIDIA A100-SXM4-40GB" in message
    assert set(lab.left(cell)) == {""}


@every_cell
def test_the_runtime_is_quoted_where_it_refuses(lab: Lab, cell: str) -> None:
    """Its own words, not a number: here of NVIDIA's runtime, which misses a file of the driver."""
    node = lab.node(cell)
    node.sh(f"mv {containers.CUDA} /run/libcuda")
    message = lab.message(cell, PULLED)
    node.sh(f"cp /run/libcuda {containers.CUDA}")
    assert f"CTK-20: a container of {PULLED}, started by containerd, did not run (1)" in message
    assert "libcuda.so" in message
    assert "not found" in message
    assert set(lab.left(cell)) == {""}


@one_cell
def test_an_image_that_cannot_be_had_is_told(lab: Lab, cell: str) -> None:
    message = lab.message(cell, PRELOADED)
    assert f"CTK-20: a container of {PRELOADED}, started by containerd" in message
    assert "cannot be had: the image was not pulled" in message
    assert "registry.lab.example" in message.partition("It said: ")[2]


@one_cell
@pytest.mark.parametrize(
    "image", ["docker.io/nvidia/cuda", "docker.io/nvidia/cuda:latest", "nvidia/cuda:13.0.1"]
)
def test_an_image_that_is_not_pinned_is_refused(lab: Lab, cell: str, image: str) -> None:
    assert f"CTK-20: {image} names no registry, or neither a tag" in lab.message(cell, image)
    assert set(lab.left(cell)) == {""}


@every_cell
def test_an_image_among_those_of_pods_is_used_and_stays(lab: Lab, cell: str) -> None:
    """An air-gapped host: no registry answers to that name."""
    lab.node(cell).run("ctr", "--namespace", "k8s.io", "images", "import", "/srv/lab/preloaded.tar")
    run = lab.verify(cell, PRELOADED)
    assert run.code == 0, run.output
    pods_containers, pods_tasks, pods_images, *own = lab.left(cell)
    assert PRELOADED in pods_images.split()
    assert {pods_containers, pods_tasks, *own} == {""}


def test_the_spec_names_an_image_too(lab: Lab, room: Room) -> None:
    """Then every verification runs it, that of a node in front of its pods too."""
    content = spec(room, lab.nodes.values())
    content["hostDefaults"]["containerToolkit"]["smokeTestImage"] = f"{PULLED[:-1]}9"
    lab.checkout.render(content)
    run = lab.verify("2")
    assert run.code == 0, run.output
    assert any("Run nvidia-smi" in task for task in run[node_name("2")].modules)

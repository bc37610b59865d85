"""docs/start/take-away.md: its commands take the cluster's half away, to the last object."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.documents import blocks
from support.lab.cluster.delivery import Delivery
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.trees import ROOT, Item, example

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.validated_by("kubectl")]

PAGE = "docs/start/take-away.md"
KEPT_BACK = ("00-namespaces", "01-crds")
OBJECTS, THE_REST = (
    block.text for block in blocks(PAGE, "sh") if "--ignore-not-found -k" in block.text
)


@pytest.mark.usefixtures("controllers")
def test_nothing_of_the_cluster_is_left(
    delivery: Delivery, plane: Plane, upstream: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "kubectl").symlink_to(upstream("kubectl"))
    delivery.deliver(example("lab"))
    run(OBJECTS, plane, tmp_path)
    assert left(delivery) == {item.path for item in items() if item.wave in KEPT_BACK}
    run(THE_REST, plane, tmp_path)
    assert left(delivery) == set()


def run(script: str, plane: Plane, tools: Path) -> None:
    """Run a block of the page in the repository, as its user does."""
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tools),
        "KUBECONFIG": str(plane.kubeconfig("admin")),
    }
    command = ["bash", "-euo", "pipefail", "-c", script]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=180)


def items() -> list[Item]:
    """Return the objects of the waves, which are all but those of sync/."""
    return [item for item in example("lab").items if item.path.startswith("kustomize/")]


def left(delivery: Delivery) -> set[str]:
    """Return the paths of the tree's objects that the API server still has."""
    api = delivery.api
    return {
        item.path
        for item in items()
        if api.serves(item.object["apiVersion"], item.object["kind"])
        and api.find(api.path(item.object))
    }

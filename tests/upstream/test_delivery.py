"""What is in sync/, validated by the CRDs of Argo CD and Flux."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from gpugen.model.assembly import Wave
from gpugen.model.tree import Tree
from gpugen.render.sync import render_sync
from support.specs import resolved

REPOSITORY = "https://git.example/platform/gpu.git"
DELIVERIES = {
    "argocd": {"engine": "argocd", "repoURL": REPOSITORY},
    "argocd-elsewhere": {
        "engine": "argocd",
        "repoURL": "git@git.example:platform/gpu.git",
        "argocd": {"project": "edge", "destination": {"name": "edge"}},
    },
    "flux": {"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}},
    "flux-repository": {"engine": "flux", "repoURL": REPOSITORY, "revision": "refs/tags/v1"},
    "flux-oci": {"engine": "flux", "repoURL": "oci://registry.example/gpu", "revision": "v1"},
}


@pytest.mark.parametrize("delivery", DELIVERIES.values(), ids=DELIVERIES)
def test_crds_know_every_field(
    delivery: dict[str, Any], validate_custom_resource: Callable[[dict[str, Any]], list[str]]
) -> None:
    tree = Tree()
    for wave in Wave:
        tree.add(f"kustomize/{wave}/kustomization.yaml", "resources: []\n")
    render_sync(resolved({"/delivery": delivery, "/description": "Berlin"}), tree)
    files = [path for path in tree.below("sync") if path.endswith(".yaml")]
    assert files
    problems = {path: validate_custom_resource(yaml.safe_load(tree[path])) for path in files}
    assert problems == {path: [] for path in files}

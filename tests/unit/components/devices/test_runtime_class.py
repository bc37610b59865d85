"""RuntimeClass nvidia has one owner: us, or a distribution that brings it."""

from __future__ import annotations

import pytest

from support.component_specs import cluster, objects


def test_class_and_handler() -> None:
    runtime_class = objects(cluster(), "runtime-class")["RuntimeClass/nvidia"]
    assert runtime_class["handler"] == "nvidia"


@pytest.mark.parametrize(
    ("distribution", "is_ours"), [("kubeadm", True), ("k0s", True), ("k3s", False), ("rke2", False)]
)
def test_owner(distribution: str, is_ours: bool) -> None:
    assert ("runtime-class" in cluster(distribution=distribution).options) is is_ours

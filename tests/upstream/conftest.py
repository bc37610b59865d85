"""Fixtures of the conformance tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.lab.cluster.fixtures import (
    controllers,
    delivery,
    kwok,
    plane,
    scheduler,
    simulate,
    spaces,
)
from support.lab.fixtures import laboratory, mock_of_nvml

HERE = Path(__file__).parent
__all__ = [
    "controllers",
    "delivery",
    "kwok",
    "laboratory",
    "mock_of_nvml",
    "plane",
    "scheduler",
    "simulate",
    "spaces",
]

LABORATORIES = ("test_control_plane", "test_guardrails", "test_lab", "test_scheduling", "test_simu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts a control plane or a sandbox of NVIDIA's programs."""
    for item in items:
        if item.path.parent == HERE and item.path.name.startswith(LABORATORIES):
            item.add_marker(pytest.mark.lab)

"""Fixtures of the tests on booted hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.lab.cluster.fixtures import controllers, kwok, plane, scheduler
from support.lab.fixtures import mock_of_nvml
from support.lab.nodes.fixtures import checkout, containerd, room
from support.lab.nodes.schedulers import programs

__all__ = [  # fixtures
    "checkout",
    "containerd",
    "controllers",
    "kwok",
    "mock_of_nvml",
    "plane",
    "programs",
    "room",
    "scheduler",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note what validates here beside the upstream programs that a test asks for."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.validated_by("ansible-core"))

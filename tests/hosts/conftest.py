"""Fixtures of the tests on booted hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.cluster.fixtures import plane
from lab.hosts.fixtures import checkout, containerd, room

__all__ = ["checkout", "containerd", "plane", "room"]  # fixtures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note who judges here beside the readers that a test asks for."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.judged_by("ansible-core"))

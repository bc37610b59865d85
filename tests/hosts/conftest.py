"""Fixtures of the tests on booted hosts."""

from __future__ import annotations

from lab.cluster.fixtures import plane
from lab.hosts.fixtures import checkout, containerd, room

__all__ = ["checkout", "containerd", "plane", "room"]  # fixtures

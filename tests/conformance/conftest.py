"""Fixtures of the conformance tests."""

from __future__ import annotations

from lab.cluster.fixtures import controllers, delivery, kwok, plane, scheduler, simulate, spaces
from lab.fixtures import laboratory, mock_of_nvml

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

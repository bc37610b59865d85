"""Fixtures of the conformance tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import library
from lab.cluster.fixtures import controllers, delivery, kwok, plane, scheduler, simulate
from lab.laboratory import PROGRAMS, Laboratory, open_laboratory
from lab.sandbox import NoSandboxError
from readers import golang

__all__ = ["controllers", "delivery", "kwok", "plane", "scheduler", "simulate"]  # fixtures


@pytest.fixture(scope="session")
def laboratory(
    reader: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Laboratory]:
    """Return a node without a GPU; skip where this machine cannot have one.

    Where readers are required (GPUGEN_REQUIRE_TOOLS) a machine that cannot fails the tests.
    """
    programs = {name: reader(name) for name in PROGRAMS}
    try:
        mock = library.build(tmp_path_factory.mktemp("lab"))
        lab = open_laboratory(programs, mock)
    except (golang.UnavailableError, NoSandboxError) as problem:
        message = f"the laboratory is missing: {problem}"
        if os.environ.get("GPUGEN_REQUIRE_TOOLS"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    yield lab
    lab.close()

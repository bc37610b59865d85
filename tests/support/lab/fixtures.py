"""Fixtures of the laboratory: the mock of NVML, and a node on which the real programs run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from support.lab import library
from support.lab.laboratory import PROGRAMS, Laboratory, open_laboratory
from support.lab.sandbox import NoSandboxError
from support.required import missing
from support.upstream import golang


@pytest.fixture(scope="session")
def mock_of_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the mock as a library; skip where it cannot be compiled."""
    try:
        return library.build(tmp_path_factory.mktemp("lab"))
    except golang.UnavailableError as problem:
        _missing(problem)


@pytest.fixture(scope="session")
def laboratory(upstream: Callable[[str], Path], mock_of_nvml: Path) -> Iterator[Laboratory]:
    """Return a node without a GPU; skip where this machine cannot have one."""
    programs = {name: upstream(name) for name in PROGRAMS}
    try:
        lab = open_laboratory(programs, mock_of_nvml)
    except NoSandboxError as problem:
        _missing(problem)
    yield lab
    lab.close()


def _missing(problem: Exception) -> NoReturn:
    """Skip, or fail where tools are required (GPUGEN_REQUIRE_TOOLS)."""
    message = f"the laboratory is missing: {problem}"
    missing(message)

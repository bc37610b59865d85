"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from support.cases import Cases
from support.required import missing
from support.upstream import crd, golang, programs
from support.upstream import crds as crd_sets
from support.upstream.table import Group, table

# Everybody draws the same examples, every time; `sh tests/draw` draws new ones. Time limits belong
# to benchmarks, and how slowly examples are drawn says how busy a machine is.
UNTIMED = settings(
    deadline=None,
    suppress_health_check=[
        *(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    ],
)
settings.register_profile("gpugen", UNTIMED, derandomize=True)
settings.register_profile("draw", UNTIMED, database=None, print_blob=True)
settings.load_profile("gpugen")

HOW = "python tests/support/upstream/build.py"
COUNTER = "cases"  # name of the plugin


def _missing(name: str, group: Group, why: str = "it was not built") -> NoReturn:
    message = f"upstream program {name!r} is missing: {why}; `{HOW} {name}` builds it"
    missing(message, is_core=group is Group.CORE)


def pytest_configure(config: pytest.Config) -> None:
    """Count the cases of each upstream program."""
    config.pluginmanager.register(Cases(config), COUNTER)


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config) -> Cases:
    """Return what counts the cases of each upstream program."""
    found: Cases = pytestconfig.pluginmanager.get_plugin(COUNTER)
    return found


@pytest.fixture(scope="session")
def upstream(cases: Cases) -> Callable[[str], Path]:
    """Return a function from an upstream program's name to its path."""

    def find(name: str) -> Path:
        group = table().build_of(name).group
        try:
            path = programs.program(name)
        except golang.UnavailableError as problem:
            _missing(name, group, str(problem))
        if path is None:
            _missing(name, group)
        cases.asked(name)
        return path

    return find


@pytest.fixture(scope="session")
def crds(cases: Cases) -> Callable[[str], list[Path]]:
    """Return a function from the name of a CRD set to upstream's files."""

    def find(name: str) -> list[Path]:
        files = crd_sets.crds(name)
        if not files:
            _missing(f"crds-{name}", table().crd_set(name).group)
        cases.asked(f"crds-{name}")
        return files

    return find


@pytest.fixture(scope="session")
def validate_custom_resource(
    crds: Callable[[str], list[Path]],
) -> Callable[[dict[str, Any]], list[str]]:
    """Return a function from a custom resource to what upstream's CRD says against it."""
    files = [path for crd_set in table().crd_sets for path in crds(crd_set.name)]
    return lambda resource: crd.validate(resource, files)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run rewrite what it is compared with, or what it tells."""
    parser.addoption("--regold", action="store_true", help="rewrite golden trees; review the diff")
    parser.addoption(
        "--cases", metavar="FILE", help="write how many cases each upstream program validated"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a group on one worker, where ``--dist loadgroup`` asks for it."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from support.groups import ByGroup

    return ByGroup(config, log)

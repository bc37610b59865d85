"""tests/unit mirrors the package, path for path: from a module to its tests, and back.

A module needs a test file of its own if another folder of the package calls functions of it. What
only its own folder uses is tested through that folder's door. A component's folder has one file.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support import ROOT, TESTS

PACKAGE = ROOT / "generator" / "gpugen"
UNIT = TESTS / "unit"
SMALL = 40  # lines up to which a module is read at a glance
SUBJECTS = {  # files about what no single module does
    "test_contributing": "the recipes of CONTRIBUTING.md",
    "test_documents": "the pages of this repository",
    "test_groups": "how tests are dealt out to workers",
    "test_mirror": "this",
    "test_pictures": "the pictures of the pages",
    "catalog/test_captures": "rows beside what public captures showed",
    "catalog/test_release_features": "what hangs on a release, in all that is rendered",
    "checks/test_distribution_rules": "what a distribution changes or refuses",
    "checks/test_one_mistake": "one mistake is one finding, of all checks",
    "cli/test_shared": "the collection that clusters share",
    "components/test_options": "options of every component, as records",
    "load/test_bounded_work": "hostile files, from the reader to the findings",
    "load/test_hostile": "the corpus of hostile and mistaken files",
    "load/test_newer": "what is newer than the catalogue, in every stage",
    "render/test_control_plane": "the control plane, in inventory and plays",
    "write/test_branches": "branches that meet in git",
    "write/test_forged_output": "what a pull request may do to committed output",
    "write/test_limits": "what the system refuses",
    "write/test_links": "links at any level",
    "write/test_races": "what changes during a run",
    "write/test_refusal": "files that are not ours",
}
ELSEWHERE = {  # modules without a file of their own: where they are tested
    "catalog/reading": "catalog/test_catalog and test_user: every row is read by it",
    "catalog/shape": "catalog/test_user: each finding of a row",
    "catalog/messages": "catalog/test_user: each finding of a row",
    "changes/inventories": "changes/test_departures: what hosts leave",
    "load/faults": "load/test_hostile: the corpus, with message and place",
    "load/source": "load/test_hostile and load/test_bounded_work",
    "resolve/readings": "tests/properties/test_mistakes: two mistakes, each found",
    "validate/readings": "tests/properties/test_mistakes: two mistakes, each found",
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def module_of(path: Path) -> str:
    """Return the path of a module below the package; a folder's is that of its __init__."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return name.removesuffix("/__init__")


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TEST_FILES = {
    path.relative_to(UNIT).with_suffix("").as_posix(): path for path in UNIT.rglob("test_*.py")
}


def file_of(module: str) -> set[str]:
    """Return the names that a module's test file may have: in its folder, or in its own."""
    folder, _, name = module.rpartition("/")
    return {f"{folder}/test_{name}".lstrip("/"), f"{module}/test_{name}"}


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a module imports."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpugen"):
            base = str(node.module).partition(".")[2].replace(".", "/")
            for alias in node.names:
                inner = f"{base}/{alias.name}".lstrip("/")
                yield inner if inner in MODULES else base


def functions(module: str) -> list[str]:
    """Return the public functions that a module defines."""
    body = tree(MODULES[module]).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


def is_component(path: Path) -> bool:
    return path.name == "__init__.py" and "\nCOMPONENT =" in path.read_text("utf-8")


def doors() -> Iterator[str]:
    """Yield the modules whose functions another top folder calls, and every component."""
    users = {(used, user) for user, path in MODULES.items() for used in imported(path)}
    for module, path in MODULES.items():
        top = module.partition("/")[0]
        is_called = any(one == module and user.partition("/")[0] != top for one, user in users)
        is_small = path.read_text("utf-8").count("\n") <= SMALL
        has_cases = top == "checks" or module.endswith("/checks")  # tests/checks/<id>.yaml
        is_door = is_called and functions(module) and not is_small and not has_cases
        if is_door or is_component(path):
            yield module


@pytest.mark.parametrize("name", sorted(TEST_FILES))
def test_a_test_file_names_a_module_or_a_subject(name: str) -> None:
    if name in SUBJECTS:
        return
    folder, _, file = name.rpartition("/")
    known = {test for module in MODULES for test in file_of(module)}
    if name not in known:  # or what its folder offers, such as write.prune
        offered = importlib.import_module(f"gpugen.{folder.replace('/', '.')}".rstrip("."))
        assert hasattr(offered, file.removeprefix("test_")), f"no module is called as {name}"


@pytest.mark.parametrize("module", sorted(doors()))
def test_a_module_that_others_call_has_a_test_file(module: str) -> None:
    assert bool(file_of(module) & TEST_FILES.keys()) != (module in ELSEWHERE)


def test_no_subject_and_no_exception_is_stale() -> None:
    assert sorted(SUBJECTS.keys() - TEST_FILES.keys()) == []
    assert sorted(ELSEWHERE.keys() - set(doors())) == []

"""The page of rules is complete: every rule has a place that names it, and a test that does."""

from __future__ import annotations

from support import ROOT

import re
from functools import cache
from pathlib import Path

import pytest

DECISIONS = ROOT / "plugins" / "plugin_utils"
PAGE = ROOT / "docs" / "hosts" / "rules.md"
COUNTS = {
    "GEN": 16,
    "PRE": 9,
    "DRV": 26,
    "CTK": 21,
    "CUD": 5,
    "DCG": 4,
    "MIG": 10,
    "TUN": 10,
    "KUB": 6,
    "DIST": 20,
}
IDS = [f"{area}-{number:02}" for area, most in COUNTS.items() for number in range(1, most + 1)]
ID = re.compile(rf"\b(?:{'|'.join(COUNTS)})-\d\d\b")
ROW = re.compile(r"^\| ([A-Z]+-\d\d) \| (.+) \| (.+) \|$", re.M)
SUFFIXES = {".py", ".yml", ".yaml", ".j2", ".rules", ".md"}


@cache
def ids_of(path: Path) -> frozenset[str]:
    """Return the ids that a file, or all files of a folder, name; of a role its decisions too."""
    files = [*path.rglob("*")] if path.is_dir() else [path]
    if path.parent == ROOT / "roles":
        files += [DECISIONS / f"{path.name}.py", *(DECISIONS / path.name).rglob("*")]
    texts = (file.read_text() for file in files if file.is_file() and file.suffix in SUFFIXES)
    return frozenset(found for text in texts for found in ID.findall(text))


@cache
def rows() -> dict[str, tuple[str, str]]:
    """Return the page: id -> meaning and places."""
    return {row[1]: (row[2], row[3]) for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}


def places(cell: str) -> list[Path]:
    """Return what a cell names: roles, checks, files."""
    found = []
    for word in re.findall(r"`([^`]+)`", cell):
        role, check = ROOT / "roles" / word, ROOT / "tests" / "checks" / f"{word}.yaml"
        found.append(role if role.is_dir() else check if check.is_file() else ROOT / word)
    return found


def test_the_page_has_every_rule_once() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [row[1] for row in ROW.finditer(text)] == IDS


@pytest.mark.parametrize("rule", IDS)
def test_a_rule_is_kept_where_the_page_says(rule: str) -> None:
    found = places(rows()[rule][1])
    assert found
    for place in found:
        assert place.exists(), place
        if place.parent.name in {"roles", "upstream", "nodes"}:
            ids = ids_of(place) | _decided(place)
            assert rule in ids, f"{place.relative_to(ROOT)} does not name {rule}"


def _decided(role: Path) -> frozenset[str]:
    """Return the ids that the Python of a role names."""
    own = [ROOT / "plugins" / "plugin_utils" / name for name in (role.name, f"{role.name}.py")]
    return frozenset().union(*(ids_of(path) for path in own if path.exists()))


@pytest.mark.parametrize("rule", IDS)
def test_a_rule_has_a_test_that_names_it(rule: str) -> None:
    tests = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "tests" / "checks").iterdir()]
    assert any(rule in ids_of(file) for file in tests), f"no test names {rule}"


def test_no_rule_is_invented() -> None:
    """An id that roles, checks or tests name is a rule of the page."""
    folders = [ROOT / name for name in ("roles", "plugins", "tests", "generator")]
    named = frozenset().union(*map(ids_of, folders))
    assert sorted(named - set(IDS)) == []

"""Counts the cases that each program validated, and writes the table of docs/develop/cases.md.

A test counts for a program when it passed and asked for it, uses a fixture that
did, or carries the mark ``validated_by``. Workers of pytest-xdist hand their counts to the first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from support.upstream.commands import rows

OF_PYTHON = {  # programs of the test requirements; name of the package -> what it validates
    "ansible-core": "inventories, plays, roles and their arguments; on booted nodes what they do",
    "ansible-lint": "plays and roles, by its strictest profile",
    "kubernetes-validate": "every object, strictly, by the schema of its Kubernetes version",
}
HEAD = """\
<!-- Written by `sh tests/run --cases=docs/develop/cases.md`. -->
# What was validated by which program

Made by the last full run of the tests: how many cases each program validated. How they are built
and what each lets pass is in [upstream programs](upstream.md). A case counts for every program that
it asked.

| Program | Version | Validates | Cases |
| --- | --- | --- | ---: |
"""
BROKEN = """
## The validators are tested

Good trees, broken on purpose in every way that follows, each in up to two files of three clusters;
and which validator of `tests/support/validators` noticed it first. {} mutants, {} that nobody
noticed.

| What was done to a tree | Mutants | Noticed by |
| --- | ---: | --- |
"""


class Cases:
    """The plugin: what was asked for by which fixture and test, and what passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.counts: Counter[str] = Counter()
        self.broken: Counter[tuple[str, str]] = Counter()  # way of breaking a tree, who noticed
        self._by_fixture: dict[str, set[str]] = defaultdict(set)
        self._by_test: set[str] = set()
        self._setting_up: list[str] = []

    def asked(self, program: str) -> None:
        """Note that a program was asked for, by the fixture in the making or the running test."""
        if self._setting_up:
            self._by_fixture[self._setting_up[-1]].add(program)
        else:
            self._by_test.add(program)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Know which fixture is in the making."""
        self._setting_up.append(fixturedef.argname)
        try:
            return (yield)
        finally:
            self._setting_up.pop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        """Count a test that passed."""
        report = yield
        if call.when == "call":
            names = {name for mark in item.iter_markers("validated_by") for name in mark.args}
            for fixture in getattr(item, "fixturenames", ()):
                names |= self._by_fixture[fixture]
            if report.passed:
                self.counts.update(names | self._by_test)
            self._by_test.clear()
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the counts over, or write the table; programs without a case fail a full run."""
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["cases"] = dict(self.counts)
            output["broken"] = [(*key, count) for key, count in self.broken.items()]
        elif path := self.config.getoption("--cases"):
            Path(path).write_text(page(self.counts) + broken(self.broken), encoding="utf-8")
            if idle := sorted(set(_validators()) - set(self.counts)):
                print(f"\nno case was validated by {', '.join(idle)}")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker counted."""
        found = getattr(node, "workeroutput", {})  # a worker that crashed has none
        self.counts.update(found.get("cases", {}))
        for way, who, count in found.get("broken", ()):
            self.broken[way, who] += count


def page(counts: Counter[str]) -> str:
    """Return the first part of docs/develop/cases.md: programs."""
    lines = (
        f"| `{name}` | {release} | {what} | {counts[name]} |\n"
        for name, (release, what) in _validators().items()
    )
    return HEAD + "".join(lines)


def broken(found: Counter[tuple[str, str]]) -> str:
    """Return the second part: mutants."""
    lines = [BROKEN.format(found.total(), sum(n for (_, who), n in found.items() if not who))]
    for way in sorted({way for way, _ in found}):
        own = {who: count for (name, who), count in sorted(found.items()) if name == way}
        noticed = ", ".join(who or "nobody" for who in own)
        lines.append(f"| {way} | {sum(own.values())} | {noticed} |\n")
    return "".join(lines)


def _validators() -> dict[str, tuple[str, str]]:
    found = {row.name: (row.version, row.validates) for row in rows()}
    return found | {name: (version(name), what) for name, what in OF_PYTHON.items()}

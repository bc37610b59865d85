"""Cross-checks: what a schema cannot say about a spec whose names are all known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from gpugen.model.finding import Finding, Pointer, Severity
from gpugen.model.record import record
from gpugen.model.spec import ClusterSpec

Problem: TypeAlias = tuple[Pointer, str, str]  # where, what is wrong, what to do
Judge: TypeAlias = Callable[[ClusterSpec], Iterator[Problem]]


@record
class Check:
    """One function with an id that is never renamed or reused.

    component: limits the check to specs that use it; empty: every spec. at_key: a key is at fault,
    not the value that stands behind it.
    """

    id: str
    judge: Judge
    severity: Severity
    tags: tuple[str, ...]
    component: str
    at_key: bool = False

    @property
    def explanation(self) -> str:
        """The docstring, which ``gpugen explain <id>`` prints."""
        return self.judge.__doc__ or ""

    def run(self, spec: ClusterSpec) -> Iterator[Finding]:
        """Yield a finding per problem; none where the component that it concerns is off."""
        if self.component and self.component not in spec.options:
            return
        for at, message, hint in self.judge(spec):
            yield Finding(self.id, message, hint, at, self.severity, self.at_key, self.tags)


def check(
    id: str,
    *tags: str,
    severity: Severity = Severity.ERROR,
    component: str = "",
    at_key: bool = False,
) -> Callable[[Judge], Check]:
    """Make a check of a function; ``tags`` are numbers of the check catalogue such as GG-03."""
    return lambda judge: Check(id, judge, severity, tags, component, at_key)


@cache
def discover() -> tuple[Check, ...]:
    """Find every check in this folder and in the components' ``checks.py``, sorted by id."""
    here = Path(__file__).parent
    modules = [f"gpugen.checks.{p.stem}" for p in sorted(here.glob("*.py")) if p.stem != "__init__"]
    folders = sorted(here.parent.glob("components/*/checks.py"))
    modules += [f"gpugen.components.{p.parent.name}.checks" for p in folders]
    found = [
        value
        for module in modules
        for value in vars(import_module(module)).values()
        if isinstance(value, Check)
    ]
    assert len({c.id for c in found}) == len(found), "two checks share an id"
    return tuple(sorted(found, key=lambda c: c.id))

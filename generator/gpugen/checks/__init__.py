"""Cross-checks: what a schema cannot say about a spec whose names are all known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from gpugen.model.finding import Finding, Pointer, Severity
from gpugen.model.record import record
from gpugen.model.spec import ClusterSpec

Problem: TypeAlias = tuple[Pointer, str, str]  # where, what is wrong, what to do
Judge: TypeAlias = Callable[[ClusterSpec], Iterator[Problem]]

MOST_SHOWN = 100  # findings of one check
MOST_SOUGHT = 1000  # problems after which a check is asked for no more


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
        problems = list(islice(self.judge(spec), MOST_SOUGHT + 1))
        found = list(_once(problems[:MOST_SOUGHT], [pool.name for pool in spec.pools]))
        for at, message, hint in _bounded(found, is_all=len(problems) <= MOST_SOUGHT):
            yield Finding(self.id, message, hint, at, self.severity, self.at_key, self.tags)


def _bounded(found: Sequence[Problem], *, is_all: bool) -> Iterator[Problem]:
    """Yield the first problems of a check, and one that says how many more there are."""
    yield from found[:MOST_SHOWN]
    more = len(found) - MOST_SHOWN
    if more > 0 or not is_all:
        many = f"{max(more, 0)} more" if is_all else f"more than {max(more, 0)} more"
        hint = "correct the first ones; the rest may have the same cause"
        yield found[-1][0], f"and {many} findings of this kind", hint


def _once(problems: Iterable[Problem], pools: Sequence[str]) -> Iterator[Problem]:
    """Yield problems, those once that one place causes in several pools.

    They differ by the pool's name alone; further pools are named behind the first.
    """
    groups: dict[tuple[str, ...], list[tuple[Problem, str]]] = {}
    for problem in problems:
        at, message, hint = problem
        named = [name for name in pools if f"{name!r}" in message]
        pool = named[0] if len(named) == 1 else ""
        parts = [text.replace(f"{pool!r}", "''") if pool else text for text in (message, hint)]
        groups.setdefault((at, bool(pool) * "pool", *parts), []).append((problem, pool))
    for found in groups.values():
        (at, message, hint), pool = found[0]
        others = [repr(name) for _, name in found[1:] if name != pool]
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        also = f"; likewise {', '.join(others[:3])}{more}" if others else ""
        yield at, message + also, hint


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
    of_components = here.parent.glob("components/*/*/checks.py")
    modules += [f"gpugen.components.{p.parts[-3]}.{p.parts[-2]}.checks" for p in of_components]
    found = [
        value
        for module in modules
        for value in vars(import_module(module)).values()
        if isinstance(value, Check)
    ]
    assert len({c.id for c in found}) == len(found), "two checks share an id"
    return tuple(sorted(found, key=lambda c: c.id))

"""Stage 4: cross-checks, what a schema cannot say about a spec whose names are all known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gpugen.model.finding import Finding, Pointer, Severity
from gpugen.model.spec import ClusterSpec

MOST_SHOWN = 100  # findings of one check
MOST_SOUGHT = 1000  # problems after which a check is stopped
POOL = "\0"  # in a message or hint: the problem's own pool; users' values come there escaped


class Problem(NamedTuple):
    """What a check yields: where, what is wrong, what to do, and the pool that it is about.

    A message that names this pool writes POOL for it, so that the same mistake in another pool has
    the same message.
    """

    at: Pointer
    message: str
    hint: str
    pool: str = ""


Function: TypeAlias = Callable[[ClusterSpec], Iterator[Problem]]


class Check(NamedTuple):
    """One function with an id that is never renamed or reused.

    component: limits the check to specs that use it; empty: every spec. at_key: the key is wrong,
    not its value.
    """

    id: str
    function: Function
    severity: Severity
    tags: tuple[str, ...]
    component: str
    at_key: bool = False

    @property
    def explanation(self) -> str:
        """The docstring, which ``gpugen explain <id>`` prints."""
        return self.function.__doc__ or ""

    def run(self, spec: ClusterSpec, *others: ClusterSpec) -> Iterator[Finding]:
        """Yield a finding per problem; none if the check's component is off.

        others: further readings of a spec with mistakes; only what all of them have is a problem.
        """
        problems = self._problems(spec)
        for other in others:
            if problems:
                also = frozenset(self._problems(other))
                problems = [problem for problem in problems if problem in also]
        found = list(_grouped(problems[:MOST_SOUGHT]))
        for problem in _bounded(found, is_all=len(problems) <= MOST_SOUGHT):
            yield self.finding(problem)

    def _problems(self, spec: ClusterSpec) -> list[Problem]:
        if self.component and self.component not in spec.options:
            return []
        return list(islice(self.function(spec), MOST_SOUGHT + 1))

    def finding(self, problem: Problem) -> Finding:
        """Return a problem of this check as a finding."""
        message, hint = (
            text.replace(POOL, repr(problem.pool)) for text in (problem.message, problem.hint)
        )
        return Finding(self.id, message, hint, problem.at, self.severity, self.at_key, self.tags)


def _bounded(found: Sequence[Problem], *, is_all: bool) -> Iterator[Problem]:
    """Yield the first problems of a check, and one that says how many more there are."""
    yield from found[:MOST_SHOWN]
    more = len(found) - MOST_SHOWN
    if more > 0 or not is_all:
        many = f"{max(more, 0)} more" if is_all else f"more than {max(more, 0)} more"
        hint = "correct the first ones; the others may have the same cause"
        yield Problem(at=found[-1].at, message=f"and {many} findings with this id", hint=hint)


def _grouped(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield problems; one that a single place causes in several pools is yielded once.

    Other pools are named after the first, where the message names a pool.
    """
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems:
        key = (problem.at, problem.message, problem.hint)
        groups.setdefault(key, []).append(problem)
    for (at, message, hint), group in groups.items():
        pool = group[0].pool
        others = [repr(p.pool) for p in group[1:] if p.pool != pool] if POOL in message else []
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        also = f"; likewise {', '.join(others[:3])}{more}" if others else ""
        yield Problem(at=Pointer(at), message=message + also, hint=hint, pool=pool)


def check(
    id: str,
    *tags: str,
    severity: Severity = Severity.ERROR,
    component: str = "",
    at_key: bool = False,
) -> Callable[[Function], Check]:
    """Make a check of a function; ``tags``: numbers in the developers' list of checks."""
    return lambda function: Check(id, function, severity, tags, component, at_key)


def run_all(specs: Sequence[ClusterSpec]) -> list[Finding]:
    """Return what every check finds in a spec, or in all readings of one with mistakes."""
    return [finding for check in discover() for finding in check.run(*specs)] if specs else []


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

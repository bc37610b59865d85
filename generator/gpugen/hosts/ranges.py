"""Host names, Ansible's ranges of them, expanded as Ansible does, and the nodes they are.

Source: ansible-core 2.19, lib/ansible/plugins/inventory/__init__.py, expand_hostname_range.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugen.model.spec import ClusterSpec, HostLine

MOST = 20_000  # hosts of one range and of one cluster
_COUNTABLE = 10**9  # hosts; beyond that a number says nothing any more
_LETTERS = string.ascii_lowercase
_RANGE = re.compile(r"\[([0-9]+|[a-z]):([0-9]+|[a-z])(?::([0-9]+))?\]")


class RangeError(ValueError):
    """A range that Ansible refuses, that is empty or that names too many; the text says why."""


class TooManyHostsError(RangeError):
    """A range that names more hosts than a cluster may have."""


def count(pattern: str) -> int:
    """Count the hosts of a pattern by arithmetic; nothing is listed. Raises RangeError."""
    if "[" not in pattern:
        return 1
    total = prod(_size(_values(match)) for match in _RANGE.finditer(pattern))
    if total > MOST:
        many = str(total) if total < _COUNTABLE else f"more than {_COUNTABLE}"
        raise TooManyHostsError(f"{pattern!r} names {many} hosts; {MOST} are the most")
    return total


def expand(pattern: str) -> Iterator[str]:
    """List the hosts of a pattern in Ansible's order, at most ``MOST``. Raises RangeError."""
    if "[" not in pattern:
        yield pattern
        return
    count(pattern)
    parts: list[Sequence[str]] = []
    end = 0
    for match in _RANGE.finditer(pattern):
        parts += [[pattern[end : match.start()]], _spelled(match)]
        end = match.end()
    parts.append([pattern[end:]])
    yield from map("".join, product(*parts))


def listed(patterns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """List the hosts of all patterns of one cluster, at most ``MOST`` in all.

    A pattern that is wrong has none; where all together name too many, none has any. The check
    hosts-range-wrong says so, and nothing else looks at hosts that are not listed.
    """
    counts: dict[str, int] = {}
    total = 0
    for pattern in patterns:
        if pattern not in counts:
            counts[pattern] = _count_or_none(pattern)
        total += counts[pattern]
    if total > MOST:
        return dict.fromkeys(counts, ())
    return {pattern: tuple(expand(pattern)) if hosts else () for pattern, hosts in counts.items()}


def _count_or_none(pattern: str) -> int:
    try:
        return count(pattern)
    except RangeError:
        return 0


def node_name(spec: ClusterSpec, line: HostLine, host: str) -> str:
    """Return the name of a host's Kubernetes node; names of nodes are in lower case."""
    if line.node_name:
        return line.node_name
    return (host if spec.access.node_names == "fqdn" else host.partition(".")[0]).lower()


def _values(match: re.Match[str]) -> range:
    """Return the numbers of one bracket, or the places of its letters in the alphabet."""
    low, high, step = match[1], match[2], int(match[3] or 1)
    if low.isdigit() != high.isdigit():
        raise RangeError(f"range {match[0]} mixes a letter and a number")
    if low.isdigit():
        if len(low) > 1 and low[0] == "0" and len(low) != len(high):
            raise RangeError(f"range {match[0]} writes its bounds with different numbers of digits")
        values = range(int(low), int(high) + 1, step)
    else:
        values = range(_LETTERS.index(low), _LETTERS.index(high) + 1, step)
    if not values:
        raise RangeError(f"range {match[0]} is empty: it runs backwards")
    return values


def _size(values: range) -> int:
    """Count the values of a bracket; len() takes no range of more than a machine word."""
    return (values.stop - values.start + values.step - 1) // values.step


def _spelled(match: re.Match[str]) -> Sequence[str]:
    """Spell the values of one bracket; numbers keep the width of the lower bound."""
    low = match[1]
    if not low.isdigit():
        return [_LETTERS[place] for place in _values(match)]
    width = len(low) if low[0] == "0" else 0
    return [str(number).zfill(width) for number in _values(match)]

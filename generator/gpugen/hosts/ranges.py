"""Host names and Ansible's ranges of them, expanded as Ansible does, and their node names.

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
_COUNTABLE = 10**9  # hosts; larger numbers are not counted
_LETTERS = string.ascii_lowercase
_RANGE = re.compile(r"\[([0-9]+|[a-z]):([0-9]+|[a-z])(?::([0-9]+))?\]")


class RangeError(ValueError):
    """A range that Ansible rejects, that is empty or has too many hosts; the text says why."""


class TooManyHostsError(RangeError):
    """A range with more hosts than a cluster may have."""


def count(pattern: str) -> int:
    """Count the hosts of a pattern by arithmetic; nothing is listed. Raises RangeError."""
    if "[" not in pattern:
        return 1
    total = prod(_size(_values(match)) for match in _RANGE.finditer(pattern))
    if total > MOST:
        many = str(total) if total < _COUNTABLE else f"more than {_COUNTABLE}"
        raise TooManyHostsError(f"{pattern!r} has {many} hosts; at most {MOST} are allowed")
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

    A wrong pattern has none; if all together have too many, none has any. The check
    hosts-range-wrong reports that; other checks skip hosts that are not listed.
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
            raise RangeError(f"the bounds of range {match[0]} have different numbers of digits")
        values = range(int(low), int(high) + 1, step)
    else:
        values = range(_LETTERS.index(low), _LETTERS.index(high) + 1, step)
    if not values:
        raise RangeError(f"range {match[0]} is empty: its first bound is above its last")
    return values


def _size(values: range) -> int:
    """Count the values of a bracket; len() is limited to a machine word."""
    return (values.stop - values.start + values.step - 1) // values.step


def _spelled(match: re.Match[str]) -> Sequence[str]:
    """Yield the values of one bracket; numbers keep the width of the lower bound."""
    low = match[1]
    if not low.isdigit():
        return [_LETTERS[place] for place in _values(match)]
    width = len(low) if low[0] == "0" else 0
    return [str(number).zfill(width) for number in _values(match)]

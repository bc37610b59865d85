"""Host names, Ansible's ranges of them, expanded as Ansible does, and the nodes they are.

Source: ansible-core 2.19, lib/ansible/plugins/inventory/__init__.py, expand_hostname_range.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugen.model.spec import ClusterSpec, HostLine

MOST = 20_000  # hosts of one range and of one cluster
_RANGE = re.compile(r"\[([0-9]+|[a-z]):([0-9]+|[a-z])(?::([0-9]+))?\]")


class RangeError(ValueError):
    """A range that Ansible refuses or that is empty; the text says why."""


def count(pattern: str) -> int:
    """Count the hosts of a pattern without listing them. Raises RangeError."""
    total = 1
    for match in _RANGE.finditer(pattern):
        total *= len(_values(match))
    return total


def expand(pattern: str) -> Iterator[str]:
    """List the hosts of a pattern in Ansible's order. Raises RangeError."""
    if "[" not in pattern:
        yield pattern
        return
    parts: list[list[str]] = []
    end = 0
    for match in _RANGE.finditer(pattern):
        parts += [[pattern[end : match.start()]], _values(match)]
        end = match.end()
    parts.append([pattern[end:]])
    yield from map("".join, product(*parts))


def node_name(spec: ClusterSpec, line: HostLine, host: str) -> str:
    """Return the name of a host's Kubernetes node; names of nodes are in lower case."""
    if line.node_name:
        return line.node_name
    return (host if spec.access.node_names == "fqdn" else host.partition(".")[0]).lower()


def _values(match: re.Match[str]) -> list[str]:
    """Return the values of one bracket; numbers keep the width of the lower bound."""
    low, high, step = match[1], match[2], int(match[3] or 1)
    if low.isdigit() != high.isdigit():
        raise RangeError(f"range {match[0]} mixes a letter and a number")
    if low.isdigit():
        if len(low) > 1 and low[0] == "0" and len(low) != len(high):
            raise RangeError(f"range {match[0]} writes its bounds with different numbers of digits")
        width = len(low) if low[0] == "0" else 0
        numbers = range(int(low), int(high) + 1, step)
        if len(numbers) > MOST:
            raise RangeError(f"range {match[0]} has {len(numbers)} hosts; {MOST} are the most")
        values = [str(n).zfill(width) for n in numbers]
    else:
        letters = string.ascii_lowercase
        values = list(letters[letters.index(low) : letters.index(high) + 1 : step])
    if not values:
        raise RangeError(f"range {match[0]} is empty: it runs backwards")
    return values

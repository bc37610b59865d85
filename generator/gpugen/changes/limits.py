"""Which hosts a command is for, as the argument of Ansible's ``--limit``, safe to paste."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from gpugen.changes.inventories import Inventory

_FEW = 8  # names that are listed one by one
_MOST = 40  # patterns in one command
_PLAIN = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\Z"
)  # without special characters of the shell or of Ansible
FILE = "@leaving.txt"


def named(names: Sequence[str]) -> str:
    """Return the names for a message: the first ones, and how many more there are."""
    from gpugen.text.spelling import shown

    few = names if len(names) <= _FEW else names[:3]
    more = f" and {len(names) - len(few)} more" if len(names) > len(few) else ""
    return ", ".join(map(shown, few)) + more


def limit(leaving: Collection[str], inventory: Inventory) -> str:
    """Return the argument that selects exactly these hosts of the inventory.

    ``@leaving.txt`` if no short pattern does: a file with their names, one per line.
    """
    names = sorted(leaving)
    if not all(map(_PLAIN.match, names)):
        return FILE
    if len(names) <= _FEW:
        return ",".join(names)
    for group, hosts in inventory.hosts.items():
        if _PLAIN.match(group) and set(hosts) == set(names):
            return group
    patterns = list(_patterns(names, sorted(inventory.names - set(names)), 0))
    return f"'{','.join(patterns)}'" if len(patterns) <= _MOST else FILE


def _patterns(names: Sequence[str], others: Sequence[str], depth: int) -> Iterator[str]:
    """Yield patterns by common beginnings that none of the other names has; both are sorted."""
    start = names[0][:depth]
    if len(names) == 1:
        yield names[0]
    elif depth and not _begins(others, start):
        yield f"{start}*"
    else:
        for _, group in groupby(names, key=lambda name: name[: depth + 1]):
            yield from _patterns(list(group), others, depth + 1)


def _begins(names: Sequence[str], start: str) -> bool:
    place = bisect_left(names, start)
    return place < len(names) and names[place].startswith(start)

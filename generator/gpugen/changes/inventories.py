"""Reads the inventory of the previous tree, as hostile data, for the hosts of its groups.

Only the structure that gpugen writes is read: ``all.children.gpu.children.<pool>.hosts``.
Everything else is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from gpugen.hosts import ranges
from gpugen.hosts.names import ALL_HOSTS, CONTROL_HOST, CONTROL_PLANE, OF_ANSIBLE
from gpugen.hosts.ranges import RangeError

_PATH = re.compile(r"ansible/inventory/(?:hosts|pool_[a-z0-9_]{1,80})\.(?:yml|json)")
LARGEST = 16 * 1024 * 1024  # bytes; 20,000 hosts with all their variables come to 5 MiB
_LONGEST = 2_000  # characters of a line that can be a name
_KEY = re.compile(r'( *)("(?:[^"\\]|\\.)*"|[^\s"\'#&*!|>%@`{}\[\],?:-][^\s:]*):(?: |$)')
_TOP = re.compile(r'^(?:all:| *"all": )', re.MULTILINE)  # what every inventory of gpugen has
_POOL = re.compile(r"pool_[a-z0-9_]{1,80}\Z")
_POOLS = ("all", "children", ALL_HOSTS, "children")
_MAIN = ("all", "children", CONTROL_PLANE, "hosts")


class Inventory(NamedTuple):
    """hosts: group of a pool -> its hosts; control_plane: hosts; names: hosts and groups."""

    hosts: Mapping[str, tuple[str, ...]]
    control_plane: tuple[str, ...]
    names: frozenset[str]

    @property
    def everyone(self) -> frozenset[str]:
        """The hosts of all pools."""
        return frozenset(name for names in self.hosts.values() for name in names)


def is_part(path: str) -> bool:
    """Tell whether a path of a cluster's folder is a file of its inventory."""
    return _PATH.fullmatch(path) is not None


def read(contents: Iterable[bytes]) -> Inventory | None:
    """Return the hosts of an inventory's files; None if gpugen did not write them."""
    parts = list(contents)
    if sum(map(len, parts)) > LARGEST:
        return None
    try:
        texts = [content.decode() for content in parts]
    except UnicodeDecodeError:
        return None
    found = [
        pair
        for text in texts
        for pair in (_of_json(text) if text.startswith("{") else _of_yaml(text))
    ]
    return _expanded(found) if found or any(map(_TOP.search, texts)) else None


def _expanded(found: list[tuple[str, str]]) -> Inventory | None:
    """Expand the lines of (group, pattern); None if they are more than a cluster may have."""
    hosts: dict[str, list[str]] = {}
    control_plane: list[str] = []
    total = 0
    for group, pattern in found:
        if group != CONTROL_PLANE and not _POOL.match(group):
            continue
        names = control_plane if group == CONTROL_PLANE else hosts.setdefault(group, [])
        if not pattern:
            continue
        with suppress(RangeError):
            total += ranges.count(pattern)
            if total > ranges.MOST:
                return None
            names += ranges.expand(pattern)
    sorted_out = {group: tuple(dict.fromkeys(names)) for group, names in hosts.items()}
    every = {*OF_ANSIBLE, ALL_HOSTS, CONTROL_PLANE, CONTROL_HOST, *hosts, *control_plane}
    every.update(name for names in hosts.values() for name in names)
    return Inventory(sorted_out, tuple(control_plane), frozenset(every))


def _of_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    top = _step(_step(data, "all"), "children")
    pools = _step(_step(top, ALL_HOSTS), "children")
    for group, value in (*pools.items(), (CONTROL_PLANE, _step(top, CONTROL_PLANE))):
        if group != CONTROL_PLANE:
            yield group, ""
        yield from ((group, host) for host in _step(value, "hosts"))


def _step(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _of_yaml(text: str) -> Iterator[tuple[str, str]]:
    """Yield (group, host pattern) by the indent of the keys; a group without hosts has none."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        match = _KEY.match(line) if len(line) < _LONGEST else None
        if match is None:
            continue
        indent, key = len(match[1]), _unquoted(match[2])
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, key))
        path = tuple(name for _, name in above)
        if path[:4] == _POOLS and len(path) == 5:
            yield key, ""
        elif path[:4] == _POOLS and len(path) == 7 and path[5] == "hosts":
            yield path[4], key
        elif path[:4] == _MAIN and len(path) == 5:
            yield CONTROL_PLANE, key


def _unquoted(key: str) -> str:
    if not key.startswith('"'):
        return key
    try:
        value = json.loads(key)
    except ValueError:
        return key
    return value if isinstance(value, str) else key

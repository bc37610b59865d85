"""Tests that need one worker, because they share what a session has once.

pytest-xdist 3.8.0 keeps the mark ``xdist_group`` in an attribute that pytest 9.2.0 no longer reads,
and so spreads groups over all workers. Here a file that carries the mark belongs to its group as a
whole: the process that deals tests out collects none, and reads the files.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

_MARK = re.compile(r"pytest\.mark\.xdist_group\(\s*([^\s)]+)\s*\)")


class ByGroup(LoadScopeScheduling):
    """Deals out single tests, and the tests of a group to one worker."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self._root = config.rootpath

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return group_of(self._root / path) or nodeid


@cache
def group_of(path: Path) -> str:
    """Return the folder and the word by which a file names its group; empty where it has none.

    A file that names itself, by ``__name__``, is a group of its own.
    """
    if path.suffix != ".py":
        return ""
    found = _MARK.search(path.read_text(encoding="utf-8"))
    if not found:
        return ""
    return f"{path.parent.name}/{path.stem if found[1] == '__name__' else found[1]}"

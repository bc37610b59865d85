"""What is in ``out/`` besides the clusters: output of clusters without a spec, foreign paths."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from gpugen.write import files
from gpugen.write.index import FOLDER, FORMER
from gpugen.write.lock import IGNORED, STAGE, STATE

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")  # of a cluster; is part of commands to paste
_OF_STATE = frozenset(("lock", STAGE))


class Surroundings(NamedTuple):
    """orphans: folders with gpugen's index but no spec; foreign: folders end in ``/``."""

    orphans: tuple[str, ...]
    foreign: tuple[str, ...]


def look_around(above: int, clusters: Collection[str]) -> Surroundings:
    """Sort what an open ``out/`` contains besides the clusters; empty folders are ignored."""
    orphans: list[str] = []
    foreign: list[str] = []
    for entry in files.entries(above):
        name = entry.name
        if name == STATE:
            foreign += _in_state(above)
        elif not entry.is_dir(follow_symlinks=False):
            foreign.append(name)
        elif name not in clusters:
            if _NAME.match(name) and _has_index(name, above):
                orphans.append(name)
            elif files.empty_folders(name, name, above) is None:
                foreign.append(f"{name}/")
    return Surroundings(tuple(orphans), tuple(foreign))


def _has_index(name: str, above: int) -> bool:
    with suppress(OSError), files.folder(name, above) as root:
        if files.is_there(FORMER, root):
            return True
        with files.folder(FOLDER, root) as folder:
            return bool(files.entries(folder))
    return False


def _in_state(above: int) -> Iterator[str]:
    """Yield what gpugen never leaves in the folder of lock and staging."""
    try:
        with files.folder(STATE, above) as state:
            for entry in files.entries(state):
                is_ours = entry.name in _OF_STATE and not entry.is_symlink()
                if entry.name == ".gitignore":
                    is_ours = _is_ours(entry.name, state)
                if not is_ours:
                    yield f"{STATE}/{entry.name}"
    except OSError:
        yield STATE


def _is_ours(name: str, state: int) -> bool:
    with suppress(OSError):
        found = files.read(name, state)
        return found is not None and found[0] == IGNORED
    return False

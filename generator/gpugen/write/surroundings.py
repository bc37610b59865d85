"""What is in ``out/`` besides the clusters: output of clusters without a spec, foreign paths."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gpugen.hosts.collection import SHARED
from gpugen.write import files, index
from gpugen.write.lock import STAGE, STATE

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")  # of a cluster; is part of commands to paste


class Surroundings(NamedTuple):
    """orphans: folders with gpugen's index but no spec; foreign: folders end in ``/``."""

    orphans: list[str]
    foreign: list[str]


def look_around(out: Path, clusters: Collection[str]) -> Surroundings:
    """Sort what ``out/`` contains besides the clusters; empty folders are ignored."""
    found = Surroundings([], [])
    with suppress(FileNotFoundError), files.folder(str(out)) as above:
        for entry in files.entries(above):
            name = entry.name
            if name == STATE:
                found.foreign.extend(_in_state(above))
            elif not entry.is_dir(follow_symlinks=False):
                found.foreign.append(name)
            elif name not in clusters and _NAME.match(name) and _has_index(name, above):
                found.orphans.append(name)
            elif name == SHARED and _has_index(name, above):
                continue
            elif name not in clusters and files.empty_folders(name, name, above) is None:
                found.foreign.append(f"{name}/")
    return found


def _has_index(name: str, above: int) -> bool:
    with suppress(OSError), files.folder(name, above) as root:
        return bool(index.texts(root))
    return False


def _in_state(above: int) -> list[str]:
    """List what gpugen never leaves in the folder of lock and staging."""
    with suppress(OSError), files.folder(STATE, above) as state:
        ours = ("lock", STAGE, ".gitignore")
        found = [e.name for e in files.entries(state) if e.name not in ours or e.is_symlink()]
        return [f"{STATE}/{name}" for name in found]
    return [STATE]

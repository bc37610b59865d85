"""Journals of commits that are under way: which content is ours although no index lists it yet.

A journal is there from before the first move of a commit until after its last. Where a commit was
killed it stays, one file for each cluster, and the next commit of that cluster goes by it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from gpugen.errors import GpugenError
from gpugen.write import files
from gpugen.write.index import index_of, parse_journal, sha256

JOURNALS = "journals"


def read(state: int, cluster: str) -> dict[str, list[str]]:
    """Return path -> hashes of what a killed commit may have left; empty where there was none."""
    with suppress(OSError), files.folder(JOURNALS, state) as journals:
        found = files.read(cluster, journals)
        return parse_journal(found[0]) if found else {}
    return {}


def write(state: int, stage: int, cluster: str, journal: Mapping[str, list[str]]) -> None:
    """Keep a journal; it is staged first, so there is never a half of one."""
    with suppress(FileExistsError):
        os.mkdir(JOURNALS, 0o700, dir_fd=state)
    files.create("journal", json.dumps(journal).encode(), stage)
    with files.folder(JOURNALS, state) as journals:
        os.rename("journal", cluster, src_dir_fd=stage, dst_dir_fd=journals)


def drop(state: int, cluster: str) -> None:
    """Delete a journal; one that stays would do no harm."""
    with suppress(OSError), files.folder(JOURNALS, state) as journals:
        os.unlink(cluster, dir_fd=journals)


def drop_needless(out: int, state: int) -> None:
    """Delete the journals that say nothing the indexes do not say: those commits are complete."""
    with suppress(OSError), files.folder(JOURNALS, state) as journals:
        for entry in files.entries(journals):
            if not _is_needed(out, entry.name, read(state, entry.name)):
                drop(state, entry.name)


def _is_needed(out: int, cluster: str, journal: Mapping[str, list[str]]) -> bool:
    try:
        with files.folder(cluster, out) as root:
            index = index_of(root)[0]
            listed = index.files if index else {}
            for path, hashes in journal.items():
                content = files.read_below(root, path)
                found = sha256(content) if content is not None else ""
                if found in hashes and found != listed.get(path):
                    return True
    except (OSError, GpugenError):
        return False
    return False

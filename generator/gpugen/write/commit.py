"""Puts staged files in place: all of them, or on an error none.

Whatever is replaced or deleted is first set aside in the staging folder. An error brings it back;
after a kill the journal tells the next run which new content is ours as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from gpugen.write import files, journal
from gpugen.write.index import INDEX
from gpugen.write.lock import Lock
from gpugen.write.moves import HalfWayError, Move, remove_if_empty
from gpugen.write.signals import held
from gpugen.write.state import State
from gpugen.write.survey import Survey


def commit_fresh(lock: Lock, cluster: str, content: Mapping[str, bytes], index: bytes) -> None:
    """Write a cluster that does not exist yet: staged as a whole, moved by one rename."""
    stage = lock.stage()
    with files.named(""):
        os.mkdir("new", 0o755, dir_fd=stage)
    with files.folder("new", stage) as root:
        for folder in sorted(files.folders_of(content)):
            os.mkdir(folder, 0o755, dir_fd=root)
        for path, data in content.items():
            files.create(path, data, root)
        files.create(INDEX, index, root)
    with files.named(""):
        os.rename("new", cluster, src_dir_fd=stage, dst_dir_fd=lock.out)
    journal.drop(lock.state, cluster)


def commit_changes(
    lock: Lock, cluster: str, state: State, wanted: Mapping[str, bytes] | None
) -> None:
    """Bring an existing cluster from what was surveyed to what is wanted; None deletes it.

    Raises NotOursError: somebody changed a file after the survey. OSError: the disk refuses. In
    both cases everything is as before the call; GpugenError: it is not, and the message says so.
    """
    survey, stage = state.survey, lock.stage()
    content = wanted or {}
    for number, path in enumerate(survey.put):
        with files.named(path):
            files.create(f"new-{number}", content[path], stage)
    if wanted is not None and survey.index:
        files.create("new-index", state.after.to_bytes(), stage)
    try:
        _write_journal(lock, cluster, state)
        with files.folder(cluster, lock.out) as root, held():
            last = partial(remove_if_empty, cluster, lock.out) if wanted is None else None
            _move(Move(root, stage, survey.stamps), survey, last)
            journal.drop(lock.state, cluster)
    except HalfWayError:
        raise
    except BaseException:
        if not state.journal:
            journal.drop(lock.state, cluster)
        raise


def _move(move: Move, survey: Survey, last: Callable[[], object] | None) -> None:
    try:
        move.carry_out(survey, last)
    except BaseException as error:
        move.undo(error)
        raise
    finally:
        move.close()


def _write_journal(lock: Lock, cluster: str, state: State) -> None:
    """Note which content will be ours, so that a killed commit can be told from an edit."""
    ours = {path: list(hashes) for path, hashes in state.journal.items()}
    for path in state.survey.put:
        ours.setdefault(path, []).append(state.after.files[path])
    if ours:
        with files.named(f"{lock.place}/{journal.JOURNALS}"):
            journal.write(lock.state, lock.stage(), cluster, ours)

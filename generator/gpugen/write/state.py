"""What is known of a cluster's folder before it is written: its index, journal and survey."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gpugen.errors import NotOursError
from gpugen.write import files, journal
from gpugen.write.index import INDEX, Index, index_of, sha256
from gpugen.write.lock import STATE
from gpugen.write.survey import Change, Kind, Survey, survey_folder, survey_new


class State(NamedTuple):
    """A folder that was looked at. after: what the index shall be; before: what it says now.

    journal: path -> hashes that a killed commit may have left, which are ours too.
    """

    survey: Survey
    after: Index
    before: Index | None
    journal: Mapping[str, list[str]]


@contextmanager
def cluster_folder(out: Path, cluster: str) -> Iterator[int | None]:
    """Hold ``out/<cluster>`` open; None where it does not exist.

    Raises NotOursError: a link or a file stands there or at ``out``. OSError: unreadable.
    """
    if "/" in cluster or cluster.startswith(".") or not cluster:
        raise ValueError(f"{cluster!r} cannot name a folder of out/")
    handle = -1
    try:
        with files.folder(str(out)) as above:
            handle = files.open_folder(cluster, above)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        raise NotOursError(
            f"{out}/{cluster} cannot be used: it or {out} is a link or no folder",
            "remove it, or name another folder by --out; links are not followed",
        ) from error
    try:
        yield handle if handle >= 0 else None
    finally:
        if handle >= 0:
            os.close(handle)


def look(
    wanted: Mapping[str, bytes], out: Path, cluster: str, inputs: str | None, spec: str | None
) -> State:
    """Survey a cluster's folder against wanted files. None: what the index says of itself."""
    hashes = {path: sha256(content) for path, content in wanted.items()}
    with cluster_folder(out, cluster) as root:
        if root is None:
            return State(survey_new(wanted), Index(spec or "", inputs or "", hashes), None, {})
        before, text = index_of(root)
        said = before or Index("", "", {})
        index = Index(
            said.spec if spec is None else spec, said.inputs if inputs is None else inputs, hashes
        )
        killed = _journal(out, cluster)
        owned = {path: [one] for path, one in before.files.items()} if before else {}
        for path, more in killed.items():
            owned[path] = owned.get(path, []) + more
        survey = survey_folder(root, wanted, owned)
    _judge_index(survey, text, index.to_bytes())
    return State(survey, index, before, killed)


def look_for_deletion(
    out: Path, cluster: str, kept: Collection[str] = (), *, force: bool = False
) -> tuple[State, dict[str, bytes]]:
    """Survey a cluster's folder of which nothing is wanted any more but the kept files.

    kept: paths; without force those alone that are as the index says. Returns their content, too.
    Without any the index goes as well.
    """
    standing = _standing(out, cluster, kept, force=force)
    if standing:
        return look(standing, out, cluster, None, None), standing
    state = look({}, out, cluster, "", None)
    survey = state.survey
    survey.index = Kind.DELETED
    survey.changes = [change for change in survey.changes if change.path != INDEX]
    survey.changes = sorted([*survey.changes, Change(INDEX, Kind.DELETED)])
    return state, {}


def _standing(out: Path, cluster: str, kept: Collection[str], *, force: bool) -> dict[str, bytes]:
    """Return the content of the kept files that are as the index says, or of all by force."""
    found: dict[str, bytes] = {}
    with cluster_folder(out, cluster) as root:
        index = index_of(root)[0] if root is not None and kept else None
        if root is None or index is None:
            return {}
        for path in kept:
            content = files.read_below(root, path)
            if content is None:
                continue
            if force or sha256(content) == index.files.get(path):
                found[path] = content
    return found


def _journal(out: Path, cluster: str) -> dict[str, list[str]]:
    with suppress(OSError), files.folder(str(out)) as above, files.folder(STATE, above) as state:
        return journal.read(state, cluster)
    return {}


def _judge_index(survey: Survey, text: bytes | None, expected: bytes) -> None:
    if text == expected:
        return
    survey.index = Kind.ADDED if text is None else Kind.CHANGED
    if all(change.path.rstrip("/") != INDEX for change in survey.changes):
        survey.changes.append(Change(INDEX, survey.index))
        survey.changes.sort()

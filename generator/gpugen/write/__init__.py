"""Stage 7: writes a tree below ``out/``, one transaction per cluster; or compares, writing nothing.

Files that gpugen did not write, or that were edited since, are never changed unless a user names
them or forces all. The index decides which they are; see ``survey`` and ``transaction``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpugen.errors import GpugenError, NotOursError
from gpugen.model.tree import Tree
from gpugen.write import differences, files, index
from gpugen.write.index import FOLDER, FORMER, INDEX, is_index
from gpugen.write.lock import Lock
from gpugen.write.signals import unwinding
from gpugen.write.surroundings import Surroundings, look_around
from gpugen.write.survey import Change, Kind, Survey, cluster_folder, look
from gpugen.write.transaction import change, write_new

__all__ = [
    "INDEX", "Change", "Kind", "Lock", "Surroundings", "compare", "diff", "is_index", "listed",
    "orphans", "prune", "read", "surroundings", "survey_gone", "write",
]  # fmt: skip

_MOST_NAMED = 10


def listed(out: Path, cluster: str) -> list[str]:
    """List the paths that gpugen wrote below ``out/<cluster>`` by its index; none if unreadable.

    Raises GpugenError: a newer gpugen wrote it.
    """
    with suppress(OSError), cluster_folder(out, cluster) as root:
        return [] if root is None else sorted(index.read(root, f"{out}/{cluster}").files)
    return []


def compare(tree: Tree, out: Path, cluster: str) -> list[Change]:
    """List how the folder differs from what ``write`` would leave; writes nothing.

    Raises GpugenError: unreadable folder, or a newer gpugen wrote it.
    """
    with _reported(out, cluster, "read"):
        return look(tree, out, cluster).changes


def diff(tree: Tree, out: Path, cluster: str, shown: str = "") -> Iterator[str]:
    """Yield ``compare`` as a unified diff, lines without line ends; control characters escaped.

    shown: what paths begin with; by default the cluster's name.
    """
    with _reported(out, cluster, "read"):
        survey = look(tree, out, cluster)
        with cluster_folder(out, cluster) as root:
            yield from differences.unified(shown or cluster, survey.changes, root, survey.expected)


def write(
    tree: Tree,
    out: Path,
    cluster: str,
    *,
    force: bool = False,
    overwrite: Collection[str] = (),
    lock: Lock | None = None,
) -> list[Change]:
    """Write the tree to ``out/<cluster>``, and return the changes.

    overwrite: paths to overwrite even if gpugen did not write them. lock: shared by the clusters of
    one run; None takes one for this call. Raises NotOursError: foreign files are in the way,
    nothing was changed. GpugenError: an error of the environment; the old tree is unchanged.
    """
    if lock is None:
        with Lock(out) as own:
            return write(tree, out, cluster, force=force, overwrite=overwrite, lock=own)
    with _reported(out, cluster):
        if not lock.is_held:
            with suppress(FileNotFoundError):  # another run is at work
                if look(tree, out, cluster).is_clean:
                    return []
        with files.plain_modes(), unwinding():
            lock.acquire()
            return _commit(lock, cluster, look(tree, out, cluster), force, overwrite)


def surroundings(out: Path, clusters: Collection[str]) -> Surroundings:
    """Return what ``out/`` contains besides the clusters. Raises GpugenError: it cannot be read."""
    with _reported(out, "", "read"), suppress(FileNotFoundError), files.folder(str(out)) as above:
        return look_around(above, clusters)
    return Surroundings((), ())


def orphans(out: Path, clusters: Collection[str]) -> list[str]:
    """List the folders in ``out/`` with gpugen's index that belong to none of the clusters."""
    return list(surroundings(out, clusters).orphans)


def prune(
    out: Path,
    cluster: str,
    *,
    keep: str = "",
    force: bool = False,
    lock: Lock | None = None,
) -> list[Change]:
    """Delete the listed files and the index; return them, and the foreign files that are kept.

    keep: prefix of paths to keep, such as ``ansible/``, with their index. Raises NotOursError: a
    listed file was edited, or the index is damaged; nothing was changed.
    """
    if lock is None:
        with Lock(out) as own:
            return prune(out, cluster, keep=keep, force=force, lock=own)
    with _reported(out, cluster), files.plain_modes(), unwinding():
        with cluster_folder(out, cluster) as root:
            if root is None or not (files.is_there(FOLDER, root) or files.is_there(FORMER, root)):
                return []
        lock.acquire()
        survey = look(_kept(out, cluster, keep, force=force), out, cluster)
        if survey.index.texts and not survey.index.files:
            raise NotOursError(
                f"{out}/{cluster}/{INDEX} is damaged: it is unknown which files gpugen wrote",
                "delete the folder by hand",
            )
        return _commit(lock, cluster, survey, force)


def survey_gone(out: Path, cluster: str) -> list[Change]:
    """List what ``prune`` would delete and keep. Raises GpugenError: unreadable folder."""
    with _reported(out, cluster, "read"):
        return look(None, out, cluster).changes


def read(out: Path, cluster: str, path: str) -> bytes | None:
    """Return the content of a path of a cluster's folder, None if it is not a regular file."""
    with suppress(OSError, GpugenError), cluster_folder(out, cluster) as root:
        return None if root is None else files.read_below(root, path)
    return None


def _kept(out: Path, cluster: str, beginning: str, *, force: bool) -> Tree | None:
    """Return the files with this prefix that match the index, or all with force."""
    kept = Tree()
    with cluster_folder(out, cluster) as root:
        if root is None or not beginning:
            return None
        before = index.read(root, f"{out}/{cluster}")
        for path in before.files:
            content = files.read_below(root, path) if path.startswith(beginning) else None
            if content is not None and (force or before.owns(path, content)):
                kept.add(path, content)
    return kept if len(kept) else None


def _commit(
    lock: Lock, cluster: str, survey: Survey, force: bool, overwrite: Collection[str] = ()
) -> list[Change]:
    """Apply the changes of a survey. Returns them, and for a deleted cluster what is kept."""
    place = f"{lock.path}/{cluster}"
    if survey.is_clean:
        return []
    _refuse(place, survey.immovable, "move them away; not even --force deletes your folders")
    if not force:
        refused = [change for change in survey.refused if change.path not in overwrite]
        _refuse(
            place,
            refused,
            "see them with --diff; --overwrite PATH replaces one, --force all of them",
        )
    try:
        if survey.is_new:
            write_new(lock, cluster, survey.expected)
        else:
            change(lock, cluster, survey)
    finally:
        lock.clear_stage()
    done = {*survey.write, *survey.delete}
    return [c for c in survey.changes if c.path in done or not survey.expected]


def _refuse(place: str, refused: list[Change], hint: str) -> None:
    """Raise NotOursError with the first paths if anything is refused."""
    if not refused:
        return
    named = ", ".join(f"{files.printable(c.path)} ({c.kind})" for c in refused[:_MOST_NAMED])
    rest = len(refused) - _MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    raise NotOursError(
        f"{place}: not written by gpugen, or edited since: {named}{more}; nothing written", hint
    )


@contextmanager
def _reported(out: Path, cluster: str, verb: str = "write") -> Iterator[None]:
    """Return the error of the environment, with path and reason."""
    try:
        yield
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else ""
        place = name if name.startswith(str(out)) else f"{out}/{cluster}/{name}".rstrip("/")
        reason = error.strerror or str(error)
        hint = "" if verb == "read" else "the previous output is unchanged"
        raise GpugenError(f"cannot {verb} {files.printable(place)}: {reason}", hint) from error

"""Stage 7: writes a tree below ``out/``, one transaction per cluster; or compares, writing nothing.

Whatever gpugen did not write, or somebody edited since, is never changed unless a user names it or
forces all. What that means is decided against the index; see ``survey`` and ``transaction``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpugen.errors import GpugenError, NotOursError
from gpugen.model.tree import Tree
from gpugen.write import differences, files, index
from gpugen.write.index import FOLDER, FORMER, INDEX, is_index, sha256
from gpugen.write.lock import Lock
from gpugen.write.surroundings import Surroundings, look_around
from gpugen.write.survey import Change, Kind, Survey, cluster_folder, look
from gpugen.write.transaction import change, write_new
from gpugen.write.unwinding import unwinding

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
        return [] if root is None else sorted(index.read(root).files)
    return []


def compare(tree: Tree, out: Path, cluster: str) -> list[Change]:
    """List what stands there against what ``write`` would leave; writes nothing.

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
            yield from differences.unified(shown or cluster, survey.changes, root, survey.wanted)


def write(
    tree: Tree,
    out: Path,
    cluster: str,
    *,
    force: bool = False,
    overwrite: Collection[str] = (),
    lock: Lock | None = None,
) -> list[Change]:
    """Make ``out/<cluster>`` hold the tree, and return what was changed for that.

    overwrite: paths that are taken over even if they are not ours. lock: shared by the clusters of
    one run; None takes one for this call.
    Raises NotOursError: files of somebody else are in the way, nothing was touched.
    GpugenError: the environment refuses; the old tree stands.
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
    """Return what ``out/`` holds beside the clusters. Raises GpugenError: it cannot be read."""
    with _reported(out, "", "read"), suppress(FileNotFoundError), files.folder(str(out)) as above:
        return look_around(above, clusters)
    return Surroundings((), ())


def orphans(out: Path, clusters: Collection[str]) -> list[str]:
    """List the folders in ``out/`` that carry our index but belong to none of the clusters."""
    return list(surroundings(out, clusters).orphans)


def prune(
    out: Path,
    cluster: str,
    *,
    keep: str = "",
    force: bool = False,
    lock: Lock | None = None,
) -> list[Change]:
    """Delete the listed files and the index; return them, and what stays because it is foreign.

    keep: the beginning of paths that stay, such as ``ansible/``, and the index for them.
    Raises NotOursError: a listed file was edited, or the index is damaged; nothing was touched.
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
                f"{out}/{cluster}/{INDEX} is damaged: nothing there is known to be ours",
                "delete the folder by hand",
            )
        return _commit(lock, cluster, survey, force)


def survey_gone(out: Path, cluster: str) -> list[Change]:
    """List what ``prune`` would delete, and what stays. Raises GpugenError: unreadable folder."""
    with _reported(out, cluster, "read"):
        return look(None, out, cluster).changes


def read(out: Path, cluster: str, path: str) -> bytes | None:
    """Return what stands at a path of a cluster's folder, None where that is no regular file."""
    with suppress(OSError, GpugenError), cluster_folder(out, cluster) as root:
        return None if root is None else files.read_below(root, path)
    return None


def _kept(out: Path, cluster: str, beginning: str, *, force: bool) -> Tree | None:
    """Return the files whose paths begin so and that are as the index says, or all by force."""
    kept = Tree()
    with cluster_folder(out, cluster) as root:
        if root is None or not beginning:
            return None
        for path, hashes in index.read(root).files.items():
            content = files.read_below(root, path) if path.startswith(beginning) else None
            if content is not None and (force or sha256(content) in hashes):
                kept.add(path, content)
    return kept if len(kept) else None


def _commit(
    lock: Lock, cluster: str, survey: Survey, force: bool, overwrite: Collection[str] = ()
) -> list[Change]:
    """Carry out what a survey found. Returns what was done, and of a gone cluster what stays."""
    place = f"{lock.path}/{cluster}"
    if survey.is_clean:
        return []
    _refuse(place, survey.immovable, "move them away; not even --force deletes a folder of yours")
    if not force:
        refused = [change for change in survey.refused if change.path not in overwrite]
        _refuse(
            place,
            refused,
            "see them with --diff; --overwrite PATH replaces one, --force all of them",
        )
    try:
        if survey.is_new:
            write_new(lock, cluster, survey.wanted)
        else:
            change(lock, cluster, survey)
    finally:
        lock.clear_stage()
    done = {*survey.write, *survey.delete}
    return [c for c in survey.changes if c.path in done or not survey.wanted]


def _refuse(place: str, refused: list[Change], hint: str) -> None:
    """Raise NotOursError if anything is refused, naming the first paths."""
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
    """Say which path the environment refused, and why."""
    try:
        yield
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else ""
        place = name if name.startswith(str(out)) else f"{out}/{cluster}/{name}".rstrip("/")
        reason = error.strerror or str(error)
        hint = "" if verb == "read" else "what was there before still stands"
        raise GpugenError(f"cannot {verb} {files.printable(place)}: {reason}", hint) from error

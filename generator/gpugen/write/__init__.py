"""Stage 7: writes a tree below ``out/``, one transaction per cluster; or compares, writing nothing.

Files that gpugen did not write, or that were edited since, are never changed unless a user names
them or forces all. The index decides which they are; see ``survey`` and ``transaction``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from gpugen.errors import GpugenError, NotOursError
from gpugen.model import NOTHING
from gpugen.model.tree import Tree
from gpugen.text.spelling import printable
from gpugen.write import differences, files, index, transaction
from gpugen.write.index import INDEX, is_index
from gpugen.write.lock import Lock
from gpugen.write.surroundings import Surroundings, look_around
from gpugen.write.survey import Change, Kind, Survey, cluster_folder, look

__all__ = [
    "INDEX", "Change", "Kind", "Lock", "Surroundings", "compare", "diff", "is_index", "listed",
    "owned", "prune", "read", "surroundings", "write",
]  # fmt: skip

_MOST_NAMED = 10


def listed(out: Path, cluster: str) -> list[str]:
    """List the paths that gpugen wrote below ``out/<cluster>`` by its index; none if unreadable.

    Raises GpugenError: a newer gpugen wrote it.
    """
    with suppress(OSError), cluster_folder(out, cluster) as root:
        return [] if root is None else sorted(index.read(root, f"{out}/{cluster}").files)
    return []


def read(out: Path, cluster: str, path: str) -> bytes | None:
    """Return the content of a path of a cluster's folder, None if it is not a regular file."""
    with suppress(OSError, GpugenError), cluster_folder(out, cluster) as root:
        return None if root is None else files.read_below(root, path)
    return None


def owned(out: Path, cluster: str) -> dict[str, bytes | None]:
    """Return the files that gpugen wrote below ``out/<cluster>``; None what was edited since."""
    with suppress(OSError, GpugenError), cluster_folder(out, cluster) as root:
        if root is not None:
            before = index.read(root, f"{out}/{cluster}")
            found = {path: files.read_below(root, path) for path in before.files}
            return {p: c if c is not None and before.owns(p, c) else None for p, c in found.items()}
    return {}


def surroundings(out: Path, clusters: Collection[str]) -> Surroundings:
    """Return what ``out/`` contains besides the clusters. Raises GpugenError: it cannot be read."""
    with _reported(out, "", "read"):
        return look_around(out, clusters)


def compare(tree: Tree | None, out: Path, cluster: str) -> list[Change]:
    """List how the folder differs from what ``write``, or without a tree ``prune``, would leave.

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
            yield from differences.unified(shown or cluster, survey, root)


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
    survey = partial(look, tree, out, cluster)
    return _commit(survey, out, cluster, lock, force=force, overwrite=overwrite)


def prune(
    out: Path, cluster: str, *, keep: str = "", instead: Mapping[str, bytes] = NOTHING,
    force: bool = False, lock: Lock | None = None,
) -> list[Change]:  # fmt: skip
    """Delete the listed files and the index; return them, and the foreign files that are kept.

    keep: prefix of paths to keep, such as ``ansible/``, with their index. instead: what is written
    beside or over those. Raises NotOursError: a listed file was edited, or the index is damaged;
    nothing was changed.
    """
    survey = partial(look, None, out, cluster, keep=keep, instead=instead, force=force)
    return _commit(survey, out, cluster, lock, force=force)


def _commit(
    survey: Callable[[], Survey], out: Path, cluster: str, shared: Lock | None,
    *, force: bool, overwrite: Collection[str] = (),
) -> list[Change]:  # fmt: skip
    """Apply the changes of a survey. Returns them, and for a deleted cluster what is kept."""
    with _reported(out, cluster), nullcontext(shared) if shared else Lock(out) as lock:
        if not lock.is_held:
            with suppress(FileNotFoundError, NotADirectoryError):  # another run is at work
                if survey().is_clean:
                    return []
        lock.acquire()
        found = survey()
        if found.is_clean:
            return []
        _refuse(f"{out}/{cluster}", found, force=force, overwrite=overwrite)
        transaction.change(lock, cluster, found)
    done = {*found.write, *found.delete}
    return [c for c in found.changes if c.path in done or not found.expected]


def _refuse(place: str, survey: Survey, *, force: bool, overwrite: Collection[str]) -> None:
    """Raise NotOursError with the first paths that are in the way of a commit."""
    if survey.before.texts and not survey.before.files and not survey.expected:
        raise NotOursError(
            f"{place}/{INDEX} is damaged: it is unknown which files gpugen wrote",
            "delete the folder by hand",
        )
    refused, hint = survey.immovable, "move them away; not even --force deletes your folders"
    if not refused and not force:
        refused = [change for change in survey.refused if change.path not in overwrite]
        hint = "see them with --diff; --overwrite PATH replaces one, --force all of them"
    if refused:
        named = ", ".join(f"{printable(c.path)} ({c.kind})" for c in refused[:_MOST_NAMED])
        more = f" and {len(refused) - _MOST_NAMED} more" * (len(refused) > _MOST_NAMED)
        what = "not written by gpugen, or edited since"
        raise NotOursError(f"{place}: {what}: {named}{more}; nothing written", hint)


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
        raise GpugenError(f"cannot {verb} {printable(place)}: {reason}", hint) from error

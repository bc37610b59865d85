"""Stage 7: writes a tree below ``out/``, one transaction per cluster; or compares, writing nothing.

Whatever gpugen did not write, or somebody edited since, is never changed without force. What that
means is decided against the index ``.gpugen.json``; see ``writing.survey`` and ``writing.commit``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gpugen.errors import GpugenError, NotOursError
from gpugen.model.tree import Tree
from gpugen.write import differences, files
from gpugen.write.commit import commit_changes, commit_fresh
from gpugen.write.index import INDEX, Index, index_of
from gpugen.write.lock import Lock
from gpugen.write.state import State, cluster_folder, look, look_for_deletion
from gpugen.write.surroundings import Surroundings, look_around
from gpugen.write.survey import Change, Kind
from gpugen.write.unwinding import unwinding

__all__ = [
    "INDEX", "Change", "Index", "Kind", "Lock", "Surroundings", "compare", "diff", "orphans",
    "prune", "read", "read_index", "surroundings", "survey_gone",
    "write",
]  # fmt: skip

_MOST_NAMED = 10


def read_index(folder: Path) -> Index | None:
    """Return the index of a rendered folder, None where there is none that can be trusted.

    Raises GpugenError: a newer gpugen wrote it.
    """
    try:
        with files.folder(str(folder)) as root:
            return index_of(root)[0]
    except OSError:
        return None


def compare(
    tree: Tree, out: Path, cluster: str, inputs: str | None, *, spec_source: str | None = None
) -> list[Change]:
    """List what stands there against what ``write`` would leave; writes nothing.

    inputs, spec_source: None takes what a sound index says of itself, so that another gpugen with
    the same bytes is no difference. Raises GpugenError: unreadable folder.
    """
    wanted = dict(tree)
    with _reported(out, cluster, "read"):
        return look(wanted, out, cluster, inputs, spec_source).survey.changes


def diff(tree: Tree, out: Path, cluster: str, shown: str = "") -> Iterator[str]:
    """Yield ``compare`` as a unified diff, lines without line ends; control characters escaped.

    shown: what paths begin with; by default the cluster's name.
    """
    wanted = dict(tree)
    with _reported(out, cluster, "read"):
        changes = look(wanted, out, cluster, None, None).survey.changes
        with cluster_folder(out, cluster) as root:
            yield from differences.unified(shown or cluster, changes, root, wanted)


def write(
    tree: Tree,
    out: Path,
    cluster: str,
    *,
    inputs: str,
    spec_source: str,
    force: bool = False,
    lock: Lock | None = None,
) -> list[Change]:
    """Make ``out/<cluster>`` hold the tree, and return what was changed for that.

    lock: shared by the clusters of one run; None takes one for this call.
    Raises NotOursError: files of somebody else are in the way, nothing was touched.
    GpugenError: the environment refuses; the old tree stands.
    """
    if lock is None:
        with Lock(out) as own:
            return write(
                tree, out, cluster, inputs=inputs, spec_source=spec_source, force=force, lock=own
            )
    wanted = dict(tree)
    with _reported(out, cluster):
        if not lock.is_held:
            with suppress(FileNotFoundError):  # another run is at work
                if look(wanted, out, cluster, inputs, spec_source).survey.is_clean:
                    return []
        with files.plain_modes(), unwinding():
            lock.acquire()
            state = look(wanted, out, cluster, inputs, spec_source)
            return _commit(lock, cluster, state, wanted, force=force)


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
            if root is None or not files.is_there(INDEX, root):
                return []
        lock.acquire()
        index = read_index(out / cluster)
        if index is None:
            raise NotOursError(
                f"{out}/{cluster}/{INDEX} is damaged: nothing there is known to be ours",
                "delete the folder by hand",
            )
        kept = [path for path in index.files if keep and path.startswith(keep)]
        state, standing = look_for_deletion(out, cluster, kept, force=force)
        return _commit(lock, cluster, state, standing or None, force=force)


def survey_gone(out: Path, cluster: str) -> list[Change]:
    """List what ``prune`` would delete, and what stays. Raises GpugenError: unreadable folder."""
    with _reported(out, cluster, "read"):
        return look_for_deletion(out, cluster)[0].survey.changes


def read(out: Path, cluster: str, path: str) -> bytes | None:
    """Return what stands at a path of a cluster's folder, None where that is no regular file."""
    with suppress(OSError, GpugenError), cluster_folder(out, cluster) as root:
        return None if root is None else files.read_below(root, path)
    return None


def _commit(
    lock: Lock, cluster: str, state: State, wanted: Mapping[str, bytes] | None, *, force: bool
) -> list[Change]:
    """Carry out what a survey found; wanted None deletes the cluster. Returns what was done."""
    survey, place = state.survey, f"{lock.path}/{cluster}"
    if survey.is_clean:
        return []
    _refuse(place, survey.solid, "move them away; not even --force deletes a folder of yours")
    if not force:
        _refuse(place, survey.blocked, "--force takes them over; see them first with --diff")
    try:
        if wanted is not None and survey.is_fresh:
            commit_fresh(lock, cluster, wanted, state.after.to_bytes())
        else:
            commit_changes(lock, cluster, state, wanted)
            lock.clear_stage()
    except BaseException:
        lock.clear_stage()
        raise
    done = {*survey.put, *survey.clear, *survey.modes, INDEX}
    return [c for c in survey.changes if c.path in done or wanted is None]


def _refuse(place: str, blocked: list[Change], hint: str) -> None:
    """Raise NotOursError if anything blocks, naming the first paths."""
    if not blocked:
        return
    named = ", ".join(f"{files.printable(c.path)} ({c.kind})" for c in blocked[:_MOST_NAMED])
    rest = len(blocked) - _MOST_NAMED
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

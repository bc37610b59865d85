"""How ``out/`` differs from the specs: surveyed once, reported as findings and as lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gpugen import pipeline, write
from gpugen.changes import departures
from gpugen.changes.inventories import is_part
from gpugen.cli import sharing
from gpugen.cli.sharing import Shared
from gpugen.errors import GpugenError
from gpugen.hosts.collection import SHARED
from gpugen.load import specs
from gpugen.model import NOTHING
from gpugen.model.finding import Changed, Finding
from gpugen.pipeline import Outcome
from gpugen.workspace import Workspace

WITHOUT_SPEC = "without-spec"
FOREIGN = str(write.Kind.FOREIGN)


class Comparison(NamedTuple):
    """What was found before anything is written.

    changes: cluster -> differences; None where only writing itself can tell. shared: the folder of
    the collection that they have in common. orphans: folders of
    clusters without a spec -> the files that gpugen wrote there; hidden: which of these clusters
    are only put aside, and why; foreign: paths beside the clusters; hosts: of all clusters.
    """

    folder: Path
    changes: Mapping[str, Sequence[write.Change] | None]
    shared: Shared = Shared()
    orphans: Mapping[str, Sequence[str]] = NOTHING
    hidden: Mapping[str, Finding] = NOTHING
    foreign: Sequence[str] = ()
    hosts: frozenset[str] = frozenset()

    def shown(self, path: str) -> str:
        """Return a path of the output for messages."""
        return f"{self.folder.name}/{path}"

    def differences(self) -> Iterator[Changed]:
        """Yield every path that differs from the specs, by cluster."""
        for name, changes in self.changes.items():
            for change in told(changes or ()):
                path = f"{self.folder}/{name}/{change.path}"
                yield Changed(path, name, str(change.kind))
        is_kept = self.shared.tree is None and self.orphans  # until those have copies of their own
        for change in told((not is_kept and self.shared.changes) or ()):
            yield Changed(f"{self.folder}/{SHARED}/{change.path}", "", str(change.kind))
        for name in self.orphans:
            yield Changed(f"{self.folder}/{name}/", name, WITHOUT_SPEC)
            yield from (
                Changed(f"{self.folder}/{name}/{path}", name, FOREIGN)
                for path in _foreign_below(self.folder, name)
            )
        for path in self.foreign:
            yield Changed(f"{self.folder}/{path}", "", FOREIGN)


def compare(
    workspace: Workspace,
    outcomes: Sequence[Outcome],
    folder: Path,
    *,
    whole: bool,
    for_writing: bool,
) -> Comparison:
    """Survey the output of the outcomes, and where whole all else in ``out/``.

    for_writing: what only writing can tell is left to it. What leaves the specs is added to the
    outcomes' findings.
    """
    changes: dict[str, Sequence[write.Change] | None] = {}
    for outcome in outcomes:
        assert outcome.spec is not None
        name = outcome.spec.name
        build = partial(pipeline.build, outcome)
        found = changes[name] = sharing.survey(build, folder, name, for_writing=for_writing)
        outcome.findings.extend(_departures(outcome, found or (), folder))
    around = write.surroundings(folder, workspace.clusters()) if whole else None
    shared = sharing.look(
        workspace.host_half().form,
        folder,
        changes,
        lambda: [*workspace.clusters(), *(around.orphans if around else ())],
        whole=whole,
        for_writing=for_writing,
    )
    if around is None or not around.orphans:
        return Comparison(folder, changes, shared, foreign=around.foreign if around else ())
    orphans = {name: _files(folder, name) for name in around.orphans}
    hidden = {}
    for name in orphans:
        put_aside = specs.hidden(workspace.root, name) if workspace.root else None
        if put_aside is not None:
            hidden[name] = put_aside
    hosts = departures.all_hosts(o.spec for o in outcomes if o.spec is not None)
    return Comparison(folder, changes, shared, orphans, hidden, around.foreign, hosts)


def _files(folder: Path, cluster: str) -> list[str]:
    try:
        return write.listed(folder, cluster)
    except GpugenError:  # of a newer gpugen
        return []


def _departures(
    outcome: Outcome, changes: Sequence[write.Change], folder: Path
) -> Iterator[Finding]:
    """Yield what the spec of a cluster no longer has, compared with its folder."""
    assert outcome.spec is not None
    name = outcome.spec.name
    place = f"{folder.name}/{name}"
    kinds = {change.path: change.kind for change in changes}
    gone = [path for path, kind in kinds.items() if kind is write.Kind.DELETED]
    yield from departures.roles(gone, place)
    known = (write.Kind.CHANGED, write.Kind.DELETED, write.Kind.EDITED)
    touched = [path for path, kind in kinds.items() if is_part(path) and kind in known]
    if touched and (contents := inventory_of(folder, name, [*_files(folder, name), *touched])):
        yield from departures.hosts(contents, outcome.spec, place)


def inventory_of(folder: Path, cluster: str, paths: Iterable[str]) -> list[bytes]:
    """Return the files of a cluster's inventory among some paths, as they are there."""
    parts = sorted({path for path in paths if is_part(path)})
    contents = (write.read(folder, cluster, path) for path in parts)
    return [content for content in contents if content is not None]


def _foreign_below(folder: Path, cluster: str) -> list[str]:
    """List foreign files in the folder of a cluster without a spec."""
    try:
        changes = write.compare(None, folder, cluster)
    except GpugenError:
        return []
    return [c.path for c in changes if c.kind is not write.Kind.DELETED]


def told(changes: Sequence[write.Change]) -> Sequence[write.Change]:
    """Return the changes without that of the index, unless it is the only one."""
    return [change for change in changes if not write.is_index(change.path)] or changes

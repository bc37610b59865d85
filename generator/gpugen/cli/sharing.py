"""The folder of ``out/`` that has the collection once, for all clusters of a repository."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpugen import pipeline, write
from gpugen.errors import GpugenError
from gpugen.hosts import collection
from gpugen.hosts.collection import SHARED
from gpugen.model.finding import Finding, Location, Severity
from gpugen.model.half import Form
from gpugen.model.tree import Tree
from gpugen.render.hosts import COLLECTIONS, FOLDER

VARIABLES = f"{FOLDER}/inventory/group_vars/all.yml"
SETTINGS = f"{FOLDER}/ansible.cfg"
_SERVED = f"{collection.NAMESPACE}/playbooks/vars/contract.yml"
_CONTRACT = re.compile(rb"^gpugen_contract(?:_served)?: ([0-9]{1,9})$", re.MULTILINE)
_LINE = {form: f"\ncollections_path = {COLLECTIONS[form]}\n".encode() for form in Form}
_NAMED = 5  # clusters that one message names


class Shared(NamedTuple):
    """What was found of the folder. tree: what it is to have; without one it is to go.

    changes: None where only writing itself can tell. findings: clusters that it no longer serves.
    """

    tree: Tree | None = None
    changes: Sequence[write.Change] | None = ()
    findings: Sequence[Finding] = ()


def look(
    form: Form,
    folder: Path,
    rendered: Collection[str],
    others: Callable[[], Iterable[str]],
    *,
    whole: bool,
    for_writing: bool,
) -> Shared:
    """Survey the folder. rendered, others: clusters of this run, and those whose output stays."""
    if form is Form.SHARED and rendered:
        tree = pipeline.collection_tree()
        changes = survey(lambda: tree, folder, SHARED, for_writing=for_writing)
        findings = () if changes == [] else _no_longer_served(folder, rendered, others())
        return Shared(tree, changes, tuple(findings))
    if whole and write.listed(folder, SHARED):
        return Shared(None, write.compare(None, folder, SHARED))
    return Shared()


def survey(
    build: Callable[[], Tree], folder: Path, name: str, *, for_writing: bool
) -> list[write.Change] | None:
    """List how a folder differs from its tree; None where only writing can tell."""
    if for_writing and not (folder / name).exists():
        return None
    try:
        return write.compare(build(), folder, name)
    except GpugenError:
        if not for_writing:
            raise
        return None  # writing reports it again, after the findings


def vendored(folder: Path, name: str) -> dict[str, bytes]:
    """Return what makes the plays of a cluster without a spec independent of the others.

    The collection as it is in the folder, which the cluster was last rendered with; what was edited
    there is taken from this gpugen. Nothing if the cluster does not use that folder.
    """
    settings = write.read(folder, name, SETTINGS)
    if settings is None or _LINE[Form.SHARED] not in settings:
        return {}
    ours = dict(pipeline.collection_tree())
    found = write.owned(folder, SHARED) or ours
    copies = {path: content or ours.get(path) for path, content in found.items()}
    top = f"{FOLDER}/{COLLECTIONS[Form.VENDORED]}"
    own = {f"{top}/{path}": content for path, content in copies.items() if content is not None}
    return {**own, SETTINGS: settings.replace(_LINE[Form.SHARED], _LINE[Form.VENDORED])}


def _no_longer_served(
    folder: Path, rendered: Collection[str], others: Iterable[str]
) -> Iterator[Finding]:
    """Yield a warning about other clusters if the contract of the collection changes."""
    before = _contract(write.read(folder, SHARED, _SERVED))
    if before in (None, collection.contract()):
        return
    stated = {
        name: _contract(write.read(folder, name, VARIABLES))
        for name in sorted({*others} - {*rendered})
    }
    left = [n for n, number in stated.items() if number not in (None, collection.contract())]
    if left:
        more = f" and {len(left) - _NAMED} more" * (len(left) > _NAMED)
        yield Finding(
            "hosts-contract",
            f"{folder.name}/{SHARED} will serve contract {collection.contract()}, which the"
            f" variables of {', '.join(left[:_NAMED])}{more} do not follow: their plays will stop",
            "run 'gpugen render' for all clusters, or keep copies of the collection per cluster:"
            " hostHalf: {form: vendored} in gpugen.yaml",
            severity=Severity.WARNING,
            location=Location(f"{folder}/{SHARED}/{write.INDEX}", 1, 1),
        )


def _contract(content: bytes | None) -> int | None:
    found = _CONTRACT.search(content or b"")
    return int(found[1]) if found else None

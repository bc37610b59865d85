"""Load, validate, resolve, check, assemble, render: the stages in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugen.load import Document, load
from gpugen.model import NOTHING
from gpugen.model.finding import Finding
from gpugen.model.half import HostHalf
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree

if TYPE_CHECKING:
    from gpugen.workspace import Workspace


class Outcome(NamedTuple):
    """What the stages made of one spec file. spec: None where something is wrong with its shape.

    readings: what the spec may mean then, else itself alone. half: of the repository.
    """

    path: Path
    document: Document | None
    spec: ClusterSpec | None
    findings: list[Finding]
    keys: Mapping[str, bytes] = NOTHING  # repository keys by their path
    readings: Sequence[ClusterSpec] = ()
    half: HostHalf = HostHalf()


def run(path: Path, workspace: Workspace) -> Outcome:
    """Load, validate, resolve and check one spec; return every finding that can be known."""
    from gpugen.checks import run_all
    from gpugen.resolve.readings import resolve_all
    from gpugen.validate.readings import read

    document, findings = load(path, workspace.boundary(path), workspace.reader)
    if document is None:
        return Outcome(path, None, None, findings)
    if foreign := _not_rendered(document.data, workspace):
        return Outcome(path, document, None, foreign)
    readings, findings = read(document.data, workspace.catalog, findings)
    specs, readings, unknown = resolve_all(readings, workspace.source_name(path))
    keys, found = workspace.keys(path, specs)
    found += run_all(specs)
    findings += unknown + [f for f in found if not readings.covers(f.at)]
    spec = None if readings.doubts else specs[0]
    return Outcome(path, document, spec, findings, keys, specs, workspace.host_half())


def build(outcome: Outcome) -> Tree:
    """Assemble and render a spec that has no errors."""
    from gpugen.assemble import assemble
    from gpugen.render import render

    assert outcome.spec is not None
    tree = render(outcome.spec, assemble(outcome.spec), outcome.half)
    for path, key in outcome.keys.items():
        tree.add(f"ansible/files/{path}", key)
    return tree


def collection_tree() -> Tree:
    """Return the collection as it is once in a repository."""
    from gpugen.hosts import collection

    tree = Tree()
    for path, content in collection.files():
        tree.add(f"{collection.NAMESPACE}/{path}", content)
    return tree


def _not_rendered(data: Mapping[str, Any], workspace: Workspace) -> list[Finding]:
    """Return why the distribution is not rendered for: before all else, which it makes idle."""
    from gpugen.checks import cluster

    stated = data.get("kubernetes")
    name = stated.get("distribution") if isinstance(stated, dict) else None
    if not isinstance(name, str) or name not in workspace.catalog.ids("distributions"):
        return []
    row = workspace.catalog.distribution(name)
    return [cluster.distribution.finding(problem) for problem in cluster.not_rendered(row)]

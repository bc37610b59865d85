"""Load, validate, resolve, check, assemble, render: the stages in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugen.load import Document, load
from gpugen.model import NOTHING
from gpugen.model.finding import ROOT, Finding, is_fatal
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree

if TYPE_CHECKING:
    from gpugen.workspace import Workspace


class Outcome(NamedTuple):
    """One spec file after the stages. spec is None where they could not go on."""

    path: Path
    document: Document | None
    spec: ClusterSpec | None
    findings: list[Finding]
    keys: Mapping[str, bytes] = NOTHING  # repository keys by their path


def run(path: Path, workspace: Workspace) -> Outcome:
    """Load, validate, resolve and check one spec; every finding of a stage at once."""
    from gpugen.validate import validate

    document, findings = load(path, workspace.boundary(path), workspace.reader)
    if document is None or is_fatal(findings):
        return Outcome(path, document, None, findings)
    if foreign := _not_rendered(document.data, workspace):
        return Outcome(path, document, None, foreign)
    findings += validate(document.data)
    if is_fatal(findings):
        return Outcome(path, document, None, findings)
    return _judge_meaning(path, document, findings, workspace)


def build(outcome: Outcome) -> Tree:
    """Assemble and render a spec that has no errors."""
    from gpugen.assemble import assemble
    from gpugen.render import render

    assert outcome.spec is not None
    tree = render(outcome.spec, assemble(outcome.spec))
    for path, key in outcome.keys.items():
        tree.add(f"ansible/files/{path}", key)
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


def _judge_meaning(
    path: Path, document: Document, findings: list[Finding], workspace: Workspace
) -> Outcome:
    from gpugen import checks
    from gpugen.resolve import resolve

    data = document.data
    at_home = workspace.owns(path)
    if at_home and path.parent.name != data["name"]:
        findings.append(_misnamed(path.parent.name, data["name"]))
    spec, more = resolve(data, workspace.catalog, workspace.source_name(path))
    findings += more
    if spec is None:
        return Outcome(path, document, None, findings)
    for check in checks.discover():
        findings += check.run(spec)
    keys, more = workspace.keys(spec) if at_home else ({}, [])
    findings += more
    return Outcome(path, document, spec, findings, keys)


def _misnamed(folder: str, name: Any) -> Finding:
    return Finding(
        "cluster-name-folder",
        f"the cluster's name is {name!r}, but its folder is {folder!r}",
        f"write name: {folder}, or rename the folder; output is written to out/<name>",
        ROOT / "name",
    )

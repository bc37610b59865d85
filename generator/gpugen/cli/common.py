"""What several commands share: the repository, cluster arguments, printing of findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from gpugen.errors import GpugenError, UsageError
from gpugen.load.specs import HIDDEN, INVENTORIES, SPEC
from gpugen.model.finding import Changed, Finding, Severity, is_fatal
from gpugen.pipeline import Outcome
from gpugen.workspace import Workspace, find_root

FOR_PEOPLE = ("text", "github")  # formats that are printed to stderr
F = TypeVar("F", bound=Callable[..., Any])


def root_option(function: F) -> F:
    """Add ``--root``."""
    return click.option(
        "--root",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Root of the repository. Default: the nearest folder at or above the current one"
        " with inventories/.",
    )(function)


def output_option(function: F) -> F:
    """Add ``--output``, the format of findings."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json", "sarif", "github"]),
        default="text",
        show_default=True,
        help="Format of the findings.",
    )(function)


def open_workspace(root: Path | None) -> Workspace:
    """Open the repository at ``--root`` or around the current folder."""
    if root is not None and not (root / INVENTORIES).is_dir():
        raise UsageError(f"{root} has no folder {INVENTORIES}/")
    workspace = Workspace(root.resolve() if root else find_root(Path.cwd()))
    workspace.settings()  # which may require another gpugen
    return workspace


def spec_paths(workspace: Workspace, arguments: Sequence[str]) -> list[Path]:
    """Return the spec files of the cluster arguments; none means all of the repository.

    Raises UsageError: no such cluster or file, or no repository to take all of.
    """
    if arguments:
        return list(dict.fromkeys(_spec_path(workspace, argument) for argument in arguments))
    if workspace.root is None:
        raise UsageError(
            f"no folder {INVENTORIES}/ here or in a parent folder",
            "run 'gpugen init', or give the path of a spec file",
        )
    clusters = workspace.clusters()
    if not clusters and not is_fatal(workspace.seen().findings):
        raise UsageError(
            f"no cluster below {workspace.root / INVENTORIES}",
            f"a cluster is a folder with {SPEC}; 'gpugen init' writes one",
        )
    return [workspace.spec_path(name) for name in clusters]


def _spec_path(workspace: Workspace, argument: str) -> Path:
    """Return the file of one argument; other clusters are read only if it is wrong."""
    if workspace.root and "/" not in argument and not argument.startswith(HIDDEN):
        path = workspace.spec_path(argument)
        if path.is_file():
            return path
    path = Path(argument)
    if path.is_dir() and (path / SPEC).is_file():
        path = path / SPEC
    if path.is_file() or path.is_symlink():
        return path
    raise _unknown_cluster(workspace, argument)


def _unknown_cluster(workspace: Workspace, argument: str) -> UsageError:
    from difflib import get_close_matches

    known = workspace.clusters()
    near = get_close_matches(argument, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"clusters: {', '.join(known[:10]) or 'none'}"
    place = f"{INVENTORIES}/{argument}/"
    unseen = [f for f in workspace.seen().findings if f"{f.message} ".startswith(place)]
    if unseen:
        hint = f"{unseen[0].message}; {unseen[0].hint}"
    return UsageError(f"no cluster and no file {argument!r}", hint)


def complete_clusters(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the clusters that begin with the typed text, for shell completion."""
    root = ctx.params.get("root")
    workspace = Workspace(root if isinstance(root, Path) else find_root(Path.cwd()))
    try:
        return [name for name in workspace.clusters() if name.startswith(incomplete)]
    except GpugenError:
        return []  # the command itself reports what cannot be read


def print_findings(
    outcomes: Sequence[Outcome],
    workspace: Workspace,
    output: str,
    *,
    ending: str = "",
    extra: Sequence[Finding] = (),
    changes: Sequence[Changed] | None = None,
) -> None:
    """Print all findings: text and annotations to stderr, JSON and SARIF to stdout.

    extra: findings that belong to no spec. changes: of the output, for JSON.
    """
    from gpugen.report import render_findings

    text = render_findings(
        [o._replace(findings=workspace.weighed(o.findings)) for o in outcomes],
        output,
        extra=[*_of_repository(workspace), *workspace.weighed(extra)],
        ending=ending,
        explained=_meaning,
        changes=changes,
    )
    if text:
        click.echo(text, err=output in FOR_PEOPLE, nl=False, color=True)


def _meaning(id: str) -> str:
    from gpugen.report.explanations import findings

    found = findings().get(id)
    return found.text if found else id


def has_errors(
    outcomes: Sequence[Outcome],
    workspace: Workspace,
    *,
    strict: bool = False,
    extra: Sequence[Finding] = (),
) -> bool:
    """Tell whether any finding stops the run; with ``strict`` warnings do, too."""
    findings = workspace.weighed([*(f for o in outcomes for f in o.findings), *extra])
    findings += _of_repository(workspace)
    return any((strict or f.severity is Severity.ERROR) and not f.suppressed for f in findings)


def _of_repository(workspace: Workspace) -> list[Finding]:
    """Return what is wrong with the repository's catalogue and with its gpugen.yaml."""
    settings = workspace.settings()
    return workspace.weighed(workspace.catalog.findings()) + (settings.findings if settings else [])


def compare_fleet(outcomes: Sequence[Outcome], workspace: Workspace) -> None:
    """Add the findings about what clusters of this repository must not share."""
    from gpugen.checks import fleet

    ours = {o.path.resolve(): o for o in outcomes if workspace.owns(o.path)}
    if len(ours) < 2 or workspace.root is None:
        return
    own = list(ours.values())
    turns = range(max(len(outcome.readings) for outcome in own))
    found = [list(fleet.compare([_read(o, n) for o in own], workspace.root)) for n in turns]
    for number, finding in found[0] if found else ():
        if all((number, finding) in others for others in found):
            own[number].findings.append(finding)


def _read(outcome: Outcome, number: int) -> Outcome:
    """Return an outcome whose spec is one of its readings, if it has any."""
    readings = outcome.readings
    return outcome._replace(spec=readings[number % len(readings)] if readings else None)

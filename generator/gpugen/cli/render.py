"""``gpugen render``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click

from gpugen import write
from gpugen.cli.common import (
    complete_clusters,
    has_errors,
    open_workspace,
    output_option,
    print_findings,
    root_option,
    spec_paths,
)
from gpugen.errors import ExitCode, UsageError
from gpugen.pipeline import Outcome, Workspace

ROLE = re.compile(r"ansible/roles/(?P<role>[a-z_]+)/meta/argument_specs\.yml")


_DONE = {  # what became of paths that were not as they had been written
    write.Kind.EDITED: "overwritten",
    write.Kind.MISSING: "restored",
    write.Kind.FOREIGN: "taken over",
}


_REFUSED = (write.Kind.EDITED, write.Kind.REPLACED_BY_LINK)


@click.command("render")
@click.argument("clusters", nargs=-1, metavar="[CLUSTER]...", shell_complete=complete_clusters)
@click.option("--check", is_flag=True, help="Write nothing; exit 3 if out/ differs from the specs.")
@click.option("--diff", is_flag=True, help="Write nothing; print how out/ would change.")
@click.option("--force", is_flag=True, help="Take over files that were edited or are not ours.")
@click.option("--prune", is_flag=True, help="Delete the output of clusters whose spec is gone.")
@click.option("--verify", is_flag=True, help="Hold every object against the Kubernetes client.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to render into; default: out/ below the root.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print findings only.")
@output_option
@root_option
def command(
    clusters: tuple[str, ...],
    check: bool,
    diff: bool,
    force: bool,
    prune: bool,
    verify: bool,
    out: Path | None,
    quiet: bool,
    output: str,
    root: Path | None,
) -> int:
    """Render specs into out/<cluster>; none means all clusters.

    Nothing is written for any cluster while one of those asked for has an error. Files that were
    edited by hand, or that gpugen did not write, stop the run before a byte is written.
    """
    workspace = open_workspace(root)
    folder = out if out is not None else (workspace.root or Path()) / "out"
    paths = _paths(workspace, clusters, folder)
    for path in paths:
        if not workspace.owns(path):
            raise UsageError(
                f"{path} is not a cluster of this repository",
                "render takes clusters below inventories/; 'gpugen validate' judges any file",
            )
    outcomes = [workspace.judge(path) for path in paths]
    wrong = has_errors(outcomes, workspace)
    ending = "; nothing written" if wrong else ""
    print_findings(outcomes, workspace, output, ending=ending)
    if wrong:
        return ExitCode.SPEC_IS_WRONG
    if verify:
        _verify(outcomes)
    if check or diff:
        return _compare(workspace, outcomes, folder, whole=not clusters, check=check, diff=diff)
    with write.Lock(folder) as lock:
        for outcome in outcomes:
            _write(workspace, outcome, lock, folder, force=force, quiet=quiet)
        if not clusters:
            _orphans(workspace, folder, lock, prune=prune, force=force, quiet=quiet)
    return ExitCode.DONE


def _paths(workspace: Workspace, clusters: Sequence[str], folder: Path) -> list[Path]:
    """Return the specs to render: none where the last is gone and output of it is left."""
    if not clusters and workspace.root and not workspace.clusters() and write.orphans(folder, []):
        return []
    return spec_paths(workspace, clusters)


def _verify(outcomes: Sequence[Outcome]) -> None:
    """Hold every object of the plans against the client's models. Raises AssertionError: a bug."""
    from gpugen.conform import fault
    from gpugen.plan import plan

    for outcome in outcomes:
        assert outcome.spec is not None
        for placed in plan(outcome.spec).objects:
            found = fault(placed.object)
            name = f"{placed.object['kind']}/{placed.object['metadata']['name']}"
            assert not found, f"{name}: {found}"


def _write(
    workspace: Workspace,
    outcome: Outcome,
    lock: write.Lock,
    folder: Path,
    *,
    force: bool,
    quiet: bool,
) -> None:
    assert outcome.spec is not None
    name = outcome.spec.name
    inputs = workspace.inputs(outcome)
    if write.is_current(folder, name, inputs):
        changes: list[write.Change] = []
    else:
        tree = workspace.build(outcome)
        source = outcome.spec.source
        changes = write.write(
            tree, folder, name, inputs=inputs, spec_source=source, force=force, lock=lock
        )
    _departures(changes, folder, name)
    if not quiet:
        click.echo(f"{name}: {_summary(changes)}", err=True)


def _departures(changes: Sequence[write.Change], folder: Path, name: str) -> None:
    """Say which roles the spec asks for no more: what they did stays on the hosts."""
    gone = [
        match["role"]
        for change in changes
        if change.kind is write.Kind.DELETED and (match := ROLE.fullmatch(change.path))
    ]
    if gone:
        out = f"{folder.name}/{name}"
        click.echo(
            f"warning [role-without-spec] {out}: the spec asks for {', '.join(gone)} no more, and"
            f" hosts keep what was done there\n"
            f"    hint to take it back, in {out}/ansible as it was before (git stash):"
            f" ansible-playbook remove.yml --tags {','.join(gone)} -e gpugen_remove=true",
            err=True,
        )


def _told(changes: Sequence[write.Change]) -> Sequence[write.Change]:
    """Return the changes without the index, which follows them, unless it stands alone."""
    return [change for change in changes if change.path != write.INDEX] or changes


def _summary(changes: Sequence[write.Change], words: Mapping[write.Kind, str] = _DONE) -> str:
    """Count the changes by kind."""
    if not changes:
        return "unchanged"
    kinds = [words.get(change.kind, str(change.kind)) for change in _told(changes)]
    if _told(changes)[0].path == write.INDEX:
        return "unchanged, index renewed"
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))


def _compare(
    workspace: Workspace,
    outcomes: Sequence[Outcome],
    folder: Path,
    *,
    whole: bool,
    check: bool,
    diff: bool,
) -> int:
    """Compare without writing; say what differs, and under ``--diff`` how."""
    kinds: set[write.Kind] = set()
    is_orphaned = False
    for outcome in outcomes:
        assert outcome.spec is not None
        name = outcome.spec.name
        tree = workspace.build(outcome)
        changes = write.compare(tree, folder, name, None)  # another gpugen is no drift
        kinds.update(change.kind for change in changes)
        _departures(changes, folder, name)
        if diff:
            for line in write.diff(tree, folder, name, shown=f"{folder.name}/{name}"):
                click.echo(line)
        else:
            for change in _told(changes):
                click.echo(f"{folder.name}/{name}/{change.path}: {change.kind}", err=True)
    if whole:
        for name in write.orphans(folder, workspace.clusters()):
            click.echo(f"{folder.name}/{name}: its spec is gone; --prune deletes it", err=True)
            is_orphaned = True
    differs = bool(kinds) or is_orphaned
    if differs and check:
        click.echo(
            f"{folder.name}/ differs from the specs; {_advice(kinds, is_orphaned)}", err=True
        )
    return ExitCode.DIFFERENCE if differs and check else ExitCode.DONE


def _advice(kinds: Collection[write.Kind], is_orphaned: bool) -> str:
    """Say what makes the output what the specs say."""
    force = " --force" * any(kind in _REFUSED for kind in kinds) + " --prune" * is_orphaned
    foreign = "delete what is foreign" * (write.Kind.FOREIGN in kinds)
    if foreign and len(kinds) == 1 and not is_orphaned:
        return foreign
    return f"run 'gpugen render{force}' and commit" + f"; {foreign}" * bool(foreign)


def _orphans(
    workspace: Workspace,
    folder: Path,
    lock: write.Lock,
    *,
    prune: bool,
    force: bool,
    quiet: bool,
) -> None:
    for name in write.orphans(folder, workspace.clusters()):
        if not prune:
            click.echo(
                f"warning [output-without-spec] {folder.name}/{name} has no spec any more\n"
                "    hint 'gpugen render --prune' deletes what gpugen wrote there",
                err=True,
            )
            continue
        changes = write.prune(folder, name, force=force, lock=lock)
        if not quiet:
            words = {**_DONE, write.Kind.FOREIGN: "left alone"}
            click.echo(f"{name}: {_summary(changes, words)}", err=True)

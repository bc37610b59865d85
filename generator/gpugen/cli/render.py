"""``gpugen render``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gpugen import pipeline, write
from gpugen.cli.common import (
    FOR_PEOPLE,
    compare_fleet,
    complete_clusters,
    has_errors,
    open_workspace,
    output_option,
    print_findings,
    root_option,
    spec_paths,
)
from gpugen.cli.comparing import Comparison, compare
from gpugen.cli.running import Options, Run, below, show, write_all
from gpugen.errors import ExitCode, UsageError
from gpugen.hosts.collection import SHARED
from gpugen.pipeline import Outcome
from gpugen.workspace import Workspace


@click.command("render")
@click.argument("clusters", nargs=-1, metavar="[CLUSTER]...", shell_complete=complete_clusters)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit 3 if out/ differs from the specs or contains foreign files.",
)
@click.option("--diff", is_flag=True, help="Write nothing; print the changes of out/ as a diff.")
@click.option(
    "--force", is_flag=True, help="Overwrite files that were edited or that gpugen did not write."
)
@click.option(
    "--overwrite",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Overwrite this edited file, such as out/lab/ansible/site.yml; repeatable.",
)
@click.option(
    "--prune",
    is_flag=True,
    help="Delete the output of clusters without a spec, except ansible/ with its remove.yml.",
)
@click.option(
    "--hosts-clean",
    metavar="CLUSTER",
    multiple=True,
    help="With --prune: also delete this cluster's ansible/, because its remove.yml has run.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors; then nothing is written.")
@click.option(
    "--verify", is_flag=True, help="Validate every object against the Kubernetes client's models."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to render into. Default: out/ below the root.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only findings.")
@output_option
@root_option
def command(
    clusters: tuple[str, ...],
    check: bool,
    diff: bool,
    force: bool,
    overwrite: tuple[Path, ...],
    prune: bool,
    hosts_clean: tuple[str, ...],
    strict: bool,
    verify: bool,
    out: Path | None,
    quiet: bool,
    output: str,
    root: Path | None,
) -> int:
    """Render specs into out/<cluster>; without CLUSTER, all of them.

    If one of the clusters has an error, nothing is written. A file that was edited by hand, or that
    gpugen did not write, is never overwritten unless --overwrite names it or --force is given: the
    run stops before it writes anything. Other foreign files in out/ are reported and never touched;
    --check exits 3 for them. Only a run for all clusters checks for foreign files beside them, for
    clusters without a spec, and for what clusters must not share.
    """
    options = Options(check, diff, force, overwrite, prune, hosts_clean, strict, quiet, output)
    _refuse(options, clusters)
    workspace = open_workspace(root)
    folder = out if out is not None else (workspace.root or Path()) / "out"
    _refuse_overwrite(overwrite, folder, (*(clusters or workspace.clusters()), SHARED))
    outcomes = [pipeline.run(path, workspace) for path in _paths(workspace, clusters, folder)]
    compare_fleet(outcomes, workspace)
    unseen = () if clusters else workspace.seen().findings
    if has_errors(outcomes, workspace, extra=unseen):
        print_findings(outcomes, workspace, output, extra=unseen, ending="; nothing written")
        return ExitCode.SPEC_IS_WRONG
    if verify:
        _verify(outcomes)
    found = compare(
        workspace, outcomes, folder, whole=not clusters, for_writing=not options.compares
    )
    _refuse_hosts_clean(hosts_clean, found)
    run = Run(workspace, outcomes, options, found, unseen)
    return show(run) if options.compares else write_all(run)


def _refuse(options: Options, clusters: Sequence[str]) -> None:
    """Reject combinations of options without effect. Raises UsageError."""
    if options.prune and clusters:
        raise UsageError("--prune works on all of out/", "do not name clusters")
    if options.overwrite and options.compares:
        raise UsageError(
            "--overwrite writes; --check and --diff write nothing", "remove one of them"
        )
    if options.prune and options.compares:
        raise UsageError("--prune deletes; --check and --diff write nothing", "remove one of them")
    if options.hosts_clean and not options.prune:
        raise UsageError("--hosts-clean needs --prune", "write --prune --hosts-clean ...")
    if options.diff and options.output not in FOR_PEOPLE:
        raise UsageError(
            "--diff prints text only", f"write --check --output {options.output} for programs"
        )


def _refuse_overwrite(paths: Sequence[Path], folder: Path, clusters: Sequence[str]) -> None:
    """Refuse to take over what is no file of a cluster that is rendered. Raises UsageError."""
    for path in paths:
        if not any(below(path, folder / name) for name in clusters):
            raise UsageError(
                f"--overwrite {path} is no file of a cluster that is rendered",
                f"name it as the message does, with its folder: {folder}/CLUSTER/...",
            )


def _refuse_hosts_clean(names: Sequence[str], found: Comparison) -> None:
    for name in names:
        if name not in found.orphans or name in found.hidden:
            raise UsageError(
                f"{name!r} is not a cluster without a spec",
                (
                    "clusters without a spec:"
                    f" {', '.join(n for n in found.orphans if n not in found.hidden)}"
                )
                if found.orphans
                else "--hosts-clean needs the name of a cluster whose output --prune deletes",
            )


def _paths(workspace: Workspace, clusters: Sequence[str], folder: Path) -> list[Path]:
    """Return the specs to render: none if the last one is gone but its output remains.

    Raises UsageError: one is no cluster of this repository.
    """
    is_empty = not clusters and workspace.root and not workspace.clusters()
    if is_empty and write.surroundings(folder, []).orphans:
        return []
    paths = spec_paths(workspace, clusters)
    for path in paths:
        if not workspace.owns(path):
            raise UsageError(
                f"{path} is not a cluster of this repository",
                "render works on clusters below inventories/; 'gpugen validate' accepts any file",
            )
    return paths


def _verify(outcomes: Sequence[Outcome]) -> None:
    """Validate every object against the client's models. Raises AssertionError: a bug."""
    from gpugen.assemble import assemble
    from gpugen.kube.conform import difference

    for outcome in outcomes:
        assert outcome.spec is not None
        for placed in assemble(outcome.spec).objects:
            found = difference(placed.object)
            name = f"{placed.object['kind']}/{placed.object['metadata']['name']}"
            assert not found, f"{name}: {found}"

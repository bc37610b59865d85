"""``gpugen validate``."""

from __future__ import annotations

from pathlib import Path

import click

from gpugen import pipeline
from gpugen.cli.common import (
    compare_fleet,
    complete_clusters,
    has_errors,
    open_workspace,
    output_option,
    print_findings,
    root_option,
    spec_paths,
)
from gpugen.errors import ExitCode


@click.command("validate")
@click.argument("clusters", nargs=-1, metavar="[CLUSTER|FILE]...", shell_complete=complete_clusters)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@output_option
@root_option
def command(clusters: tuple[str, ...], strict: bool, output: str, root: Path | None) -> int:
    """Validate specs: schema, then all semantic checks; every finding that can be known at once.

    CLUSTER is a folder below inventories/, FILE any spec; without arguments, all clusters. Clusters
    of one run are also compared: a host, or a Kubernetes cluster, must be in one spec only.
    """
    workspace = open_workspace(root)
    outcomes = [pipeline.run(path, workspace) for path in spec_paths(workspace, clusters)]
    compare_fleet(outcomes, workspace)
    extra = () if clusters else workspace.seen().findings
    failed = has_errors(outcomes, workspace, strict=strict, extra=extra)
    print_findings(outcomes, workspace, output, extra=extra)
    if output == "text" and not extra and not any(outcome.findings for outcome in outcomes):
        many = f"{len(outcomes)} specs" if len(outcomes) > 1 else "1 spec"
        click.echo(f"{many}: no findings", err=True)
    return ExitCode.SPEC_IS_WRONG if failed else ExitCode.DONE

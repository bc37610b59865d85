"""``gpugen simulate``: a cluster's nodes, simulated by KWOK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from gpugen import pipeline
from gpugen.cli.common import (
    complete_clusters,
    has_errors,
    open_workspace,
    print_findings,
    root_option,
    spec_paths,
)
from gpugen.errors import ExitCode, NotOursError, UsageError
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree
from gpugen.pipeline import Outcome

STAGES = "kwok-stages.yaml"
KUSTOMIZATION = "kustomization.yaml"


@click.command("simulate")
@click.argument("cluster", shell_complete=complete_clusters)
@click.option("--nodes", type=click.IntRange(min=1), metavar="N", help="At most N nodes per pool.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write a file per node and a kustomization.yaml into this folder instead of printing.",
)
@click.option(
    "--with-stages",
    is_flag=True,
    help="Add the stages that a kwok without its default configuration needs.",
)
@root_option
def command(
    cluster: str, nodes: int | None, output: Path | None, with_stages: bool, root: Path | None
) -> int:
    """Print a cluster's nodes as Node objects for KWOK, to try workloads and GitOps without GPUs.

    \b
    gpugen simulate lab --nodes 2 | kubectl --context kwok-gpu create -f -

    The nodes have the names of the real ones: apply them only to a test cluster.
    """
    workspace = open_workspace(root)
    (path,) = spec_paths(workspace, [cluster])
    outcome = pipeline.run(path, workspace)
    wrong = has_errors([outcome], workspace)
    print_findings([outcome], workspace, "text", ending="; nothing simulated" if wrong else "")
    if wrong:
        return ExitCode.SPEC_IS_WRONG
    assert outcome.spec is not None
    files = {f"node-{name}.yaml": text for name, text in _nodes(outcome.spec, nodes)}
    if output is not None:
        return _write(outcome, files, output, with_stages=with_stages)
    _print(outcome.spec, files, with_stages=with_stages)
    return ExitCode.DONE


def _nodes(spec: ClusterSpec, most: int | None) -> Iterator[tuple[str, str]]:
    """Yield the name and the YAML text of every node."""
    from gpugen.assemble import assemble
    from gpugen.render.simulation import nodes
    from gpugen.text.yaml import to_yaml

    for node in nodes(spec, assemble(spec), most):
        yield node["metadata"]["name"], to_yaml(node)


def _print(spec: ClusterSpec, files: dict[str, str], *, with_stages: bool) -> None:
    from gpugen.kube import header
    from gpugen.render.simulation import stages

    texts = [*([stages()] if with_stages else []), *files.values()]
    click.echo(header(spec) + "---\n".join(texts), nl=False)


def _write(
    outcome: Outcome,
    files: dict[str, str],
    folder: Path,
    *,
    with_stages: bool,
) -> int:
    """Write the folder like ``render``: what gpugen did not write there is not touched.

    Raises NotOursError: something else is there. UsageError: the folder has no usable name.
    """
    from gpugen import write

    assert outcome.spec is not None
    place = folder.absolute()
    if place.name.startswith(".") or not place.name:
        raise UsageError(f"cannot write into {folder}", "choose a folder that is not hidden")
    if any("/" in path for path in write.listed(place.parent, place.name)):
        raise NotOursError(f"{folder} contains rendered output", "choose another folder")
    try:
        changes = write.write(
            _tree(outcome.spec, files, with_stages=with_stages),
            place.parent,
            place.name,
        )
    except NotOursError as error:
        raise NotOursError(error.message, "move them away, or choose another folder") from error
    click.echo(f"{folder}: {len(files)} nodes, {len(changes)} files changed", err=True)
    return ExitCode.DONE


def _tree(spec: ClusterSpec, files: dict[str, str], *, with_stages: bool) -> Tree:
    from gpugen.kube import header
    from gpugen.render.simulation import stages
    from gpugen.text.yaml import to_yaml

    head = header(spec)
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": sorted(files),
    }
    tree = Tree()
    for path, text in {KUSTOMIZATION: to_yaml(kustomization), **files}.items():
        tree.add(path, head + text)
    if with_stages:
        tree.add(STAGES, head + stages())
    return tree

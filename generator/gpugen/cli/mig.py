"""``gpugen mig``: check, list and solve MIG layouts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from gpugen.catalog import UnknownRow
from gpugen.cli.common import open_workspace, root_option
from gpugen.errors import ExitCode, UsageError
from gpugen.gpu import mig
from gpugen.model.catalog import MigGeometry

MOST_GPUS = 16  # of a node


def _complete_models(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the GPU models with MIG, for shell completion."""
    from gpugen.catalog import Catalog

    known = Catalog()
    ids = [name for name in known.gpu_ids() if name.startswith(incomplete)]
    return [name for name in ids if known.gpu(name).geometry is not None]


@click.group("mig")
def command() -> None:
    """Check, list and solve MIG layouts of a GPU model, by its placements."""


@command.command("check", short_help="Check whether MIG instances fit together on one GPU.")
@click.argument("model", shell_complete=_complete_models)
@click.argument("profiles", nargs=-1, required=True, metavar="PROFILE=COUNT...")
@root_option
def check(model: str, profiles: tuple[str, ...], root: Path | None) -> int:
    """Check whether MIG instances fit together on one GPU; if not, print what fits and exit 1.

    \b
    gpugen mig check a100-sxm4-40gb 3g.20gb=1 1g.5gb=4
    """
    geometry = _geometry(model, root)
    asked = _layout(profiles)
    answer = mig.fit(geometry, asked)
    if isinstance(answer, mig.Placement):
        places = ", ".join(f"{i.profile}@{i.start}" for i in answer.instances)
        click.echo(f"{mig.spelled(asked)} fits {model}: {places}")
        return ExitCode.DONE
    why = answer.message.removeprefix(f"{mig.spelled(asked)}, but ")
    click.echo(f"{mig.spelled(asked)} does not fit {model}: {why}")
    for layout in mig.nearest(geometry, asked):
        click.echo(f"    fits: {mig.spelled(layout)}")
    return ExitCode.SPEC_IS_WRONG


@command.command("list", short_help="List profiles and full layouts of a GPU model.")
@click.argument("model", shell_complete=_complete_models)
@click.option("--all", "every", is_flag=True, help="List all layouts, not only the full ones.")
@root_option
def list_layouts(model: str, every: bool, root: Path | None) -> int:
    """List a GPU model's profiles, and its full layouts: those to which nothing can be added."""
    geometry = _geometry(model, root)
    click.echo(f"{model}: geometry {geometry.id}, confidence {geometry.confidence}")
    click.echo(
        f"  {'profile':<14}{'compute':>8}{'memory':>8}{'most':>6}  resource (strategy mixed)"
    )
    for name, row in geometry.profiles.items():
        click.echo(
            f"  {name:<14}{row.compute:>8}{row.memory_slices:>8}{row.max_count:>6}"
            f"  {mig.resource_name(name)}"
        )
    layouts = list(mig.layouts(geometry)) if every else mig.maximal_layouts(geometry)
    click.echo(f"{'layouts' if every else 'full layouts'}:")
    for layout in layouts:
        click.echo(f"  {mig.spelled(layout)}")
    return ExitCode.DONE


@command.command("solve", short_help="Place MIG instances on as few GPUs as possible.")
@click.argument("model", shell_complete=_complete_models)
@click.argument("profiles", nargs=-1, required=True, metavar="PROFILE=COUNT...")
@click.option(
    "--gpus",
    type=click.IntRange(1, MOST_GPUS),
    help="GPUs per node, all of which the layout lists. Default: as few as needed.",
)
@root_option
def solve(model: str, profiles: tuple[str, ...], gpus: int | None, root: Path | None) -> int:
    """Place MIG instances on as few GPUs as possible, and print the layout.

    \b
    gpugen mig solve h100-sxm5-80gb 3g.40gb=3 1g.10gb=10 --gpus 8
    """
    geometry = _geometry(model, root)
    demand = _layout(profiles)
    unknown = [name for name in demand if name not in geometry.profiles]
    if unknown:
        click.echo(f"{model} has no profile {unknown[0]}; it has {', '.join(geometry.profiles)}")
        return ExitCode.SPEC_IS_WRONG
    layouts = mig.pack(geometry, demand, MOST_GPUS)
    if layouts is None or (gpus is not None and len(layouts) > gpus):
        many = (
            f"needs {len(layouts)} GPUs of" if layouts else f"needs more than {MOST_GPUS} GPUs of"
        )
        node = f", but a node has {gpus}" if gpus is not None else ""
        click.echo(f"{mig.spelled(demand)} {many} {model}{node}")
        return ExitCode.SPEC_IS_WRONG
    count = gpus or len(layouts)
    layouts += [{}] * (count - len(layouts))  # every GPU of the node is listed, also a whole one
    used = sum(1 for layout in layouts if layout)
    click.echo(f"# {mig.spelled(demand)} on {used} of {count} GPUs of {model}: count: {count}")
    click.echo("layout:")
    first = 0
    for layout, group in groupby(layouts):
        last = first + len(list(group))
        click.echo(f"  - {{gpus: {list(range(first, last))}, profiles: {_flow(layout)}}}")
        first = last
    return ExitCode.DONE


def _flow(layout: Mapping[str, int]) -> str:
    return "{" + ", ".join(f"{name}: {count}" for name, count in layout.items()) + "}"


def _geometry(model: str, root: Path | None) -> MigGeometry:
    """Find a model's geometry. Raises UsageError: no such model, or it has none."""
    try:
        gpu = open_workspace(root).catalog.gpu(model)
    except UnknownRow as unknown:
        hint = unknown.meant.rstrip(";") or "'gpugen catalog gpus' lists them"
        raise UsageError(unknown.message, hint) from unknown
    if gpu.geometry is None:
        what = "the MIG profiles are not documented" if gpu.is_mig_capable else "it has no MIG"
        raise UsageError(f"{model} cannot be partitioned: {what}")
    return gpu.geometry


def _layout(arguments: tuple[str, ...]) -> dict[str, int]:
    """Read ``PROFILE=COUNT`` arguments. Raises UsageError: not of that form."""
    result: dict[str, Any] = {}
    for argument in arguments:
        name, separator, count = argument.partition("=")
        if not separator or not count.isascii() or not count.isdigit() or not 0 < int(count) < 1000:
            raise UsageError(f"{argument!r} is not PROFILE=COUNT", "for example 1g.5gb=7")
        if name in result:
            raise UsageError(f"duplicate profile {name!r}")
        result[name] = int(count)
    return result

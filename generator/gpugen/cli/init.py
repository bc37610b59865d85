"""``gpugen init``: a starter repository."""

from __future__ import annotations

import re
from pathlib import Path

import click

from gpugen.catalog import Catalog, UnknownRow
from gpugen.errors import ExitCode, GpugenError, UsageError
from gpugen.text.spelling import quoted

EXAMPLE = "gpugen @ git+https://git.example/gpugen@<commit>"
LEFT_OUT = (
    "because nothing says where others get this very gpugen from;\n"
    f"    the same command with --requirement '{EXAMPLE}' adds them"
)


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@click.option("--cluster", default="lab", show_default=True, help="Name of the first cluster.")
@click.option("--model", default="l4", show_default=True, help="GPU model of its first pool.")
@click.option(
    "--count", type=click.IntRange(1, 16), default=1, show_default=True, help="GPUs per host."
)
@click.option("--hosts", default="gpu-[01:02].example", show_default=True, help="A host or range.")
@click.option(
    "--requirement",
    metavar="REQ",
    default="",
    help="What pip finds gpugen by, in the pre-commit and CI files; default: how this one was"
    " installed, where that names a commit or an archive with its hash.",
)
def command(
    folder: Path, cluster: str, model: str, count: int, hosts: str, requirement: str
) -> int:
    """Write a starter repository: a spec, its schema for editors, pre-commit and CI files.

    Files that exist are left alone. The spec states the current driver and toolkit versions.
    Without a requirement the pre-commit and CI files are left out.

    Example: gpugen init gpu --cluster train --model h100-sxm5-80gb --count 8
    """
    from gpugen.cli.schema import editor_schema
    from gpugen.cli.starter import INSTALLING, files, starter
    from gpugen.cli.starter.installed import installed, unfit
    from gpugen.resolve import root_schema

    defs = root_schema()["$defs"]
    for value, kind in ((cluster, "clusterName"), (hosts, "hostPattern")):
        if not re.search(defs[kind]["pattern"], value):
            raise UsageError(f"{value!r} is not {defs[kind]['x-wanted']}")
    if requirement and (why := unfit(requirement)):
        raise UsageError(f"{quoted(requirement)} {why}", f"for example {EXAMPLE!r}")
    try:
        values = starter(Catalog(), cluster, model, count, hosts, requirement or installed())
    except UnknownRow as unknown:
        hint = unknown.meant or "'gpugen catalog gpus' lists them"
        raise UsageError(f"no GPU model {model!r} in the catalogue", hint) from unknown
    written = dict(files(values))
    written["schemas/cluster.editor.schema.json"] = editor_schema()
    for path, text in written.items():
        _write(folder / path, path, text)
    click.echo(
        "keys of the vendor's packages, for 'repositories: vendor', are fetched by:", err=True
    )
    for line in values.key_commands:
        click.echo(f"  {line}", err=True)
    if not values.requirement:
        click.echo(f"{' and '.join(INSTALLING)}: left out, {LEFT_OUT}", err=True)
    click.echo(f"next: edit inventories/{cluster}/cluster.yaml, then 'gpugen render'", err=True)
    return ExitCode.DONE


def _write(target: Path, path: str, text: str) -> None:
    """Write one file if nothing stands there. Raises GpugenError: the folder cannot be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        click.echo(f"{path}: exists, left alone", err=True)
    except OSError as error:
        raise GpugenError(f"{target}: {error.strerror}") from error
    else:
        click.echo(f"{path}: written", err=True)

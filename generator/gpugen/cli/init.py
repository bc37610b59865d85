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
    "because it is not known where others can install this gpugen from;\n    run the same"
    f" command with --requirement '{EXAMPLE}' to add them"
)


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@click.option("--cluster", default="lab", show_default=True, help="Name of the first cluster.")
@click.option("--model", default="l4", show_default=True, help="GPU model of its first pool.")
@click.option(
    "--count", type=click.IntRange(1, 16), default=1, show_default=True, help="GPUs per host."
)
@click.option(
    "--hosts",
    default="gpu-[01:02].example",
    show_default=True,
    help="A host name, or a range of them.",
)
@click.option(
    "--requirement",
    metavar="REQ",
    default="",
    help="pip requirement of gpugen for the pre-commit and CI files. Default: where this gpugen"
    " was installed from, if that is a commit or an archive with its hash.",
)
def command(
    folder: Path, cluster: str, model: str, count: int, hosts: str, requirement: str
) -> int:
    """Write a starter repository: a spec, schemas for editors, pre-commit and CI files.

    Existing files are not changed. The spec states the current driver and toolkit versions. Without
    a requirement, pre-commit and CI files are not written.

    Example: gpugen init gpu --cluster train --model h100-sxm5-80gb --count 8
    """
    from gpugen.cli.schema import editor_schema, repository_schema
    from gpugen.cli.starter import INSTALLING, files, starter
    from gpugen.cli.starter.installed import installed, unfit
    from gpugen.resolve import root_schema

    defs = root_schema()["$defs"]
    for value, kind in ((cluster, "clusterName"), (hosts, "hostPattern")):
        if not re.search(defs[kind]["pattern"], value):
            raise UsageError(f"{value!r} is not {defs[kind]['x-expected']}")
    if requirement and (why := unfit(requirement)):
        raise UsageError(f"{quoted(requirement)} {why}", f"for example {EXAMPLE!r}")
    try:
        values = starter(Catalog(), cluster, model, count, hosts, requirement or installed())
    except UnknownRow as unknown:
        hint = unknown.meant.rstrip(";") or "'gpugen catalog gpus' lists them"
        raise UsageError(unknown.message, hint) from unknown
    written = dict(files(values))
    written["schemas/cluster.editor.schema.json"] = editor_schema()
    written["schemas/repository.editor.schema.json"] = repository_schema()
    for path, text in written.items():
        _write(folder / path, path, text)
    click.echo("fetch the vendor's signing keys for 'repositories: vendor' with:", err=True)
    for line in values.key_commands:
        click.echo(f"  {line}", err=True)
    if not values.requirement:
        click.echo(f"{' and '.join(INSTALLING)}: not written, {LEFT_OUT}", err=True)
    click.echo(f"next: edit inventories/{cluster}/cluster.yaml, then 'gpugen render'", err=True)
    return ExitCode.DONE


def _write(target: Path, path: str, text: str) -> None:
    """Write one file if it does not exist. Raises GpugenError: the folder cannot be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        click.echo(f"{path}: exists, not changed", err=True)
    except OSError as error:
        raise GpugenError(f"{target}: {error.strerror}") from error
    else:
        click.echo(f"{path}: written", err=True)

"""``gpugen catalog``: rows of the catalogue with source and confidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from gpugen.catalog import Catalog, UnknownRow
from gpugen.cli.common import open_workspace, root_option
from gpugen.errors import ExitCode, UsageError

Row = Mapping[str, Any]


Cells = tuple[str, ...]


def _gpu(row: Row) -> Cells:
    total = row.get("memory", {}).get("nvmlMib")
    mig = row.get("mig", {}).get("geometry") or ("" if row.get("mig", {}).get("isCapable") else "-")
    size = f"{total or 'unknown'}{' MiB' * bool(total)}"
    return row["product"], row["architecture"], f"{size:>10}", f"MIG {mig or 'not documented'}"


def _driver(row: Row) -> Cells:
    newest = f"newest known {row['latestKnown']}" if row.get("latestKnown") else "no version known"
    cuda = f"CUDA {row['cuda']}" if row.get("cuda") else "CUDA unknown"
    return newest, cuda, row["status"]


def _support(row: Row) -> Cells:
    return "supported" if row["isSupported"] else "not supported", row.get("reason") or ""


def _kubernetes(row: Row) -> Cells:
    return row["status"], f"end of life {row.get('endOfLife') or 'unknown'}"


def _release(row: Row) -> Cells:
    return (", ".join(f"{name} {_image(image)}" for name, image in row["images"].items()),)


def _image(image: Row) -> str:
    tag = image.get("tag", "by minor")
    return f"{tag} ({'digest known' if 'digest' in image else 'digest unknown'})"


def _geometry(row: Row) -> Cells:
    return (", ".join(row["profiles"]),)


# word of the command line -> section of the catalogue, what a line says of a row
SECTIONS: Mapping[str, tuple[str, Callable[[Row], Cells]]] = {
    "gpus": ("gpus", _gpu),
    "mig": ("migGeometries", _geometry),
    "drivers": ("drivers", _driver),
    "systems": ("operatingSystems", _support),
    "distributions": ("distributions", _support),
    "kubernetes": ("kubernetes", _kubernetes),
    "releases": ("releases", _release),
}


def _complete_names(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the rows of the section that was typed, for shells."""
    section, _ = SECTIONS[ctx.params["section"]]
    return [name for name in Catalog().ids(section) if name.startswith(incomplete)]


@click.command("catalog")
@click.argument("section", type=click.Choice(list(SECTIONS)), required=False, metavar="[SECTION]")
@click.argument("name", required=False, shell_complete=_complete_names)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the rows.",
)
@root_option
def command(section: str | None, name: str | None, output: str, root: Path | None) -> int:
    """List a section of the catalogue, or show one of its rows with sources.

    Sections: gpus, mig, drivers, systems, distributions, kubernetes, releases.

    \b
    gpugen catalog gpus                    a line per GPU model
    gpugen catalog gpus h100-sxm5-80gb     one row, with its sources
    """
    catalog = open_workspace(root).catalog
    if section is None:
        _overview(catalog)
    elif name is None:
        _listing(catalog, section, output)
    else:
        _row(catalog, section, name, output)
    return ExitCode.DONE


def _overview(catalog: Catalog) -> None:
    for word, (section, _) in SECTIONS.items():
        click.echo(f"{word:<15}{len(catalog.ids(section)):>4} rows    gpugen catalog {word}")


def _listing(catalog: Catalog, word: str, output: str) -> None:
    section, cells = SECTIONS[word]
    rows = {key: catalog.row(section, key) for key in catalog.ids(section)}
    if output == "json":
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False, sort_keys=True))
        return
    lines = [(key, *cells(row)) for key, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def _row(catalog: Catalog, word: str, name: str, output: str) -> None:
    """Print one row. Raises UsageError: the catalogue has no such row."""
    section, _ = SECTIONS[word]
    try:
        row = catalog.row(section, name)
    except UnknownRow as unknown:
        raise UsageError(
            f"no {unknown.word} {name!r} in the catalogue",
            unknown.meant or f"'gpugen catalog {word}' lists them",
        ) from unknown
    if output == "json":
        click.echo(json.dumps(row, indent=2, ensure_ascii=False))
        return
    from gpugen.text.yaml import to_yaml

    click.echo(to_yaml({name: row}), nl=False)

"""Reads the catalogue files that gpugen brings."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from gpugen.load import reader

FOLDER = Path(__file__).parent / "data"
FOLDERS = {  # section of a user's file -> folder of our rows
    "gpus": "gpus",
    "migGeometries": "mig",
    "drivers": "drivers",
    "operatingSystems": "operating-systems",
    "distributions": "distributions",
    "releases": "releases",
    "kubernetes": "kubernetes",
}


def parse(text: str) -> Any:
    """Return what a file of the package holds.

    Raises ValueError: it is at fault.
    """
    return reader.data(text)


def shipped(section: str, id: str) -> dict[str, Any] | None:
    """Return the row that gpugen brings; None: there is none of that name."""
    try:
        row = parse(text(section, id))
    except FileNotFoundError:
        return None
    assert isinstance(row, dict)
    return row


def text(section: str, id: str) -> str:
    """Return the file of a row that gpugen brings.

    Raises FileNotFoundError: there is none of that name.
    """
    with open(f"{FOLDER}/{FOLDERS[section]}/{id}.yaml", encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


@cache
def shipped_ids(section: str) -> tuple[str, ...]:
    """List the rows of one section that gpugen brings, sorted."""
    return tuple(
        sorted(
            n.removesuffix(".yaml")
            for n in os.listdir(FOLDER / FOLDERS[section])  # noqa: PTH208 names only
            if n.endswith(".yaml")
        )
    )


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table that has no rows of its own kind, such as packages."""
    content = parse((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content

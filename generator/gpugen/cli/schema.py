"""``gpugen schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from gpugen.errors import ExitCode, GpugenError, UsageError
from gpugen.report import settings


def editor_schema() -> str:
    """Return the schema for editors: the root with the options of every component, as text."""
    from gpugen.validate import combined_schema

    return _text(combined_schema())


def repository_schema() -> str:
    """Return the schema of gpugen.yaml for editors, as text."""
    return _text(settings.schema())


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(_without_words(schema), indent=2, ensure_ascii=False) + "\n"


def _without_words(schema: Any) -> Any:
    """Drop the keywords for gpugen's own findings; they begin with ``x-``."""
    if isinstance(schema, list):
        return [_without_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_words(value) for key, value in schema.items() if not key.startswith("x-")}


@click.command("schema")
@click.option(
    "--of",
    type=click.Choice(["spec", "repository"]),
    default="spec",
    show_default=True,
    help="A cluster's spec, or gpugen.yaml of a repository.",
)
@click.option(
    "--write",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it to this file, such as schemas/cluster.editor.schema.json.",
)
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 3 if the file of --write is out of date."
)
def command(of: str, target: Path | None, check: bool) -> int:
    """Print the JSON Schema with which editors complete and validate specs."""
    text = editor_schema() if of == "spec" else repository_schema()
    if check and target is None:
        raise UsageError("--check needs a file", "give it with --write")
    if target is None:
        click.echo(text, nl=False)
        return ExitCode.DONE
    try:
        is_current = _holds(target, text.encode())
        if check:
            return ExitCode.DONE if is_current else ExitCode.DIFFERENCE
        if not is_current:
            target.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise GpugenError(f"{target}: {error.strerror}") from error
    return ExitCode.DONE


def _holds(target: Path, content: bytes) -> bool:
    """Tell whether a file has exactly this content; not more of it is read."""
    if not target.is_file():
        return False
    with target.open("rb") as file:
        return file.read(len(content) + 1) == content

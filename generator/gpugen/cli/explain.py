"""``gpugen explain``: a check, a field of the spec, or where a value came from."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gpugen.cli.common import open_workspace, root_option
from gpugen.errors import ExitCode, UsageError
from gpugen.model.finding import ROOT, Pointer
from gpugen.pipeline import Workspace


@click.command("explain")
@click.argument("subject")
@click.argument("path", required=False)
@root_option
def command(subject: str, path: str | None, root: Path | None) -> int:
    """Explain a finding's id, a field of the spec, or a value of a cluster.

    \b
    gpugen explain mig-does-not-fit          what a finding means
    gpugen explain pools.mig.layout          a field: type, default, example
    gpugen explain lab pools.notebooks.mig   a value: where it came from, what it overrode
    """
    if path is not None:
        _explain_value(open_workspace(root), subject, path)
    elif not _explain_finding(subject) and not _explain_field(subject):
        from difflib import get_close_matches

        near = get_close_matches(subject, [*_findings(), *_fields()], 3, 0.5)
        raise UsageError(
            f"no finding and no field {subject!r}",
            f"did you mean {' or '.join(near)}?" if near else "for example: explain pools.gpu",
        )
    return ExitCode.DONE


def _findings() -> dict[str, str]:
    """Return the explanation of every id that a finding can carry."""
    from gpugen import checks, explanations

    judged = {check.id: inspect.cleandoc(check.explanation) for check in checks.discover()}
    return {**explanations.of_stages(), **judged}


def _explain_finding(id: str) -> bool:
    from gpugen import checks

    text = _findings().get(id)
    if text is None:
        return False
    found = next((c for c in checks.discover() if c.id == id), None)
    weight = found.severity if found else "error"
    click.echo(f"{id} ({weight})\n\n{text}")
    if found and found.tags:
        click.echo(f"\nknown as {', '.join(found.tags)}")
    return True


def _fields() -> dict[str, dict[str, Any]]:
    """Return every field of the spec by its path without list positions."""
    from gpugen.validate import combined_schema

    root = combined_schema()
    result: dict[str, dict[str, Any]] = {}

    def walk(schema: Mapping[str, Any], path: str, depth: int) -> None:
        schema = _resolved(schema, root)
        if path and path not in result:
            result[path] = dict(schema)
        for part in (*schema.get("oneOf", ()), schema.get("items")):
            if isinstance(part, dict) and depth < 12:
                walk(part, path, depth + 1)
        for key, part in schema.get("properties", {}).items():
            if depth < 12:
                walk(part, f"{path}.{key}".lstrip("."), depth + 1)

    walk(root, "", 0)
    return result


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references; what stands beside a reference wins over its target."""
    target: Any = schema
    merged: dict[str, Any] = {}
    while True:
        merged = {**{k: v for k, v in target.items() if k != "$ref"}, **merged}
        reference = target.get("$ref")
        if not reference:
            return merged
        target = root
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]


def _explain_field(path: str) -> bool:
    fields = _fields()
    schema = fields.get(path.strip(".").replace("[]", ""))
    if schema is None:
        return False
    click.echo(f"{path}\n")
    if "description" in schema:
        click.echo(f"{schema['description']}\n")
    for title, value in _facts(schema):
        click.echo(f"  {title:<9} {value}")
    children = [key for key in fields if key.rpartition(".")[0] == path]
    if children:
        click.echo("\n  fields")
    for key in children:
        text = fields[key].get("description", "")
        click.echo(f"    {key.rpartition('.')[2]:<20} {text}")
    return True


def _facts(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the schema says of a field as short lines."""
    facts = []
    if "enum" in schema:
        facts.append(("values", ", ".join(map(str, schema["enum"]))))
    elif "const" in schema:
        facts.append(("value", str(schema["const"])))
    elif "type" in schema:
        facts.append(("type", str(schema["type"])))
    if "x-wanted" in schema:
        facts.append(("wanted", schema["x-wanted"]))
    if "required" in schema:
        facts.append(("required", ", ".join(schema["required"])))
    if "default" in schema:
        facts.append(("default", json.dumps(schema["default"])))
    facts += [("example", json.dumps(example)) for example in schema.get("examples", ())]
    return facts


def _explain_value(workspace: Workspace, cluster: str, path: str) -> None:
    """Show a value of a cluster, where it was written, and what it overrode.

    Raises UsageError: no such cluster or value.
    """
    from gpugen.cli.common import print_findings, spec_paths
    from gpugen.load import load

    (file,) = spec_paths(workspace, [cluster])
    boundary = workspace.root if workspace.root else file.parent
    document, findings = load(file, boundary, workspace.reader)
    if document is None:
        print_findings([workspace.judge(file)], workspace, "text")
        raise UsageError(f"{file} cannot be read", f"{len(findings)} findings above")
    pointer = _pointer(document.data, path)
    history = document.history(pointer)
    from gpugen.yaml_text import to_yaml

    click.echo(to_yaml({path: _at(document.data, pointer)}), nl=False)
    for rank, origin in enumerate(reversed(history)):
        place = f"{origin.location.path}:{origin.location.line}:{origin.location.column}"
        word = "from" if rank == 0 else "over"
        shown = "" if rank == 0 else f"  {json.dumps(origin.value, ensure_ascii=False)}"
        click.echo(f"# {word} {place}{shown}")


def _pointer(data: Any, path: str) -> Pointer:
    """Translate ``pools.notebooks.mig``; items of a list go by name or by position."""
    pointer = ROOT
    for part in path.strip(".").split("."):
        names: list[str] = []
        if isinstance(data, list):
            names = [str(i["name"]) for i in data if isinstance(i, dict) and "name" in i]
            step: str | int = names.index(part) if part in names else part
            if not (str(step).isdigit() and int(step) < len(data)):
                step = ""
        else:
            names = list(data) if isinstance(data, dict) else []
            step = part if part in names else ""
        if step == "":
            known = ", ".join(names) or "nothing"
            raise UsageError(f"the spec has no {path!r}", f"{pointer or 'it'} has {known}")
        pointer = pointer / step
        data = data[int(step) if isinstance(data, list) else step]
    return pointer


def _at(data: Any, pointer: Pointer) -> Any:
    for part in pointer.parts:
        data = data[int(part)] if isinstance(data, list) else data[part]
    return data

"""``gpugen explain``: a finding, a field of the spec, or where a value comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from gpugen import pipeline
from gpugen.cli.common import complete_clusters, open_workspace, root_option
from gpugen.cli.fields import Field, facts, fields, flow
from gpugen.errors import ExitCode, UsageError
from gpugen.load import Document, Origin
from gpugen.model.finding import ROOT, Pointer
from gpugen.report import settings
from gpugen.report.explanations import findings
from gpugen.text.credentials import masked, masked_lines
from gpugen.workspace import Workspace


@click.command("explain")
@click.argument("subject", shell_complete=complete_clusters)
@click.argument("path", required=False)
@root_option
def command(subject: str, path: str | None, root: Path | None) -> int:
    """Explain a finding's id, a field of the spec, or a value of a cluster.

    \b
    gpugen explain mig-does-not-fit          what a finding means
    gpugen explain pools.mig.layout          a field: type, default, example
    gpugen explain lab pools.notebooks.mig   a value: where it comes from, what it overrides
    gpugen explain lab                       everything a cluster states, with its layers
    gpugen explain gpugen.yaml               the keys of a repository's own settings
    """
    if path is not None:
        _explain_value(open_workspace(root), subject, path)
    elif subject == settings.FILE:
        _explain_settings()
    elif not _explain_finding(subject) and not _explain_field(subject):
        workspace = open_workspace(root)
        if subject not in workspace.clusters():
            raise _unknown_subject(subject, workspace.clusters())
        _explain_value(workspace, subject, "")
    return ExitCode.DONE


def _unknown_subject(subject: str, clusters: Sequence[str]) -> UsageError:
    ending = [name for name in fields() if name.endswith(f".{subject}")]
    near = ending[:3] or get_close_matches(subject, [*findings(), *fields(), *clusters], 3, 0.6)
    return UsageError(
        f"no finding, field or cluster {subject!r}",
        f"did you mean {' or '.join(near)}?" if near else "for example: gpugen explain pools.gpu",
    )


def _explain_settings() -> None:
    rules = settings.schema()
    entry = rules["properties"]["findings"]["items"]["properties"]
    click.echo(f"{settings.FILE}\n\n{rules['description']}\n")
    keys = rules["properties"] | {f"findings[].{key}": rule for key, rule in entry.items()}
    width = max(map(len, keys))
    for key, rule in keys.items():
        click.echo(f"  {key:<{width}}  {rule['description']}")


def _explain_finding(id: str) -> bool:
    explanation = findings().get(id)
    if explanation is None:
        return False
    click.echo(f"{id} ({explanation.severity})\n\n{explanation.text}")
    return True


def _explain_field(path: str) -> bool:
    path = path.strip(".").replace("[]", "")
    known = fields()
    field = known.get(path)
    if field is None:
        return False
    click.echo(f"{path}\n")
    if field.description:
        click.echo(f"{field.description}\n")
    for title, value in facts(field):
        click.echo(f"  {title:<9} {value}")
    children = [child for key, child in known.items() if key.rpartition(".")[0] == path]
    if children:
        click.echo("\n  fields of each entry" if field.is_list else "\n  fields")
    width = max((len(child.name) for child in children), default=0)
    for child in children:
        click.echo(f"    {child.name:<{width}}  {child.description}")
    return True


def _explain_value(workspace: Workspace, cluster: str, path: str) -> None:
    """Show a value of a cluster, where it is written, and what it overrides.

    Raises UsageError: the spec cannot be read, or has no such field.
    """
    from gpugen.cli.common import print_findings, spec_paths
    from gpugen.load import load
    from gpugen.text.yaml import to_yaml

    (file,) = spec_paths(workspace, [cluster])
    boundary = workspace.root if workspace.root else file.parent
    document, unreadable = load(file, boundary, workspace.reader)
    if document is None or unreadable:
        print_findings([pipeline.run(file, workspace)], workspace, "text")
        raise UsageError(f"{file} cannot be read", "see the findings above")
    pointer, field = _pointer(document.data, path)
    if pointer is None:
        _explain_default(cluster, path, field)
        return
    value = _at(document.data, pointer)
    click.echo(masked_lines(to_yaml({path: value} if path else value)), nl=False)
    origins = list(_origins(document, pointer, value))
    width = max(40, *(len(label or path) + 3 for label, _ in origins))
    for label, history in origins:
        *lower, origin = history
        click.echo(f"# {masked(label or path) + ' ':.<{width}} {_place(origin)}")
        for other in reversed(lower):
            former = masked(flow(other.value))
            click.echo(f"#   {'overrides ' + former + ' ':.<{width - 2}} {_place(other)}")


def _explain_default(cluster: str, path: str, field: Field) -> None:
    """Print the default of a field that the spec does not state."""
    if "default" in field.schema:
        click.echo(f"{path}: {flow(field.schema['default'])}\n# default; not stated by {cluster}")
    else:
        click.echo(f"# not stated by {cluster}; {path} has no fixed default")


def _origins(
    document: Document, pointer: Pointer, value: Any, label: str = ""
) -> Iterator[tuple[str, Sequence[Origin]]]:
    """Yield the values of each leaf below a pointer in all files, by its path."""
    steps: list[tuple[str, str | int, Any]] = []
    if isinstance(value, Mapping):
        steps = [(str(key), str(key), item) for key, item in value.items()]
    elif isinstance(value, list) and all(isinstance(i, Mapping) and "name" in i for i in value):
        steps = [(str(item["name"]), index, item) for index, item in enumerate(value)]
    if not steps:
        yield label, document.history(pointer)
    for name, step, item in steps:
        yield from _origins(document, pointer / step, item, f"{label}.{name}".lstrip("."))


def _place(origin: Origin) -> str:
    place = origin.location
    path = Path(place.path)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}:{place.line}:{place.column}"


def _pointer(data: Any, path: str) -> tuple[Pointer | None, Field]:
    """Translate ``pools.notebooks.mig``; items of a list go by name or by position.

    The pointer is None if the spec does not state a known field. Raises UsageError: no such field.
    """
    known = fields()
    pointer: Pointer | None = ROOT
    generic: list[str] = []
    rest = _steps(path)
    while rest:
        if isinstance(data, list) and pointer is not None:
            step, rest = _item(data, rest, pointer)
            pointer, data = pointer / step, data[step]
            continue
        keys = data if isinstance(data, Mapping) and pointer is not None else ()
        part, rest = _longest(rest, keys)
        generic.append(part)
        if pointer is not None and part in keys:
            pointer, data = pointer / part, data[part]
        elif ".".join(generic) in known:
            pointer = None
        else:
            raise _unknown(path, generic, data, known)
    return pointer, known.get(".".join(generic), Field(path, {}, "", False, False))


def _steps(path: str) -> list[str]:
    """Split a path; JSON Pointers of findings (``/pools/0/mig``) are accepted, too."""
    if path.startswith("/"):
        return list(Pointer(path).parts)
    return [step for step in re.sub(r"\[([0-9]*)\]", r".\1", path).split(".") if step]


def _longest(parts: Sequence[str], names: Collection[str]) -> tuple[str, list[str]]:
    """Split off the first step, which may have dots in it as labels and hosts have."""
    for end in range(len(parts), 1, -1):
        if ".".join(parts[:end]) in names:
            return ".".join(parts[:end]), list(parts[end:])
    return parts[0], list(parts[1:])


def _item(items: Sequence[Any], parts: Sequence[str], at: Pointer) -> tuple[int, list[str]]:
    """Return the position of a list's item and the rest. Raises UsageError: there is none."""
    names = {
        str(item["name"]): position
        for position, item in enumerate(items)
        if isinstance(item, Mapping) and "name" in item
    }
    part, rest = _longest(parts, names)
    if part in names:
        return names[part], rest
    if part.isascii() and part.isdigit() and int(part) < len(items):
        return int(part), rest
    spelled = ".".join(at.parts)
    near = get_close_matches(part, names, 1)
    has = f"{spelled} has {', '.join(names)}" if names else f"{spelled} has {len(items)} items"
    raise UsageError(f"{spelled} has no {part!r}", f"did you mean {near[0]!r}?" if near else has)


def _unknown(
    path: str, generic: Sequence[str], data: Any, known: Mapping[str, Field]
) -> UsageError:
    above = ".".join(generic[:-1])
    names = [key.rpartition(".")[2] for key in known if key.rpartition(".")[0] == above]
    names = list(dict.fromkeys([*names, *(data if isinstance(data, Mapping) else ())]))
    near = get_close_matches(generic[-1], names, 1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = (
            f"{above or 'a spec'} has {', '.join(names)}"
            if names
            else f"{above} is a value, without fields"
        )
    return UsageError(f"the spec has no field {path!r}", hint)


def _at(data: Any, pointer: Pointer) -> Any:
    for part in pointer.parts:
        data = data[int(part)] if isinstance(data, list) else data[part]
    return data

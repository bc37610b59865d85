"""The generated parts of docs/: fields of the spec, findings, help of the commands, pictures.

    python tests/tools/reference.py           # rewrites docs/reference/{spec,checks,commands}.md
                                              # and docs/pictures/
    python tests/tools/reference.py --check   # exits 1 where one is stale, and names it

What stands above the mark in a page is written by hand and kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import click

from gpugen.cli import COMMANDS, main
from gpugen.cli.fields import Field, facts, fields
from gpugen.report.explanations import Explanation, findings

ROOT = Path(__file__).parents[2]

DOCS = ROOT / "docs" / "reference"
PICTURES = ROOT / "docs" / "pictures"
CASES = ROOT / "tests" / "checks"
MARK = "<!-- From here on written by tests/tools/reference.py; change the code, not this. -->\n"
GENERIC = ("resources", "annotations")  # alike in every component


def spec_page() -> str:
    """Return a section per block of the spec and per component, each with a table of fields."""
    blocks: dict[str, list[Field]] = {"": []}
    for field in fields().values():
        if field.path == "components":
            continue
        steps = field.path.split(".")
        block = ".".join(steps[:2]) if steps[0] == "components" else steps[0]
        rest = steps[2:] if steps[0] == "components" else steps[1:]
        if rest or _has_block(field):
            blocks.setdefault(block, []).append(field)
        else:
            blocks[""].append(field)
    return "".join(
        _block(name, members) for name, members in blocks.items() if name != "components"
    )


def _has_block(field: Field) -> bool:
    """Tell whether a field near the root is a section of its own."""
    return any(key.startswith(f"{field.path}.") for key in fields()) or field.path.startswith(
        "components."
    )


def _block(name: str, members: list[Field]) -> str:
    title = f"`{name}`" if name else "The root"
    lines = [f"\n## {title}\n\n"]
    if name:
        head, *members = members
        lines.append(f"{head.description}\n\n")
        members = [m for m in members if not _is_generic(m)]
    if members:
        lines.append("| field | holds | values | default | example |\n|---|---|---|---|---|\n")
        lines += [_row(member, name) for member in members]
    return "".join(lines) if members else "".join(lines).rstrip("\n") + "\n"


def _is_generic(field: Field) -> bool:
    """Tell whether the head of the page, or hostDefaults, explains the field."""
    steps = field.path.split(".")
    is_common = steps[0] == "components" and len(steps) > 3 and steps[2] in GENERIC
    return is_common or (steps[:2] == ["pools", "host"] and len(steps) > 2)


def _row(field: Field, block: str) -> str:
    path = field.path.removeprefix(f"{block}.") if block else field.path
    if field.is_list and any(key.startswith(f"{field.path}.") for key in fields()):
        path += "[]"
    known = dict(reversed(facts(field)))  # of several examples the first
    kind = known.get("expected") or " ".join((field.kind, known.get("range", ""))).strip()
    needed = " **Required.**" if field.is_required else ""
    cells = (
        f"`{path}`",
        f"{_escaped(field.description)}{needed}",
        _escaped(kind),
        *(f"`{known[word]}`" if word in known else "" for word in ("default", "example")),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def checks_page() -> str:
    """Return a section per finding, by area."""
    found = findings()
    lines = []
    for area, names in groupby(found, key=lambda name: name.partition("-")[0]):
        lines.append(f"\n## {area}\n")
        lines += [_finding(name, found[name]) for name in names]
    return "".join(lines)


def _finding(name: str, explanation: Explanation) -> str:
    title = f"\n### {name}\n\n*{explanation.severity}*\n\n{_escaped(explanation.text)}\n"
    case = CASES / f"{name}.yaml"
    return f"{title}\n```yaml\n{case.read_text('utf-8')}```\n" if case.is_file() else title


def _escaped(text: str) -> str:
    """Keep what Markdown would read as a tag or as emphasis."""
    return text.replace("<", "\\<").replace("*", "\\*")


def commands_page() -> str:
    """Return the help of every command, as it is printed in 80 columns."""
    lines = []
    with click.Context(main, info_name="gpugen", terminal_width=80, **main.context_settings) as top:
        for name in COMMANDS:
            command = main.get_command(top, name)
            assert command is not None
            lines.append(f"\n## gpugen {name}\n")
            lines += [f"\n```text\n{text}\n```\n" for text in _help(command, name, top)]
    return "".join(lines)


def _help(command: click.Command, name: str, above: click.Context) -> Iterator[str]:
    """Yield the help of a command, then that of each command below it."""
    with click.Context(command, info_name=name, parent=above, terminal_width=80) as context:
        yield command.get_help(context)
        if isinstance(command, click.Group):
            for child in command.list_commands(context):
                part = command.get_command(context, child)
                assert part is not None
                yield from _help(part, child, context)


PAGES = {"spec.md": spec_page, "checks.md": checks_page, "commands.md": commands_page}


def page(name: str) -> str:
    """Return a page as it should stand: its head as it is, the rest generated."""
    head, mark, _ = (DOCS / name).read_text("utf-8").partition(MARK)
    assert mark, f"docs/reference/{name} has no mark: {MARK}"
    return f"{head}{MARK}{PAGES[name]()}"


def pictures() -> dict[str, Callable[[], str]]:
    """Return the pictures by file name; as a script, this file is not in their package."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    from tools.pictures import PICTURES

    return PICTURES


def main_program(arguments: list[str]) -> int:
    """Rewrite the pages and pictures, or compare them."""
    current = {DOCS / name: page(name) for name in PAGES}
    current |= {PICTURES / name: draw() for name, draw in pictures().items()}
    stale = [path for path in current if not _has(path, current[path])]
    for path in stale:
        name = path.relative_to(ROOT).as_posix()
        print(f"{name}: {'stale' if '--check' in arguments else 'rewritten'}")
        if "--check" not in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(current[path], "utf-8")
    return 1 if stale and "--check" in arguments else 0


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main_program(sys.argv[1:]))

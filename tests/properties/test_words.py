"""Texts are in the field's words: none of those that docs/glossary.md replaces.

Messages, help and pages, and what developers read: docstrings, comments, the files of roles.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from gpugen.cli import COMMANDS, main
from gpugen.report.explanations import findings
from support.documents import ROOT

ROWS = re.findall(r"^\| ([a-z ,]+) \| ([^|]+) \|$", (ROOT / "docs/glossary.md").read_text(), re.M)
INSTEAD = {word.strip(): better for words, better in ROWS[1:] for word in words.split(",")}
AVOIDED = re.compile(rf"(?<![\w-])({'|'.join(INSTEAD)})(?![\w-])", re.IGNORECASE)
ON_HOSTS = re.compile(r"/run/\S+")  # files there keep their names
TAG = re.compile(r"\b(?:GG|CTK|DRV|DIST|MIG|GEN|PRE|DCG|CUD|KUB)-\d\d\b")


def _complaints(text: str) -> list[str]:
    """Return the avoided words of a text, each with what to write."""
    return [f"{word!r}: write {INSTEAD[word.lower()]}" for word in AVOIDED.findall(text)]


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines: messages, hints, docstrings, comments."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON document, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from _commands(inner)


CODE = re.compile(r"^```(?:python|diff)\n.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def test_the_list_is_read() -> None:
    assert {"wanted", "lacks", "stands", "boards", "judged", "held against"} < INSTEAD.keys()
    assert _complaints("a whole number is wanted, a cut board lacks it") == [
        f"'wanted': write {INSTEAD['wanted']}",
        f"'cut': write {INSTEAD['cut']}",
        f"'board': write {INSTEAD['board']}",
        f"'lacks': write {INSTEAD['lacks']}",
    ]


def test_messages_and_hints() -> None:
    package = ROOT / "generator/gpugen"
    found = [
        f"{path.relative_to(package)}:{line}: {complaint}"
        for path in sorted(package.rglob("*.py"))
        for line, text in _strings(path)
        for complaint in _complaints(text)
    ]
    assert not found, "\n".join(found)


def test_rows_and_templates_of_the_package() -> None:
    """Comments of alerts, rules and templates; expressions and the catalogue's notes are none."""
    package = ROOT / "generator/gpugen"
    files = [*package.rglob("*.yaml"), *package.rglob("*.j2")]
    found = [
        f"{path.relative_to(package)}:{number}: {complaint}"
        for path in files
        if not path.is_relative_to(package / "catalog/data")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for complaint in _complaints(line if path.suffix == ".j2" else line.partition("#")[2])
    ]
    assert not found, "\n".join(found)


def test_pages() -> None:
    """Without code, which names files and variables; of the glossary without the list of words."""
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    texts = {path: path.read_text("utf-8").partition("| not | but |")[0] for path in pages}
    found = [
        f"{path.relative_to(ROOT)}: {complaint}"
        for path, text in texts.items()
        for complaint in _complaints(re.sub(CODE, "", text))
    ]
    assert not found, "\n".join(found)


def test_roles() -> None:
    """Tasks, variables, READMEs and programs; templates are files of hosts, and stay the same."""
    files = [path for kind in ("yml", "md", "py") for path in (ROOT / "roles").rglob(f"*.{kind}")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {complaint}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for complaint in _complaints(ON_HOSTS.sub("", line))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("id", findings())
def test_explanations(id: str) -> None:
    assert not _complaints(findings()[id].text)
    assert not TAG.search(findings()[id].text)


def test_schemas() -> None:
    """Descriptions are what ``gpugen explain`` and editors show; the rest are hints."""
    schemas = [*ROOT.glob("schemas/*.json"), *ROOT.glob("generator/gpugen/**/*.schema.json")]
    found = [
        f"{path.name}: {complaint} in {text!r}"
        for path in schemas
        for text in _texts(json.loads(path.read_bytes()))
        for complaint in _complaints(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str) -> None:
    context = click.Context(main, **main.context_settings)  # click keeps the first help option
    command = main.get_command(context, name)
    assert command is not None
    for one in _commands(command):
        text = one.get_help(click.Context(one, parent=context))
        assert not _complaints(text), text

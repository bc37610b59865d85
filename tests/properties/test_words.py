"""Texts for people are in the field's words: none of those that docs/glossary.md replaces."""

from __future__ import annotations

import ast
import json
import re
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
AVOIDED = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)
TAG = re.compile(r"\b(?:GG|CTK|DRV|DIST|MIG|GEN|PRE|DCG|CUD|KUB)-\d\d\b")


def _complaints(text: str) -> list[str]:
    """Return the avoided words of a text, each with what to write."""
    return [f"{word!r}: write {INSTEAD[word.lower()]}" for word in AVOIDED.findall(text)]


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines: messages, hints, help; no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


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
    context = click.Context(main)
    command = main.get_command(context, name)
    assert command is not None
    for one in _commands(command):
        text = one.get_help(click.Context(one, parent=context))
        assert not _complaints(text), text

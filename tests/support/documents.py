"""The pages of this repository, their fenced blocks, and what their commands should print."""

from __future__ import annotations

import re
from dataclasses import dataclass

from support import ROOT

PAGES = tuple(sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))
MORE = "…"  # in claimed output: anything, in a line or as lines

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^`([^`\n]+)`[^\n]*:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Step:
    """A command of a console block and what the page says that it prints."""

    command: str
    output: tuple[str, ...]


def text_of(name: str) -> str:
    """Return the text of a page by its path."""
    return (ROOT / name).read_text("utf-8")


def blocks(name: str, language: str = "") -> list[Block]:
    """Return the fenced blocks of a page, of one language or all."""
    text = text_of(name)
    return [
        Block(name, text.count("\n", 0, match.start()) + 1, match[1], match[2])
        for match in _FENCE.finditer(text)
        if language in ("", match[1])
    ]


def section(name: str, heading: str) -> str:
    """Return what stands below a heading of a page, up to the next one."""
    return text_of(name).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def named_blocks(name: str, heading: str = "") -> dict[str, str]:
    """Return the blocks that a line introduces which opens with a path, by that path."""
    text = section(name, heading) if heading else text_of(name)
    return {match[1]: match[2] for match in _NAMED.finditer(text)}


def prose(name: str) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text_of(name))


def steps(block: Block) -> list[Step]:
    """Split a console block into commands, which begin with ``$``, and their output."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return [Step(command, tuple(output)) for command, output in found]


def agrees(claimed: tuple[str, ...], printed: str) -> bool:
    """Tell whether a program printed what a page claims; ``…`` stands for anything."""
    if not claimed:
        return True
    parts = []
    for line in claimed:
        if line == MORE:
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.split(MORE)) + r"\n")
    return re.fullmatch("".join(parts) + r"(?:.*\n)*" * (claimed[-1] == MORE), printed) is not None

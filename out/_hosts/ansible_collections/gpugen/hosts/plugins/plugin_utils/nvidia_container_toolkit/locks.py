# Copyright: the gpugen authors. Apache-2.0.
"""The file of locks that dnf reads: our block in it, and lines of others that lock the toolkit."""

from __future__ import annotations

import re

NAME = "nvidia_container_toolkit"
RIVAL = re.compile(r"!?(?:nvidia-container-toolkit|libnvidia-container|[*]*nvidia[*])")
BEGIN, END = "# BEGIN gpugen ", "# END gpugen "


def block(text: str) -> list[str]:
    """Return the lines of our block."""
    lines = text.splitlines()
    begin, end = BEGIN + NAME, END + NAME
    if begin not in lines or end not in lines[lines.index(begin) :]:
        return []
    first = lines.index(begin)
    return " ".join(lines[first + 1 : lines.index(end, first)]).split()


def rivals(text: str) -> list[str]:
    """Return the lines outside of blocks of ours that lock the toolkit."""
    return [line for line in _outside(text.splitlines()) if RIVAL.match(line)]


def _outside(lines: list[str]) -> list[str]:
    kept, at = [], 0
    while at < len(lines):
        end = END + lines[at].removeprefix(BEGIN)
        if lines[at].startswith(BEGIN) and end in lines[at:]:
            at = lines.index(end, at)
        else:
            kept.append(lines[at])
        at += 1
    return kept

# Copyright: the gpugen authors. Apache-2.0.
"""A block of ours in a file of the host, between marks as Ansible's blockinfile writes them."""

from __future__ import annotations

from collections.abc import Sequence


def lines_of(text: str, name: str) -> list[str]:
    """Return the lines of a block; none where it is not there."""
    start, end = _place(text.splitlines(), name)
    return text.splitlines()[start + 1 : end]


def with_block(text: str, name: str, lines: Sequence[str]) -> str:
    """Return a file with another block, where the former was or at its end; no lines, no block."""
    every = text.splitlines()
    start, end = _place(every, name)
    begin, close = _marks(name)
    every[start : end + 1] = [begin, *lines, close] if lines else []
    return "".join(f"{line}\n" for line in every)


def _marks(name: str) -> tuple[str, str]:
    return f"# BEGIN gpugen {name}", f"# END gpugen {name}"


def _place(lines: list[str], name: str) -> tuple[int, int]:
    """Return the places of both marks; behind the end where there are none."""
    begin, close = _marks(name)
    if begin in lines and close in lines[lines.index(begin) :]:
        start = lines.index(begin)
        return start, lines.index(close, start)
    return len(lines), len(lines)

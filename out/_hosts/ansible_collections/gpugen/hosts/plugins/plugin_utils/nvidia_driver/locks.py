# Copyright: the gpugen authors. Apache-2.0.
"""The file of dnf's locks: a block of ours in it, and locks of others on the driver (DRV-06)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

OWNER = "gpugen nvidia_driver"
BEGIN, END = "# BEGIN ", "# END "
_DRIVER = ("kmod-nvidia", "nvidia-", "libnvidia-", "libnvsdm", "cuda-drivers")


def found(text: str) -> list[str]:
    """Return the locks of our block."""
    return [lock for owner, line in _owned(text) if owner == OWNER for lock in line.split()]


def rivals(text: str) -> list[str]:
    """Return locks of the driver that no role of ours set."""
    lines = [line for owner, line in _owned(text) if not owner]
    return [line for line in lines if _is_drivers(line) and "container" not in line]


def replaced(text: str, locks: Sequence[str]) -> str:
    """Return the file with our block anew, at its place or the end; without one for no locks."""
    block = [f"{BEGIN}{OWNER}\n", *(f"{lock}\n" for lock in locks), f"{END}{OWNER}\n"]
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    start = next((n for n, line in enumerate(lines) if line.rstrip("\n") == BEGIN + OWNER), None)
    end = next((n for n, line in enumerate(lines) if line.rstrip("\n") == END + OWNER), None)
    if start is None or end is None:
        return "".join([*lines, *(block if locks else [])])
    return "".join([*lines[:start], *(block if locks else []), *lines[end + 1 :]])


def _owned(text: str) -> Iterator[tuple[str, str]]:
    """Yield lines with the owner of the block around them; markers themselves are left out."""
    lines, owner = text.splitlines(), ""
    for number, line in enumerate(lines):
        name = line.removeprefix(BEGIN)
        if not owner and name.startswith("gpugen ") and END + name in lines[number:]:
            owner = name
        elif owner and line == f"{END}{owner}":
            owner = ""
        else:
            yield owner, line


def _is_drivers(line: str) -> bool:
    name = line.removeprefix("!")
    return name.startswith(_DRIVER) or name.lstrip("*").startswith("nvidia")

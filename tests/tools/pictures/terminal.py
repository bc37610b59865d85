"""A terminal session: commands that are run, and what they print, in its colours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.pictures.svg import Sheet

ROOT = Path(__file__).parents[3]
COLUMNS, LINE, SIGN = 104, 19, 7.85
SESSION = (
    "gpugen render lab",
    "sed -i 's/{3g.20gb: 1, 2g.10gb: 2}/{3g.20gb: 2, 1g.5gb: 1}/' inventories/lab/cluster.yaml",
    "gpugen validate",
    "gpugen mig check a100-sxm4-40gb 3g.20gb=1 1g.5gb=4",
    "sed -i 's/{3g.20gb: 2, 1g.5gb: 1}/{3g.20gb: 1, 1g.5gb: 4}/' inventories/lab/cluster.yaml",
    "gpugen render --diff | grep '^[-+] .*\"[0-9]g'",
    "gpugen render",
    "gpugen render --check && echo 'what is committed is what the spec says'",
)
_STYLED = re.compile(r"\x1b\[([0-9;]*)m")
_KINDS = {"1": "strong", "2": "dim", "31": "bad", "32": "good", "33": "strong", "36": "dim"}


def draw() -> str:
    """Return the picture."""
    lines = list(session())
    sheet = Sheet(
        int(40 + COLUMNS * SIGN),
        74 + LINE * len(lines),
        "A session with gpugen",
        "\n".join("".join(words for words, _ in line) for line in lines),
    )
    for index, colour in enumerate(("red", "amber", "green")):
        sheet.box(20 + index * 22, 16, 13, 13, colour)
    for row, line in enumerate(lines):
        column = 0
        for words, kind in line:
            if words.strip():
                sheet.typed(20 + column * SIGN, 60 + row * LINE, words, kind, SIGN)
            column += len(words)
    return sheet.svg()


def session() -> Iterator[list[tuple[str, str]]]:
    """Run the session and yield its lines, each as pieces of text with their looks."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("keys", "inventories/lab"):
            shutil.copytree(ROOT / name, place / name)
        for command in SESSION:
            yield from ([(part, "ink strong")] for part in _folded(f"$ {command}"))
            for line in _output(command, place).splitlines():
                yield from _pieces(line)


def _output(command: str, place: Path) -> str:
    """Run a command in bash and return what it prints, in its colours."""
    program = f'gpugen() {{ "{sys.executable}" -P -m gpugen "$@"; }}; {command}'
    answer = subprocess.run(
        ["bash", "-c", program],
        cwd=place,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "generator"),
            "FORCE_COLOR": "1",
            "LC_ALL": "C.UTF-8",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return answer.stdout


def _folded(line: str) -> list[str]:
    """Break a command into lines of so many columns."""
    return [line[slice(*ends)] for ends in _rows(line)]


def _rows(line: str) -> Iterator[tuple[int, int]]:
    """Yield where the rows of a line begin and end: at a blank, where there is one."""
    start = 0
    while len(line) - start > COLUMNS:
        end = line.rfind(" ", start + 1, start + COLUMNS) + 1 or start + COLUMNS
        yield start, end
        start = end
    yield start, len(line)


def _pieces(line: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the rows that a line of output takes, with the looks of its escape codes."""
    signs: list[tuple[str, str]] = []
    kind = "ink"
    for index, part in enumerate(_STYLED.split(line)):
        if index % 2:
            kinds = [_KINDS[code] for code in part.split(";") if code in _KINDS]
            kind = _joined(kind, kinds)
        else:
            signs += [(sign, kind) for sign in part]
    for start, end in _rows("".join(sign for sign, _ in signs)):
        yield list(_runs(signs[start:end]))


def _joined(kind: str, more: list[str]) -> str:
    """Return a look with another code; without one, the plain look."""
    if not more:
        return "ink"
    colours = [name for name in [*kind.split(), *more] if name != "strong"]
    weight = ["strong"] if "strong" in [*kind.split(), *more] else []
    return " ".join([colours[-1] if colours else "ink", *weight])


def _runs(signs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join neighbours that look alike."""
    text, look = "", ""
    for sign, kind in signs:
        if kind != look and text:
            yield text, look
            text = ""
        text, look = text + sign, kind
    if text:
        yield text, look

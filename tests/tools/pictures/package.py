"""The map of the package, drawn from what its modules import."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tools.pictures.svg import Sheet, fold

PACKAGE = Path(__file__).parents[3] / "generator" / "gpugen"
WIDTH, HEIGHT, GAP, RISE = 236, 108, 14, 18
Imports = Mapping[str, frozenset[str]]


def imports() -> Imports:
    """Return each room (a folder or module of the top) and the rooms that it imports."""
    names = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    names |= {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in found:
            found[room] |= (set(_imported(path)) & names) - {room}
    return {room: frozenset(found[room]) for room in sorted(found)}


def _imported(path: Path) -> Iterator[str]:
    """Yield the rooms that a module imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "gpugen":
            modules = [f"gpugen.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            package, _, rest = module.partition(".")
            if package == "gpugen" and rest:
                yield rest.partition(".")[0]


def floors(rooms: Imports) -> list[list[str]]:
    """Return the rooms by the longest way down, the highest floor first. Raises on a circle."""

    @cache
    def height(room: str) -> int:
        return 1 + max((height(below) for below in rooms[room]), default=-1)

    result: list[list[str]] = [[] for _ in range(max(map(height, rooms)) + 1)]
    for room in rooms:
        result[-1 - height(room)].append(room)
    return result


def nearest(rooms: Imports) -> Iterator[tuple[str, str]]:
    """Yield the imports that no longer way down implies."""

    @cache
    def below(room: str) -> frozenset[str]:
        return rooms[room].union(*(below(other) for other in rooms[room]))

    for room, direct in rooms.items():
        for other in sorted(direct):
            if not any(other in below(way) for way in direct):
                yield room, other


def draw() -> str:
    """Return the picture."""
    rooms = imports()
    levels = floors(rooms)
    width = max(860, 40 + max(map(len, levels)) * (WIDTH + GAP) - GAP)
    height = 70 + len(levels) * (HEIGHT + RISE)
    arrows = sum(map(len, rooms.values()))
    sheet = Sheet(
        width,
        height,
        "The map of the package generator/gpugen",
        f"{len(rooms)} rooms on {len(levels)} floors; {arrows} imports, all downwards.",
    )
    sheet.text(20, 32, "generator/gpugen", "ink title")
    note = f"{len(rooms)} rooms, {arrows} imports between them, each from a floor to one below;"
    sheet.text(190, 32, f"{note} numbers: the stages in order", "dim small")
    used: dict[str, list[str]] = {room: [] for room in rooms}
    for room, other in nearest(rooms):
        used[room].append(other)
    for room, (x, y) in _places(levels, width):
        _room(sheet, room, used[room], (x, y))
    return sheet.svg()


def _places(levels: list[list[str]], width: int) -> Iterator[tuple[str, tuple[float, float]]]:
    for floor, level in enumerate(levels):
        left = (width - len(level) * (WIDTH + GAP) + GAP) / 2
        for index, room in enumerate(level):
            yield room, (left + index * (WIDTH + GAP), 56 + floor * (HEIGHT + RISE))


def _room(sheet: Sheet, room: str, used: list[str], place: tuple[float, float]) -> None:
    """Draw a room: its name, the first sentence of its docstring, what it imports right below."""
    x, y = place
    path = PACKAGE / room / "__init__.py"
    is_folder = path.is_file()
    text = (path if is_folder else PACKAGE / f"{room}.py").read_text("utf-8")
    sentence = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].replace("``", "")
    stage, _, rest = sentence.partition(": ")
    number = stage.removeprefix("Stage ") if stage.startswith("Stage ") else ""
    sheet.box(x, y, WIDTH, HEIGHT, "blue" if number else "card")
    sheet.text(x + 10, y + 20, room + ("/" if is_folder else ".py"), "ink mono strong")
    if number:
        sheet.text(x + WIDTH - 22, y + 20, number, "ink title")
    about = fold(rest[:1].upper() + rest[1:] if number else sentence, 33)
    shown = about if len(about) <= 3 else [*about[:2], f"{about[2]} …"]
    sheet.lines(x + 10, y + 38, shown, "dim small", 15)
    if used:
        below = fold(f"→ {', '.join(used)}", 34)
        sheet.lines(x + 10, y + HEIGHT - 9 - 15 * (len(below) - 1), below, "note small", 15)

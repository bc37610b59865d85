"""The pictures of the pages: current, shown, readable without eyes; and the map is a true one."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.documents import PAGES, ROOT, prose, text_of
from tools.pictures import PICTURES, package, svg, terminal

FOLDER = ROOT / "docs" / "pictures"
SHOWN = re.compile(r"!\[([^\]]+)\]\(([^)]+\.svg)\)")
ALLOWED = {"svg", "title", "desc", "style", "marker", "path", "rect", "text"}


@pytest.mark.parametrize("name", PICTURES)
def test_they_are_current(name: str) -> None:
    stale = (FOLDER / name).read_text("utf-8") != PICTURES[name]()
    assert not stale, "run: python tests/tools/reference.py"


def test_each_is_drawn_by_a_script_and_shown_with_words() -> None:
    pages = [page.relative_to(ROOT).as_posix() for page in PAGES]
    shown = {Path(target).name for page in pages for _, target in SHOWN.findall(prose(page))}
    assert {path.name for path in FOLDER.iterdir()} == set(PICTURES) == shown


@pytest.mark.parametrize("name", PICTURES)
def test_they_hold_shapes_and_text_alone(name: str) -> None:
    """No script, image or link; a title for who cannot see; colours for dark pages."""
    text = text_of(f"docs/pictures/{name}")
    root = ElementTree.fromstring(text)
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert set(names) <= ALLOWED
    assert names[1:3] == ["title", "desc"]
    assert "prefers-color-scheme: dark" in text
    assert len(text) < 40_000


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_lies_outside_of_the_sheet(name: str) -> None:
    root = ElementTree.fromstring(text_of(f"docs/pictures/{name}"))
    width, height = int(root.attrib["width"]), int(root.attrib["height"])
    for element in root:
        if "x" in element.attrib:
            right = float(element.attrib["x"]) + float(element.get("width", 0))
            low = float(element.attrib["y"]) + float(element.get("height", 0))
            assert right <= width, element.attrib
            assert low <= height, element.attrib


def test_imports_of_the_map_go_down() -> None:
    rooms = package.imports()
    floor = {room: n for n, level in enumerate(package.floors(rooms)) for room in level}
    assert rooms["pipeline"] >= {"load", "validate", "resolve", "checks", "assemble", "render"}
    assert all(floor[room] < floor[other] for room in rooms for other in rooms[room])


def test_the_map_leaves_out_what_others_imply() -> None:
    rooms = {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset[str]()}
    assert list(package.nearest(rooms)) == [("a", "b"), ("b", "c")]
    assert package.floors(rooms) == [["a"], ["b"], ["c"]]


def test_stages_of_the_map_are_seven() -> None:
    drawn = text_of("docs/pictures/package.svg")
    numbers = re.findall(r'class="ink title"[^>]*>(\d)<', drawn)
    assert sorted(numbers) == list("1234567")


def test_text_of_a_terminal_keeps_its_blanks_and_marks() -> None:
    sheet = svg.Sheet(10, 10, "t", "a")
    sheet.typed(0, 0, "  a <b>  c", "ink", 7.0)
    assert ">\u00a0\u00a0a &lt;b&gt;\u00a0\u00a0c</text>" in sheet.svg()


def test_the_session_is_a_real_one() -> None:
    """What a wrong layout is told, and that the last command found nothing to do."""
    lines = "\n".join("".join(words for words, _ in line) for line in terminal.session())
    assert "error [mig-does-not-fit]" in lines
    assert lines.endswith("what is committed is what the spec says")

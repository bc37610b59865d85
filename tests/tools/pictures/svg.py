"""A sheet of SVG: boxes, text and arrows in a few classes whose colours follow the theme."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from textwrap import wrap

SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, 'DejaVu Sans Mono', Menlo, Consolas, monospace"

# class -> properties on a light page, and those that differ on a dark one
_LIGHT = {
    "page": "fill: #ffffff; stroke: #d0d7de",
    "card": "fill: #f6f8fa; stroke: #afb8c1",
    "zone": "fill: none; stroke: #8c959f; stroke-dasharray: 5 4",
    "blue": "fill: #ddf4ff; stroke: #54aeff",
    "green": "fill: #dafbe1; stroke: #4ac26b",
    "amber": "fill: #fff8c5; stroke: #d4a72c",
    "red": "fill: #ffebe9; stroke: #ff8182",
    "violet": "fill: #fbefff; stroke: #c297ff",
    "free": "fill: none; stroke: #afb8c1; stroke-dasharray: 3 3",
    "line": "fill: none; stroke: #6e7781; stroke-width: 1.5",
    "head": "fill: #6e7781",
    "ink": "fill: #1f2328",
    "dim": "fill: #59636e",
    "note": "fill: #0969da",
    "bad": "fill: #cf222e",
    "good": "fill: #1a7f37",
}
_DARK = {
    "page": "fill: #0d1117; stroke: #3d444d",
    "card": "fill: #151b23; stroke: #656c76",
    "zone": "stroke: #656c76",
    "blue": "fill: #0c2d6b; stroke: #388bfd",
    "green": "fill: #033a16; stroke: #2ea043",
    "amber": "fill: #3b2300; stroke: #bb8009",
    "red": "fill: #490202; stroke: #f85149",
    "violet": "fill: #271052; stroke: #986ee2",
    "free": "stroke: #656c76",
    "line": "stroke: #9198a1",
    "head": "fill: #9198a1",
    "ink": "fill: #f0f6fc",
    "dim": "fill: #b1bac4",
    "note": "fill: #4493f8",
    "bad": "fill: #ff7b72",
    "good": "fill: #56d364",
}
_TEXT = f"""\
text {{ font: 14px {SANS}; }}
.small {{ font-size: 12px; }}
.title {{ font-size: 16px; font-weight: 600; }}
.strong {{ font-weight: 600; }}
.mono {{ font-family: {MONO}; font-size: 13px; }}
.middle {{ text-anchor: middle; }}
"""


class Sheet:
    """A drawing of a width and a height; what is added later lies on top."""

    def __init__(self, width: int, height: int, title: str, about: str) -> None:
        """Begin a sheet. title, about: what somebody hears who cannot see it."""
        self.width, self.height, self.title, self.about = width, height, title, about
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, kind: str = "card") -> None:
        """Add a box with round corners."""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect class="{kind}" {place} rx="6"/>')

    def text(self, x: float, y: float, words: str, kind: str = "ink") -> None:
        """Add a line of text whose baseline is y."""
        shown = escape(words, quote=False)
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{shown}</text>')

    def typed(self, x: float, y: float, words: str, kind: str, sign: float) -> None:
        """Add text of a terminal, each sign of which takes the same width, whatever the font."""
        kept = re.sub(r"^ +| +$|  +", lambda blanks: "\u00a0" * len(blanks[0]), words)
        shown = escape(kept, quote=False)
        length = f'textLength="{len(words) * sign:g}" lengthAdjust="spacingAndGlyphs"'
        self.parts.append(f'<text class="{kind} mono" x="{x:g}" y="{y:g}" {length}>{shown}</text>')

    def lines(
        self, x: float, y: float, lines: Sequence[str], kind: str = "ink", step: float = 18
    ) -> None:
        """Add lines of text below one another."""
        for index, words in enumerate(lines):
            self.text(x, y + index * step, words, kind)

    def labelled(
        self, x: float, y: float, width: float, height: float, lines: Sequence[str], kind: str
    ) -> None:
        """Add a box with centred lines, the first of them strong."""
        self.box(x, y, width, height, kind)
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for index, words in enumerate(lines):
            look = "ink strong middle" if index == 0 else "dim small middle"
            self.text(x + width / 2, top + 18 * index, words, look)

    def arrow(self, *points: tuple[float, float], kind: str = "line") -> None:
        """Add a line over some points that ends in a head."""
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path class="{kind}" d="M{path}" marker-end="url(#head)"/>')

    def svg(self) -> str:
        """Return the file."""
        style = _TEXT + _rules(_LIGHT)
        dark = "".join(f"  {line}\n" for line in _rules(_DARK).splitlines())
        size = (
            f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
                f"<title>{escape(self.title, quote=False)}</title>",
                f"<desc>{escape(self.about, quote=False)}</desc>",
                f"<style>\n{style}@media (prefers-color-scheme: dark) {{\n{dark}}}\n</style>",
                '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
                'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
                '<path class="head" d="M0 0 L8 4 L0 8 Z"/></marker>',
                f'<rect class="page" x="0.5" y="0.5" width="{self.width - 1}" '
                f'height="{self.height - 1}" rx="8"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


def _rules(look: dict[str, str]) -> str:
    return "".join(f".{name} {{ {properties}; }}\n" for name, properties in look.items())


def fold(words: str, width: int) -> list[str]:
    """Break a sentence into lines of at most so many characters."""
    return wrap(words, width, break_long_words=False, break_on_hyphens=False)

"""The pictures of the pages, drawn by scripts: text as text, readable on light and dark pages.

They are written together with the generated pages: ``python tests/tools/reference.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tools.pictures import flow, package, rollout, slices, terminal

PICTURES: dict[str, Callable[[], str]] = {
    "flow.svg": flow.draw,
    "mig-slices.svg": slices.draw,
    "rollout.svg": rollout.draw,
    "package.svg": package.draw,
    "terminal.svg": terminal.draw,
}

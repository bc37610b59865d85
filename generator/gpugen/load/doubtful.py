"""Where in a spec the values are of which a file does not say what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugen.load.document import Document, Locator
from gpugen.load.scalars import DoubtfulError, resolve
from gpugen.model.finding import ROOT, Finding, Pointer


def placed(document: Document, findings: list[Finding]) -> list[Finding]:
    """Return the findings with their places in the merged spec, as far as its values are theirs."""
    locator = Locator(document)
    found = {locator.locate(at, key): (at, key) for at, key in _candidates(document.data, ROOT)}
    places = [(f, f.location and found.get(f.location)) for f in findings]
    return [f._replace(at=place[0], at_key=place[1]) if place else f for f, place in places]


def _candidates(data: Any, at: Pointer) -> Iterator[tuple[Pointer, bool]]:
    """Yield the texts that would be doubtful without quotes, and whether they are keys."""
    for part, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(part, str) and _is_doubtful(part):
            yield at / part, True
        if isinstance(value, str) and _is_doubtful(value):
            yield at / part, False
        elif isinstance(value, dict | list):
            yield from _candidates(value, at / part)


def _is_doubtful(text: str) -> bool:
    try:
        resolve(text)
    except DoubtfulError:
        return True
    return False

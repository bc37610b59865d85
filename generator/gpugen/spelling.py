"""How text of a user's is spelled in messages: short, on one line, nothing invisible."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 40  # characters of a user's value in a message


def printable(text: str) -> str:
    """Escape everything that a terminal could take for a command or that no reader sees."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(text: str) -> str:
    """Cut a text to 40 characters and make it printable."""
    return printable(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def quoted(text: str) -> str:
    """Put a text between quotes for a message, cut and printable."""
    return f"'{shown(text)}'"


def nearest(word: str, known: Iterable[str], likeness: float = 0.7) -> str:
    """Return the known word that a misspelt one stands for, or nothing.

    Case, hyphens and underscores count for nothing, so timeSlicing finds time-slicing.
    likeness: the least ratio of common letters, from 0 to 1.
    """
    words = list(known)
    folded = {_folded(candidate): candidate for candidate in words}
    if _folded(word) in folded:
        return folded[_folded(word)]
    longer = [candidate for candidate in folded if _folded(word) in candidate]
    if len(longer) == 1 and len(word) > 3:
        return folded[longer[0]]
    near = get_close_matches(_folded(word)[:100], list(folded), 1, likeness)
    return folded[near[0]] if near else ""


def _folded(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")

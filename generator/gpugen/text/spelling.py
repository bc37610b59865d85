"""How a user's text is shown in messages: short, on one line, nothing invisible."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from gpugen.text.credentials import masked

SHOWN = 40  # characters of a user's value in a message
LONGEST = 4096  # characters that are searched for what is not to be shown
_USER = re.compile(r"(?<=://)(?!(?<=ssh://)[\w.-]+@)[^\s@]*(?=@)")  # ssh://git@ is no secret
_EXTRA = re.compile(r"((?:://|@)[^\s?#]*[?#])\S+")


def printable(text: str) -> str:
    """Escape control characters and invisible characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(text: str) -> str:
    """Truncate a text to 40 characters and make it printable; credentials become asterisks.

    So do user, password, query and fragment of a URL.
    """
    text = masked(text[:LONGEST])
    text = _EXTRA.sub(r"\1***", _USER.sub("***", text))
    return printable(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def quoted(text: str) -> str:
    """Quote a text for a message, truncated and printable."""
    return f"'{shown(text)}'"


def same(word: str, known: Iterable[str]) -> str:
    """Return the known word that differs in case, hyphens and underscores only, or nothing."""
    return next((each for each in known if _folded(each) == _folded(word)), "")


def nearest(word: str, known: Iterable[str], likeness: float = 0.7) -> str:
    """Return the known word that a misspelt one probably means, or nothing.

    Case, hyphens and underscores do not count, so timeSlicing finds time-slicing. likeness: the
    least ratio of common letters, from 0 to 1.
    """
    folded = {_folded(candidate): candidate for candidate in known}
    if _folded(word) in folded:
        return folded[_folded(word)]
    longer = [candidate for candidate in folded if _folded(word) in candidate]
    if len(longer) == 1 and len(word) > 3:
        return folded[longer[0]]
    near = get_close_matches(_folded(word)[:100], list(folded), 1, likeness)
    return folded[near[0]] if near else ""


def _folded(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")

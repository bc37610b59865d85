"""What an unquoted scalar means, and which ones are refused because readers disagree."""

from __future__ import annotations

import re
from functools import lru_cache

from gpugen.text.spelling import shown

_SWITCHES = {
    **dict.fromkeys(("yes", "on", "y"), "true"),
    **dict.fromkeys(("no", "off", "n"), "false"),
}
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WORD = re.compile(r"[A-Za-z/][^:]*")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LONG_INTEGER = re.compile(r"[-+]?[0-9]{19,}")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan",
    re.IGNORECASE,
)
_OTHER_INTEGER = re.compile(
    r"[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-f]+|[0-9]+(?::[0-9]+)*|[0-9]+(?::[0-9]+)+\.[0-9]*)",
    re.IGNORECASE,
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?")
_OCTAL = re.compile(r"[-+]?0[0-7]{1,18}")
_MISSING_SPACE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:[\"'\[{]")


class DoubtfulError(Exception):
    """An unquoted scalar that is refused: the id, and the values for its words."""

    def __init__(self, id: str, *values: str) -> None:
        super().__init__(id, *values)
        self.id = id
        self.values = values


def resolve(text: str) -> str | int | bool | None:
    """Return what an unquoted scalar means.

    Raises DoubtfulError: YAML 1.1 and 1.2 read it differently, or it is a fraction.
    """
    if len(text) > 5 and text[0].isalpha() and ":" not in text:
        return text  # longer than any word that means something else
    return _resolve(text)


@lru_cache(maxsize=4096)
def _resolve(text: str) -> str | int | bool | None:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _WORD.fullmatch(text):
        return _word(text)
    if _INTEGER.fullmatch(text):
        return int(text)
    return _unusual(text)


def _word(text: str) -> str:
    lower = text.lower()
    if lower in _SWITCHES:
        meaning = _SWITCHES[lower]
        raise DoubtfulError(
            "spec-ambiguous-scalar",
            f"{text} without quotes is {meaning} to some YAML parsers and text to others",
            f'write {meaning} if a boolean is meant, or quote it: "{text}"',
        )
    if lower in ("true", "false", "null"):
        raise DoubtfulError(
            "spec-ambiguous-scalar",
            f"{text} without quotes is text to YAML, but looks like {lower}",
            f'write {lower}, or quote it: "{text}"',
        )
    return text


def _unusual(text: str) -> str:
    """Refuse what looks like a number, a date or a forgotten space; else it is text."""
    quote = f'quote it: "{shown(text)}"'
    if _LONG_INTEGER.fullmatch(text):
        raise DoubtfulError("spec-long-integer", shown(text))
    bare = text.replace("_", "") if text[0] in "+-.0123456789" else text
    if _FLOAT.fullmatch(bare):
        is_whole = re.fullmatch(r"[1-9][0-9]*\.0*", bare)
        whole = f"write {bare.partition('.')[0]} if a number is meant, or " if is_whole else ""
        raise DoubtfulError("spec-bare-float", _fraction(text, bare), whole + quote)
    if _OTHER_INTEGER.fullmatch(bare) or _DATE.fullmatch(text) or text in ("=", "<<"):
        raise DoubtfulError("spec-ambiguous-scalar", _disagreement(text), quote)
    if _MISSING_SPACE.match(text):
        key, _, value = text.partition(":")
        raise DoubtfulError("spec-missing-space", shown(text), shown(f"{key}: {value}"), "colon")
    return text


def _fraction(text: str, bare: str) -> str:
    if bare.lower().endswith(("inf", "nan")):
        return f"{shown(text)} without quotes is infinity or no number, and not this text"
    meaning = repr(float(bare))
    if meaning == text or "inf" in meaning:
        return f"{shown(text)} without quotes is a fractional number, which no field is"
    return f"{shown(text)} without quotes is the number {meaning}, not this text"


def _disagreement(text: str) -> str:
    spelled = shown(text)
    if _DATE.fullmatch(text):
        return f"{spelled} without quotes is a date to some YAML parsers and text to others"
    if ":" in text:
        return f"{spelled} without quotes is a number in base 60 to some YAML parsers"
    if _OCTAL.fullmatch(text):
        octal, decimal = int(text, 8), int(text)
        return f"{spelled} without quotes is {octal} to some YAML parsers, {decimal} to others"
    if text in ("=", "<<"):
        return f"{spelled} without quotes is a command to some YAML parsers and text to others"
    return f"{spelled} without quotes is a number to some YAML parsers and text to others"

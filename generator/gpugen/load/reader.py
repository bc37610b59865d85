"""Reads one YAML text: libyaml's events where PyYAML has it, its pure parser for the words.

Both parsers give the same data, the same places and the same verdict; what they differ in is
refused. Text with a fault is read again by the pure parser, because its errors say more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import yaml

from gpugen.load.compose import Composer
from gpugen.load.faults import Faults, StopReadingError

Parse: TypeAlias = Callable[[str], Any]

_ODD = ("\t", "?", "!", " |", "\n|", " >", "\n>", ":,", ":[", ":]", ":{", ":}")
OLDEST_LIBYAML = (0, 2, 5)
MAX_REREAD = 64 * 1024  # characters; the pure parser takes a second for five times as many


def read(text: str, faults: Faults, parse: Parse | None = None) -> Composer:
    """Return what a text holds; it is of use if there are no faults.

    parse: one of PyYAML's loaders, if not the best one that is there.
    """
    parse = parse or parser()
    composer, is_parsers = _read(text, faults, parse)
    if is_parsers and parse is not yaml.SafeLoader and len(text) <= MAX_REREAD:
        again = Faults(faults.path, text)
        _read(text, again, yaml.SafeLoader)
        faults.found = again.found or faults.found
    return composer


def data(text: str) -> Any:
    """Return what a file of the package itself holds.

    Raises ValueError: it is at fault.
    """
    faults = Faults("", text)
    composer = read(text, faults)
    if faults.found:
        fault = faults.found[0]
        raise ValueError(f"{fault.location}: {fault.message}")
    return composer.root


@cache
def parser() -> Parse:
    """Return libyaml's parser; the pure one without a libyaml that the two were compared with."""
    if not yaml.__with_libyaml__:
        return yaml.SafeLoader
    from yaml._yaml import get_version

    return yaml.CSafeLoader if get_version() >= OLDEST_LIBYAML else yaml.SafeLoader


def _read(text: str, faults: Faults, parse: Parse) -> tuple[Composer, bool]:
    """Compose a text by one parser, and note every fault; tell whether another may say more."""
    is_odd = any(mark in text for mark in _ODD) or text.startswith(("|", ">"))
    composer = Composer(text, faults, keeps_spans=is_odd)
    try:
        composer.compose(parse(text).get_event)
    except StopReadingError:
        return composer, is_odd
    except Exception as error:  # noqa: BLE001 - a parser may raise anything on hostile text
        from gpugen.load.syntax import explain

        faults.add(*explain(error, composer.last, text))
        return composer, True
    if is_odd:
        from gpugen.load.structure import doubts

        for fault in doubts(text, composer.spans):
            faults.add(*fault)
    return composer, is_odd and bool(faults.found)

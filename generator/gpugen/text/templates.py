"""The one environment for line-oriented text: templates lie beside what uses them and end in .j2.

A template receives a record and decides nothing: it has ``for``, and ``if`` for what is there or
not. Text of a spec is only ever a value, so marks of a template in it are text, too.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment

PACKAGE = Path(__file__).parents[1]


def render(template: str, values: NamedTuple) -> str:
    """Fill a template, named by its path below the package, with the fields of a record.

    Raises jinja2.UndefinedError: the template names what the record does not have.
    """
    return environment().get_template(template).render(values._asdict())


@cache
def environment() -> Environment:
    """Return the environment; it is made where text is first written, as its import costs."""
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

    class Bytecode(FileSystemBytecodeCache):
        """Compiled templates beside the bytecode of Python, where that may be written."""

        def dump_bytecode(self, bucket: Any) -> None:
            with suppress(OSError):
                super().dump_bytecode(bucket)

    folder = Path(cache_from_source(str(PACKAGE / "text" / "templates.py"))).parent
    is_kept = folder.is_dir() and not sys.dont_write_bytecode
    return Environment(
        loader=FileSystemLoader(PACKAGE),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 Markdown, INI, CSV and YAML of ours: there is no HTML
        auto_reload=False,
        bytecode_cache=Bytecode(str(folder)) if is_kept else None,
    )

"""Checks that nothing secret stands in the spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugen.checks import Problem, check
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec
from gpugen.spelling import secret_in


@check("secret-in-spec")
def secrets(spec: ClusterSpec) -> Iterator[Problem]:
    """The spec and what follows from it are committed; a credential in them is known to everybody.

    Only what has the look of a well-known kind of credential is found.
    """
    if not secret_in("\n".join(_texts(spec.stated))):
        return
    for at, text in _placed(spec.stated, spec.at):
        kind = secret_in(text)
        if kind:
            yield (
                at,
                f"this looks like {kind}, and the spec is committed",
                "take it out and revoke it; the spec holds names of secrets only",
            )


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of the spec."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            yield from _texts(item)


def _placed(value: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Yield every text of the spec with its place."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for part, item in entries:
        if isinstance(item, str):
            yield at / part, item
        elif isinstance(item, dict | list):
            yield from _placed(item, at / part)

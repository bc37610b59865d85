# Copyright: the gpugen authors. Apache-2.0.
"""What is said about a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def refusal(place: str, turn: Mapping[str, Any]) -> str:
    """Return who may interrupt a place, since when, and what to do.

    place: name of the node, or "the host".
    """
    since, renewed, until = (turn[key][:19] for key in ("since", "renewed", "until"))
    run = turn["run"]
    return (
        f"{place} belongs to run {run.get('id', '')} of {run.get('who', 'somebody')} since"
        f" {since}Z (last step {renewed}Z), which may interrupt it. Wait for its end; if it is gone"
        " for certain, pass -e gpugen_take_over=true. Without that its turn ends at"
        f" {until}Z"
    )


def left(place: str, former: Mapping[str, Any]) -> str:
    """Return from whom a turn was taken."""
    return f"{place} was left by run {former['id']} of {former['who']}; this run goes on with it"

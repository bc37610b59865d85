"""The rows of the YAML files beside this: rules, mutations, and the variables that they read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gpugen.catalog import reading

_REFERENCE = re.compile(r"\bvariables\.(\w+)")


class Rule(NamedTuple):
    """One thing that is validated. expression: true where all is well; message: CEL."""

    id: str
    is_certain: bool
    where: str  # the fact without which it is left out; empty: none
    expression: str
    message: str
    summary: str  # told where the message cannot be made

    def validation(self) -> dict[str, str]:
        """Return the rule as an entry of a policy."""
        return {
            "expression": self.expression,
            "message": f"[{self.id}] {self.summary}",
            "messageExpression": f"'[{self.id}] ' +\n{self.message}",
            "reason": "Forbidden",  # kubectl prints "invalid: :" for the default
        }


class Mutation(NamedTuple):
    """One thing that a pod is given."""

    id: str
    where: str
    expression: str

    def patch(self) -> dict[str, Any]:
        """Return the mutation as an entry of a policy."""
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": self.expression}}


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, the most fundamental first."""
    return tuple(
        Rule(
            row["id"],
            row["certain"],
            row.get("where", ""),
            row["expression"],
            row["message"],
            row["summary"],
        )
        for row in read("rules")
    )


@cache
def mutations() -> tuple[Mutation, ...]:
    """Return all mutations."""
    return tuple(Mutation(**row) for row in read("completion"))


def conditions(name: str) -> list[dict[str, str]]:
    """Return when a request is looked at: ``conditions`` of rules, ``completed`` of mutations."""
    return named(_shared()[name].items())


def variables(facts: Mapping[str, str], texts: Iterable[str]) -> list[dict[str, str]]:
    """Return the variables that these expressions need, in an order in which they can be read.

    facts: those of the cluster, as CEL.
    """
    return named(_needed({**facts, **_shared()["variables"]}, texts))


def _needed(everything: Mapping[str, str], texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    needed: set[str] = set()
    new = set(_REFERENCE.findall(" ".join(texts)))
    while new:
        needed |= new
        new = {name for text in new for name in _REFERENCE.findall(everything[text])} - needed
    return ((name, text) for name, text in everything.items() if name in needed)


def named(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return names and expressions as entries of a policy."""
    return [{"name": name, "expression": text} for name, text in pairs]


@cache
def _shared() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = read("variables")
    return found


def read(name: str) -> Any:
    """Return the content of a YAML file of this folder."""
    return reading.parse(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))

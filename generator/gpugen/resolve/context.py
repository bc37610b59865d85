"""What the parts of one spec are resolved with; names that nobody knows become findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from gpugen.catalog import Catalog, UnknownRow
from gpugen.model.finding import MOST_OF_A_KIND, Finding, Pointer
from gpugen.resolve.host_lines import Hosts

T = TypeVar("T")


class Context(NamedTuple):
    """One spec, what is looked up for it, and what was not found."""

    stated: Mapping[str, Any]  # as the user wrote it
    catalog: Catalog
    hosts: Hosts
    findings: list[Finding]
    missing: dict[str, list[int]]  # setting that is not stated -> the pools

    def row(self, find: Callable[[Any], T], key: object, at: Pointer) -> T | None:
        """Look a name up; an unknown one becomes a finding with similar names, up to a hundred."""
        if len(self.findings) >= MOST_OF_A_KIND:
            return None
        try:
            return find(key)
        except UnknownRow as unknown:
            self.findings.append(
                Finding(
                    f"unknown-{unknown.kind}",
                    unknown.message,
                    f"{unknown.meant} 'gpugen catalog {unknown.section}' lists them".lstrip(),
                    at,
                )
            )
            return None

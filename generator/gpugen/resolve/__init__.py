"""Stage 3: plain data becomes a ClusterSpec, with defaults, and names looked up in the catalogue.

The only translator from spec keys to model names. An unknown name is a finding of this stage;
whatever a schema cannot say about known names is a check's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen.catalog import Catalog
from gpugen.model.finding import MOST_OF_A_KIND, ROOT, Finding
from gpugen.model.spec import ClusterSpec
from gpugen.resolve import host_lines
from gpugen.resolve.cluster import cluster
from gpugen.resolve.context import Context
from gpugen.resolve.schema import root_schema

__all__ = ["resolve", "root_schema"]


def resolve(
    data: Mapping[str, Any], catalog: Catalog, source: str
) -> tuple[ClusterSpec | None, list[Finding]]:
    """Return the spec, or the findings about unknown names.

    data: a spec that the schema passed. source: its path relative to the repository's root.
    """
    context = Context(data, catalog, host_lines.listed(data), [], {})
    spec = cluster(context, source)
    found = context.findings
    if len(found) >= MOST_OF_A_KIND:
        hint = "correct the first ones; the others may have the same cause"
        found.append(Finding(found[-1].id, "and possibly more unknown names", hint, ROOT))
    return (None if found else spec), found

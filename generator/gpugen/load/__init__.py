"""Stage 1: a spec file and its layers to plain data that knows the place of every value."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpugen.load.document import Document, Locator, Origin, stack_of
from gpugen.load.faults import MAX_FAULTS, OF_ONE_VALUE
from gpugen.load.layers import Reader, Stacking
from gpugen.load.merging import merged
from gpugen.model.finding import Finding

__all__ = ["Document", "Locator", "Origin", "Reader", "load", "why"]


def load(
    path: Path, boundary: Path, reader: Reader | None = None
) -> tuple[Document | None, list[Finding]]:
    """Read a spec and the layers that it extends.

    boundary: the folder that no layer may lie outside of. reader: shared by specs of one run.
    Returns a document as long as nothing but single values is wrong; the findings about these say
    where in the spec they are. Raises GpugenError: a file cannot be read.
    """
    stacking = Stacking(reader or Reader(), boundary)
    stacking.add(path)
    is_local = all(finding.id in OF_ONE_VALUE for finding in stacking.findings)
    if not (is_local and stacking.is_readable and len(stacking.findings) < MAX_FAULTS):
        return None, stacking.findings
    files = tuple(stacking.sources)
    document = Document(path, merged(stack_of([(source, None) for source in files])), files)
    if stacking.findings:
        from gpugen.load.doubtful import placed

        return document, placed(document, stacking.findings)
    return document, []


@cache
def why() -> dict[str, str]:
    """Return a sentence about each thing that can be wrong with a file, by the finding's id."""
    from gpugen.load.messages import FAULTS

    return {name: words.why for name, words in FAULTS.items()}

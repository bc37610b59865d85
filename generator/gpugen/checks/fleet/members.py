"""A cluster as a member of a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gpugen.load import Document
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec


class Member(NamedTuple):
    """A cluster of the fleet; number: of its outcome."""

    number: int
    spec: ClusterSpec
    document: Document
    root: Path

    def place(self, at: Pointer) -> str:
        """Return file, line and column for a message about another cluster."""
        found = self.document.locate(at)
        path = Path(found.path)
        near = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        return f"{near.as_posix()}:{found.line}:{found.column}"

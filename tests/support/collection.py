"""The checkout as the collection gpugen.hosts."""

from __future__ import annotations

from pathlib import Path

from support import ROOT


def collections(folder: Path, root: Path = ROOT) -> Path:
    """Return a folder below this one in which a checkout is the collection."""
    found = folder / "collections"
    link = found / "ansible_collections" / "gpugen" / "hosts"
    if not link.is_symlink():
        link.parent.mkdir(parents=True)
        link.symlink_to(root)
    return found

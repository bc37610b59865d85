"""The collection gpugen.hosts for tests: the checkout itself, or copied as gpugen renders it."""

from __future__ import annotations

from pathlib import Path

from gpugen.hosts import collection
from support import ROOT


def collections(folder: Path, root: Path = ROOT) -> Path:
    """Return a folder below this one in which the checkout, or a copy of it, is the collection."""
    found = folder / "collections"
    link = found / "ansible_collections" / "gpugen" / "hosts"
    if not link.is_symlink():
        link.parent.mkdir(parents=True)
        link.symlink_to(root)
    return found


def beside(cluster: Path) -> Path:
    """Write the collection where the ansible.cfg below a cluster's folder looks for it.

    Returns its folder.
    """
    top = cluster.parent / collection.SHARED / collection.NAMESPACE
    for path, content in collection.files():
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return top

"""The files of one cluster before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath


class Tree:
    """Paths and bytes, write-once: two writers of one path are a bug, never a race."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._folders: set[str] = set()
        self._owners: dict[str, str] = {}
        self.owners: set[str] = set()

    def add(self, path: str, content: str | bytes, owner: str = "") -> None:
        """Add one file to the tree; path is relative with forward slashes.

        owner: the pool or role whose own file it is, none for what the cluster shares. Raises
        ValueError: path leaves the tree, is taken, or is needed as a folder.
        """
        if path in self._files:
            raise ValueError(f"two writers for {path!r}")
        folder = path.rpartition("/")[0]
        if folder not in self._folders:
            self._add_folder(folder)
        name = path.rpartition("/")[2]
        if path in self._folders or name in ("", ".", "..") or "\\" in name or "\0" in name:
            raise ValueError(f"{path!r} cannot be a file of the tree")
        self._files[path] = content.encode() if isinstance(content, str) else content
        if owner:
            self._owners[path] = owner
            self.owners.add(owner)

    def share(self, owners: Iterable[str]) -> None:
        """Name pools or roles that own parts of shared files, each behind its mark."""
        self.owners.update(owners)

    def _add_folder(self, folder: str) -> None:
        parts = folder.split("/") if folder else []
        if any(p in ("", ".", "..") or "\\" in p or "\0" in p for p in parts):
            raise ValueError(f"{folder!r} leaves the tree")
        for length in range(1, len(parts) + 1):
            prefix = "/".join(parts[:length])
            if prefix in self._files:
                raise ValueError(f"{prefix!r} is a file and a folder")
            self._folders.add(prefix)
        self._folders.add(folder)

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return iter(sorted(self._files.items()))

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def __getitem__(self, path: str) -> bytes:
        return self._files[path]

    def owner_of(self, path: str) -> str:
        """Return the pool or role whose own file it is, empty for what the cluster shares."""
        return self._owners.get(path, "")

    def below(self, folder: str) -> list[str]:
        """List the paths under a folder, sorted."""
        return sorted(p for p in self._files if PurePosixPath(folder) in PurePosixPath(p).parents)

"""Brings upstream's CRDs from their Go modules; none is kept in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.upstream import cache, golang
from support.upstream.table import CrdSet, CrdSource, table


def crds(name: str) -> list[Path]:
    """Return the CRD files of one set, sorted; empty where they were not brought yet.

    Raises KeyError: no row of programs.toml names it.
    """
    return sorted(folder_of(table().crd_set(name)).glob("*.yaml"))


def folder_of(crd_set: CrdSet) -> Path:
    """Return where the files of a set lie, or would lie."""
    parts = [part for s in crd_set.sources for part in (s.path, s.version, s.checksum, s.folder)]
    return cache.root() / f"crds-{crd_set.name}-{cache.digest(parts)}"


def bring(crd_set: CrdSet) -> Path:
    """Bring the files of a set if they are missing and return their folder.

    Raises golang.UnavailableError: a module cannot be had or is not the one that was pinned.
    """
    folder = folder_of(crd_set)
    if not folder.is_dir():
        cache.install(folder, lambda unfinished: _copy_all(crd_set, unfinished))
    return folder


def _copy_all(crd_set: CrdSet, folder: Path) -> None:
    for source in crd_set.sources:
        record = golang.download(source.path, source.version)
        if record["Sum"] != source.checksum:
            raise golang.UnavailableError(
                f"{source.path} {source.version} has the checksum {record['Sum']}, "
                f"programs.toml says {source.checksum}"
            )
        _copy(source, Path(record["Dir"]), folder)


def _copy(source: CrdSource, module: Path, folder: Path) -> None:
    copied = 0
    for path in sorted((module / source.folder).glob("*.yaml")):
        if b"\nkind: CustomResourceDefinition\n" in path.read_bytes():
            shutil.copyfile(path, folder / path.name)  # without its read-only mode
            copied += 1
    if not copied:
        raise golang.UnavailableError(
            f"{source.path} {source.version} has no CRD in {source.folder}"
        )

"""Which specs a repository has, and what looks like one but is not read.

A cluster whose spec is only not seen must never be taken for one that is gone: its output would be
deleted while its machines run. So whatever could be a spec and is none by its place is an error.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpugen.errors import GpugenError
from gpugen.model.finding import Finding, Location, Severity

INVENTORIES = "inventories"
SPEC = "cluster.yaml"
HIDDEN = ("_", ".")  # folders that begin so are never clusters

_DEEPEST, _MOST = 8, 5_000  # folders in one another and entries that are looked through
_READ = 64 * 1024  # bytes of a file in which its kind has to show
_LIKE_SPEC = re.compile(r"[\W_]*clusters?(?:[\W_]*|[\W_]+(?:ya?ml|json)(?:\W.*)?)\Z", re.I | re.S)
_YAML = (".yaml", ".yml", ".json")
_KIND = re.compile(rb"""^[\s{,]*["']?kind["']?\s*:\s*["']?Cluster["']?\s*(?:[,}#].*)?$""", re.M)
_MODULE = re.compile(r"^[ \t]*path[ \t]*=[ \t]*(\S.*?)[ \t]*$", re.M)
_OURS = re.compile(rb"""["']?apiVersion["']?\s*:\s*["']?gpugen/""")
_NAME = re.compile(
    rb"""^[\s{,]*["']?name["']?\s*:\s*["']?([a-z0-9-]{1,80})["']?\s*(?:[,}#].*)?$""", re.M
)


class Seen(NamedTuple):
    """What lies below inventories/. clusters: folders with a spec; findings: what is not read."""

    clusters: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def look(root: Path) -> Seen:
    """Return the clusters of a repository, sorted, and what looks like a spec elsewhere.

    Raises GpugenError: a folder cannot be read, so nobody knows what is in it.
    """
    clusters: list[str] = []
    findings: list[Finding] = []
    for entry in _entries(root / INVENTORIES):
        if entry.name.startswith(HIDDEN):
            continue
        path = Path(entry.path)
        if not _is_folder(path):
            findings += _beside(path, root)
        elif _is_file(path / SPEC):
            clusters.append(entry.name)
        else:
            findings += _without_spec(path, root)
    return Seen(tuple(clusters), tuple(findings))


def hidden(root: Path, cluster: str) -> Finding | None:
    """Return what says that a cluster's spec is only put aside, in a folder that is never read.

    Such folders begin with ``_`` or a dot. A git submodule that is not checked out hides specs,
    too. Raises GpugenError: a folder cannot be read.
    """
    if module := _module_of(root, cluster):
        return Finding(
            "spec-not-seen",
            f"{module} is a git submodule without a spec of {cluster!r}; --prune keeps its output",
            "check it out; if the cluster is gone, remove the submodule from .gitmodules",
            severity=Severity.WARNING,
            location=Location(str(root / ".gitmodules"), 1, 1),
        )
    for entry in _entries(root / INVENTORIES):
        path = Path(entry.path)
        if not entry.name.startswith(HIDDEN) or not _is_folder(path):
            continue
        for found in _like_specs(path, 0, [0]):
            if entry.name.lstrip("_.") == cluster or _name_in(found) == cluster:
                return Finding(
                    "spec-not-seen",
                    f"{found.relative_to(root)} looks like the spec of {cluster!r}, but folders"
                    f" that begin with {entry.name[0]!r} are not read; --prune keeps its output",
                    f"name the folder {cluster} if the cluster is to stay; else delete the file",
                    severity=Severity.WARNING,
                    location=Location(str(found), 1, 1),
                )
    return None


def _module_of(root: Path, cluster: str) -> str:
    """Return the path of a git submodule in which a cluster's spec would lie, or nothing."""
    modules = root / ".gitmodules"
    text = _beginning(modules).decode(errors="replace") if _is_file(modules) else ""
    home = f"{INVENTORIES}/{cluster}/"
    paths = (match[1].strip('"/') for match in _MODULE.finditer(text))
    return next((p for p in paths if f"{p}/".startswith(home) or home.startswith(f"{p}/")), "")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(path: Path, error: OSError) -> GpugenError:
    return GpugenError(
        f"cannot read {path}: {error.strerror}",
        "what cannot be seen may be a cluster, so nothing is rendered or deleted",
    )


def _status(path: Path) -> os.stat_result | None:
    """Return what a path leads to; None for nothing, a link to nowhere, or a ring of links."""
    try:
        return path.stat()
    except PermissionError as error:
        raise _unreadable(path, error) from error
    except OSError:
        return None


def _is_file(path: Path) -> bool:
    status = _status(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def _is_folder(path: Path) -> bool:
    status = _status(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _beside(path: Path, root: Path) -> Iterator[Finding]:
    """Check what lies in inventories/ itself and is no folder."""
    if not _is_file(path):
        yield _not_seen(path, root, "is neither a folder nor a file, so it has no spec")
    elif _is_like_spec(path):
        yield _not_seen(path, root, "is beside the clusters' folders, where specs are not read")


def _without_spec(folder: Path, root: Path) -> Iterator[Finding]:
    """Return what is wrong with a folder that has no ``cluster.yaml``."""
    found = next(_like_specs(folder, 0, [0]), None)
    if found is None:
        yield Finding(
            "folder-without-spec",
            f"{folder.relative_to(root)} has no {SPEC}, so it is not a cluster",
            "delete it, or begin its name with _ if it holds layers or other files",
            severity=Severity.WARNING,
            location=Location(str(folder), 1, 1),
        )
    elif found == folder:
        yield _not_seen(
            found, root, f"holds more than {_MOST} entries; it is unknown whether one is a spec"
        )
    elif found == folder / SPEC:
        yield _not_seen(found, root, "is not a file, or a broken link")
    else:
        yield _not_seen(found, root, "looks like a spec, but is not read")


def _not_seen(path: Path, root: Path, why: str) -> Finding:
    return Finding(
        "spec-not-seen",
        f"{path.relative_to(root)} {why}",
        f"a spec is the file {INVENTORIES}/<cluster>/{SPEC}; rename, correct or delete this one",
        location=Location(str(path), 1, 1),
    )


def _like_specs(folder: Path, depth: int, count: list[int]) -> Iterator[Path]:
    """Yield what could be a spec below a folder; the top folder itself where it is too much."""
    for entry in _entries(folder):
        count[0] += 1
        if count[0] > _MOST or depth > _DEEPEST:
            yield folder if depth == 0 else folder.parents[depth - 1]
            return
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if entry.name == SPEC:
                yield path
            yield from _like_specs(path, depth + 1, count)
        elif _is_like_spec(path):
            yield path


def _is_like_spec(path: Path) -> bool:
    """Tell by the name; where that says nothing, by the content."""
    if _LIKE_SPEC.match(path.name):
        return True
    if not _is_file(path):
        return path.suffix.lower() in _YAML
    text = _beginning(path)
    return bool(_KIND.search(text) and _OURS.search(text))


def _name_in(path: Path) -> str:
    match = _NAME.search(_beginning(path)) if _is_file(path) else None
    return match[1].decode() if match else ""


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_READ)
    except PermissionError as error:
        raise _unreadable(path, error) from error
    except OSError:
        return b""

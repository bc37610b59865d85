"""Checks of names that become files or folders: every system must be able to check them out."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec

RESERVED = frozenset(  # names of devices, whatever follows after a dot
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))]
)


@check("file-name-not-portable")
def portable(spec: ClusterSpec) -> Iterator[Problem]:
    """Windows cannot check out a repository with such a name.

    Device names (con, nul, com1 ...), with or without an extension, and names that end in a dot are
    not allowed there, and names that differ only in case are one file. Source: Microsoft, Naming
    Files, Paths, and Namespaces.
    """
    names = [(spec.at / "name", "cluster", spec.name)]
    names += [(pool.at / "name", "pool", pool.name) for pool in spec.pools]
    for at, what, name in names:
        if why := unportable(name):
            yield Problem(
                at=at,
                message=f"{what} {name!r} becomes a folder, and {why}",
                hint="choose another name",
            )
    yield from _key_files(spec)


def unportable(path: str) -> str:
    """Return why Windows does not allow the path; empty if it does."""
    for step in path.split("/"):
        if step.partition(".")[0].rstrip(" ").lower() in RESERVED:
            return f"{step!r} is a device name on Windows"
        if step.endswith((".", " ")):
            return f"Windows drops the trailing dot or space of {step!r}"
    return ""


def _key_files(spec: ClusterSpec) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for at, path in _stated_keys(spec):
        if why := unportable(path):
            yield Problem(
                at=at,
                message=f"the key {path!r} is copied into the output, and {why}",
                hint="rename the file",
            )
        elif seen.setdefault(path.lower(), path) != path:
            yield Problem(
                at=at,
                message=f"{path!r} and {seen[path.lower()]!r} are one file on Windows and macOS",
                hint="use one spelling, or rename one of the files",
            )


def _stated_keys(spec: ClusterSpec) -> Iterator[tuple[Pointer, str]]:
    for pool in spec.pools:
        stated = pool.host.repositories
        for one in (stated.both, stated.driver, stated.container_toolkit):
            if one is not None and one.key_file:
                yield one.at / "keyFile", one.key_file

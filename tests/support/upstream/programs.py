"""Builds the upstream programs and finds them again."""

from __future__ import annotations

from pathlib import Path

from support.upstream import cache, golang
from support.upstream.table import Build, table


def program(name: str) -> Path | None:
    """Return a built program, or None where it was not built yet.

    Raises KeyError: no row of programs.toml names it. Raises golang.UnavailableError: no Go.
    """
    build = table().build_of(name)
    path = folder_of(build) / name
    return path if path.is_file() else None


def folder_of(build: Build) -> Path:
    """Return where the programs of a build lie, or would lie."""
    return cache.root() / f"{build.name}-{key(build)}"


def key(build: Build) -> str:
    """Return the digest of all that decides the programs' bytes: sources, flags, Go."""
    files = sorted(path for path in build.folder.rglob("*") if path.is_file())
    parts: list[str | bytes] = [golang.toolchain(), *_arguments(build), str(build.has_cgo)]
    for path in files:
        parts += [path.relative_to(build.folder).as_posix(), path.read_bytes()]
    return cache.digest(parts)


def make(build: Build) -> Path:
    """Build what is missing and return the folder of the programs.

    Raises golang.UnavailableError: Go is missing or refuses.
    """
    folder = folder_of(build)
    if not folder.is_dir():
        cache.install(folder, lambda unfinished: _compile(build, unfinished))
    return folder


def _compile(build: Build, folder: Path) -> None:
    # A program's name is not always its package's, and only -o FILE can say so.
    alone = f"/{build.programs[0].name}" if len(build.programs) == 1 else "/"
    arguments = [*_arguments(build)[:1], "-o", f"{folder}{alone}", *_arguments(build)[1:]]
    golang.run(*arguments, folder=build.folder, has_cgo=build.has_cgo)


def _arguments(build: Build) -> list[str]:
    major, minor, _ = build.version.removeprefix("v").split(".")
    bare = build.version.removeprefix("v")
    stamps = " ".join(
        "-X " + stamp.format(version=build.version, bare=bare, major=major, minor=minor)
        for stamp in build.stamps
    )
    return [
        "build",
        "-p=2",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        f"-tags={','.join(build.tags)}",
        f"-ldflags=-s -w {stamps}".rstrip(),
        *(each.package for each in build.programs),
    ]

"""The rows of programs.toml: which programs and schemas validate gpugen's output."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Group(StrEnum):
    """When something is built: by default and in CI, or only when asked for."""

    CORE = "core"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Program:
    """One program and what it can say about a rendered file."""

    name: str
    package: str
    validates: str
    hello: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Build:
    """The programs that one `go build` makes from one Go module."""

    name: str
    folder: Path  # of go.mod and go.sum
    path: str  # upstream's Go module
    version: str
    group: Group
    has_cgo: bool
    tags: tuple[str, ...]
    stamps: tuple[str, ...]
    programs: tuple[Program, ...]


@dataclass(frozen=True, slots=True)
class CrdSource:
    """A folder of CRD files inside one Go module."""

    path: str
    version: str
    checksum: str
    folder: str


@dataclass(frozen=True, slots=True)
class CrdSet:
    """CRDs that are installed together."""

    name: str
    validates: str
    group: Group
    sources: tuple[CrdSource, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Everything that can be asked for by name."""

    builds: tuple[Build, ...]
    crd_sets: tuple[CrdSet, ...]

    def build_of(self, program: str) -> Build:
        """Return the build that makes a program.

        Raises KeyError: no row names it.
        """
        for build in self.builds:
            if any(each.name == program for each in build.programs):
                return build
        raise KeyError(program)

    def crd_set(self, name: str) -> CrdSet:
        """Return one set of CRDs.

        Raises KeyError: no row names it.
        """
        for crd_set in self.crd_sets:
            if crd_set.name == name:
                return crd_set
        raise KeyError(name)


@cache
def table() -> Table:
    """Return the rows of programs.toml."""
    rows = tomllib.loads((HERE / "programs.toml").read_text(encoding="utf-8"))
    return Table(
        builds=tuple(_build(row) for row in rows["build"]),
        crd_sets=tuple(_crd_set(row) for row in rows["crds"]),
    )


def _build(row: dict[str, Any]) -> Build:
    return Build(
        name=row["name"],
        folder=HERE / "modules" / row.get("module", row["name"]),
        path=row["path"],
        version=row["version"],
        group=Group(row["group"]),
        has_cgo=row.get("cgo", False),
        tags=tuple(row.get("tags", ())),
        stamps=tuple(row.get("stamps", ())),
        programs=tuple(_program(each) for each in row["program"]),
    )


def _program(row: dict[str, Any]) -> Program:
    return Program(
        name=row["name"],
        package=row["package"],
        validates=row["validates"],
        hello=tuple(row.get("hello", ("--version",))),
        note=row.get("note", ""),
    )


def _crd_set(row: dict[str, Any]) -> CrdSet:
    sources = tuple(
        CrdSource(source["path"], source["version"], source["sum"], source["folder"])
        for source in row["source"]
    )
    return CrdSet(row["name"], row["validates"], Group(row["group"]), sources)

"""The command line of the upstream programs: build, list, print the table, tidy."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support.upstream import crds, golang, programs
from support.upstream.table import Build, Group, table
from support.upstream.tidy import tidy


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that can be asked for by name."""

    name: str
    version: str
    group: Group
    validates: str
    note: str
    made_by: str  # what makes it makes all rows that say the same
    where: Callable[[], Path]
    make: Callable[[], Path]


def rows() -> Iterator[Row]:
    """Yield a row for every program and every set of CRDs, in the order of programs.toml."""
    for build in table().builds:
        for each in build.programs:
            yield Row(
                name=each.name,
                version=build.version,
                group=build.group,
                validates=each.validates,
                note=each.note,
                made_by=build.name,
                where=partial(_program, build, each.name),
                make=partial(programs.make, build),
            )
    for crd_set in table().crd_sets:
        yield Row(
            name=f"crds-{crd_set.name}",
            version=" ".join(dict.fromkeys(source.version for source in crd_set.sources)),
            group=crd_set.group,
            validates=crd_set.validates,
            note="",
            made_by=f"crds-{crd_set.name}",
            where=partial(crds.folder_of, crd_set),
            make=partial(crds.bring, crd_set),
        )


def _program(build: Build, name: str) -> Path:
    return programs.folder_of(build) / name


def main(arguments: list[str]) -> int:
    """Run one command; 0 done, 1 something could not be had, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="build.py", description="Build the real programs that validate what gpugen writes."
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="what to build (default: core)")
    parser.add_argument("--all", action="store_true", help="build the extra group too")
    parser.add_argument(
        "--list", action="store_true", help="name, version, state, what it validates"
    )
    parser.add_argument("--table", action="store_true", help="the table of upstream.md")
    parser.add_argument("--tidy", action="store_true", help="rewrite module files of NAME")
    asked = parser.parse_args(arguments)
    every = list(rows())
    known = {row.name for row in every} | {row.made_by for row in every}
    if unknown := sorted(set(asked.names) - known):
        parser.error(f"no upstream program is called {', '.join(unknown)}; --list shows them")
    chosen = [row for row in every if _is_chosen(row, asked.names, asked.all)]
    if asked.table:
        print("\n".join(markdown()))
        return 0
    try:
        if asked.list:
            _list(every)
            return 0
        return _tidy(chosen) if asked.tidy else _make(chosen)
    except golang.UnavailableError as problem:
        print(problem)
        return 1


def _is_chosen(row: Row, names: list[str], everything: bool) -> bool:
    if names:
        return row.name in names or row.made_by in names
    return everything or row.group is Group.CORE


def _make(chosen: list[Row]) -> int:
    golang.go()
    began = time.monotonic()
    missing = 0
    makers = {row.made_by: row for row in chosen}
    for name, row in makers.items():
        missing += _make_one(name, [r.name for r in chosen if r.made_by == name], row)
    print(f"{len(makers) - missing} of {len(makers)} had in {time.monotonic() - began:.1f} s")
    return 1 if missing else 0


def _make_one(name: str, parts: list[str], row: Row) -> int:
    began = time.monotonic()
    was_there = row.where().exists()
    contains = f" ({', '.join(parts)})" if parts != [name] else ""
    print(f"{name} {row.version}{contains} ... ", end="", flush=True)
    try:
        folder = row.make()
    except golang.UnavailableError as problem:
        print(f"not to be had after {time.monotonic() - began:.1f} s\n{problem}")
        return 1
    print("there already" if was_there else f"{time.monotonic() - began:.1f} s", f"in {folder}")
    return 0


def _list(every: list[Row]) -> None:
    width = max(len(row.name) for row in every)
    for row in every:
        state = "built" if row.where().exists() else "missing"
        print(f"{row.name:{width}}  {row.version:9}  {state:7}  {row.group:5}  {row.validates}")


def _tidy(chosen: list[Row]) -> int:
    names = {row.made_by for row in chosen}
    folders = dict.fromkeys(build.folder for build in table().builds if build.name in names)
    for folder in folders:
        print(f"{folder.name} ...", flush=True)
        tidy(folder)
    return 0


def markdown() -> Iterator[str]:
    """Yield the lines of the table in docs/develop/upstream.md."""
    yield "| Program | Version | Group | Validates | What it lets pass |"
    yield "|---|---|---|---|---|"
    for row in rows():
        yield f"| `{row.name}` | {row.version} | {row.group} | {row.validates} | {row.note} |"

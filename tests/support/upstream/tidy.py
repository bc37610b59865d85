"""Rewrites the module files of a build after its version was changed in programs.toml."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.upstream import golang
from support.upstream.table import Build, table

GO_FLOOR = "1.26"


def tidy(folder: Path) -> None:
    """Write go.mod and go.sum of one module folder anew, from its rows and upstream's files.

    Everything below the pinned version is what upstream built it with.
    Raises golang.UnavailableError: the version cannot be had; ValueError: its rows disagree.
    """
    builds = [build for build in table().builds if build.folder == folder]
    if len({(build.path, build.version) for build in builds}) != 1:
        raise ValueError(f"the rows of {folder.name} name different modules or versions")
    record = golang.download(builds[0].path, builds[0].version)
    upstream = json.loads(golang.run("mod", "edit", "-json", record["GoMod"]).stdout)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [*_head(builds), *_replacements(upstream, builds[0].version)]
    (folder / "go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # Upstream's checksums first: some of them are not on record elsewhere any more.
    (folder / "go.sum").unlink(missing_ok=True)
    shutil.copyfile(Path(record["Dir"]) / "go.sum", folder / "go.sum")
    golang.run("mod", "tidy", folder=folder)


def _head(builds: list[Build]) -> Iterator[str]:
    yield f"module gpugen/readers/{builds[0].folder.name}\n"
    yield f"go {GO_FLOOR}\n"
    packages = sorted(each.package for build in builds for each in build.programs)
    for package in packages:
        if not package.startswith("./"):
            yield f"tool {package}"
    yield f"\nrequire {builds[0].path} {builds[0].version}\n"


def _replacements(upstream: dict[str, Any], version: str) -> Iterator[str]:
    """Yield upstream's replacements, which Go does not inherit.

    Kubernetes replaces its parts by folders; outside they are modules, v1.X.Y as v0.X.Y. Parts of
    others, by folders too, have the version of the whole.
    """
    for row in upstream.get("Replace") or ():
        old, new = row["Old"]["Path"], row["New"]
        if "Version" in new:
            yield f"replace {old} => {new['Path']} {new['Version']}"
        elif new["Path"].startswith("./staging/"):
            yield f"replace {old} => {old} v0{version.removeprefix('v1')}"
        elif new["Path"].startswith("./"):
            yield f"replace {old} => {old} {version}"

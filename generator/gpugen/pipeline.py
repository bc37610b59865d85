"""Stages 1 to 6 in order, the only file that knows them all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpugen import assets
from gpugen.catalog import Catalog
from gpugen.load import Document, Reader, load, specs
from gpugen.load.specs import INVENTORIES, SPEC, Seen
from gpugen.model.finding import ROOT, Finding, is_fatal
from gpugen.model.record import NOTHING, record
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree


@record
class Outcome:
    """What the stages made of one spec file. spec is None where they could not go on."""

    path: Path
    document: Document | None
    spec: ClusterSpec | None
    findings: list[Finding]
    keys: Mapping[str, bytes] = NOTHING  # repository keys by their path


class Workspace:
    """A user's repository: its specs, its additions to the catalogue; read once per run."""

    def __init__(self, root: Path | None) -> None:
        """Take the repository's root; None judges specs that belong to no repository."""
        self.root = root
        self.catalog = Catalog(root / "catalog" if root else None)
        self.reader = Reader()
        self._seen: Seen | None = None

    def seen(self) -> Seen:
        """Return the clusters, and what looks like a spec but is not read.

        Raises GpugenError: a folder below inventories/ cannot be read.
        """
        if self._seen is None:
            self._seen = specs.look(self.root) if self.root else Seen()
        return self._seen

    def clusters(self) -> list[str]:
        """List the clusters: folders below inventories/ whose name does not begin with ``_``."""
        return list(self.seen().clusters)

    def spec_path(self, cluster: str) -> Path:
        """Return where the spec of a cluster lies."""
        assert self.root is not None
        return self.root / INVENTORIES / cluster / SPEC

    def owns(self, path: Path) -> bool:
        """Tell whether a spec is one of this repository's clusters."""
        return self.root is not None and path.resolve().parent.parent == (self.root / INVENTORIES)

    def judge(self, path: Path) -> Outcome:
        """Load, validate, resolve and check one spec; every finding of a stage at once."""
        from gpugen.validate import validate

        at_home = self.owns(path)
        document, findings = load(path, self._boundary(path), self.reader)
        if document is None or is_fatal(findings):
            return Outcome(path, document, None, findings)
        if foreign := self._not_rendered(document.data):
            return Outcome(path, document, None, foreign)
        findings += validate(document.data)
        if is_fatal(findings):
            return Outcome(path, document, None, findings)
        return self._judge_meaning(path, document, findings, at_home)

    def _not_rendered(self, data: Mapping[str, Any]) -> list[Finding]:
        """Return why the distribution is not rendered for: before all else, which it makes idle."""
        from gpugen.checks import cluster

        stated = data.get("kubernetes")
        name = stated.get("distribution") if isinstance(stated, dict) else None
        if not isinstance(name, str) or name not in self.catalog.ids("distributions"):
            return []
        row = self.catalog.distribution(name)
        check = cluster.distribution
        problems = cluster.not_rendered(row)
        return [Finding(check.id, why, hint, at, tags=check.tags) for at, why, hint in problems]

    def _boundary(self, path: Path) -> Path:
        """Return the folder that neither the spec nor a layer of it may lie outside of."""
        if self.root and (_is_below(path.parent, self.root) or _lies_in(path, self.root)):
            return self.root
        return path.parent

    def _judge_meaning(
        self, path: Path, document: Document, findings: list[Finding], at_home: bool
    ) -> Outcome:
        from gpugen import checks
        from gpugen.resolve import resolve

        data = document.data
        if at_home and path.parent.name != data["name"]:
            findings.append(_misnamed(path.parent.name, data["name"]))
        spec, more = resolve(data, self.catalog, self._source(path))
        findings += more
        if spec is None:
            return Outcome(path, document, None, findings)
        for check in checks.discover():
            findings += check.run(spec)
        keys, more = self._keys(spec) if at_home else ({}, [])
        findings += more
        return Outcome(path, document, spec, findings, keys)

    def _source(self, path: Path) -> str:
        if self.root and _is_below(path, self.root):
            return path.resolve().relative_to(self.root).as_posix()
        return path.name

    def _keys(self, spec: ClusterSpec) -> tuple[dict[str, bytes], list[Finding]]:
        """Read the repository keys that the spec names."""
        from gpugen.catalog.packages import package_sources
        from gpugen.checks import key_files

        assert self.root is not None
        keys: dict[str, bytes] = {}
        findings = []
        known = (source for pool in spec.pools for source in package_sources(pool))
        sources = {(s.at, s.key_file, s.fingerprint): s for s in known if s.fingerprint}
        for source in sources.values():
            path = self.root / source.key_file
            if fault := key_files.fault(path, self.root, source):
                findings.append(fault)
            elif source.key_file not in keys:
                keys[source.key_file] = key_files.read(path)
        return keys, findings

    def inputs(self, outcome: Outcome) -> str:
        """Return one digest of all that the output follows from: spec, layers, catalogue, code."""
        assert outcome.document is not None
        digest = hashlib.sha256(product_digest().encode())
        digest.update(self.catalog.user_digest().encode())
        for source in outcome.document.files:
            digest.update(hashlib.sha256(source.raw).digest())
        for path, key in sorted(outcome.keys.items()):
            digest.update(path.encode() + hashlib.sha256(key).digest())
        return digest.hexdigest()

    def build(self, outcome: Outcome) -> Tree:
        """Assembly and render a spec that has no errors."""
        from gpugen.assemble import assemble
        from gpugen.render import render

        assert outcome.spec is not None
        tree = render(outcome.spec, assemble(outcome.spec))
        for path, key in outcome.keys.items():
            tree.add(f"ansible/files/{path}", key)
        return tree


@cache
def product_digest() -> str:
    """Return a digest of gpugen itself: code, catalogue, roles, schemas."""
    digest = hashlib.sha256()
    for name, folder in (
        ("gpugen", assets.PACKAGE),
        ("roles", assets.roles()),
        ("schemas", assets.schemas()),
    ):
        for path, content in _files(str(folder), name):
            digest.update(f"{path}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _files(folder: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield what a folder ships, sorted by name; not what Python or the wheel put beside it."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name in ("__pycache__", "_assets") or entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _files(entry.path, f"{name}/{entry.name}")
        else:
            with open(entry.path, "rb") as file:  # noqa: PTH123 - 500 files in 5 ms
                yield f"{name}/{entry.name}", file.read()


def _lies_in(path: Path, folder: Path) -> bool:
    """Tell whether a path lies in a folder by its name, wherever links on the way lead."""
    return Path(os.path.abspath(path)).is_relative_to(folder)  # noqa: PTH100 - links stay


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)


def _misnamed(folder: str, name: Any) -> Finding:
    return Finding(
        "cluster-name-folder",
        f"the cluster is called {name!r} but lies in the folder {folder!r}",
        f"write name: {folder}, or rename the folder; output goes to out/<name>",
        ROOT / "name",
    )


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above ``start`` that has inventories/."""
    start = start.resolve()
    return next((f for f in (start, *start.parents) if (f / INVENTORIES).is_dir()), None)

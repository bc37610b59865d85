"""A user's repository: specs, catalogue, keys, read once per run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpugen.catalog import Catalog
from gpugen.load import Reader, specs
from gpugen.load.specs import INVENTORIES, SPEC, Seen
from gpugen.model.finding import ROOT, Finding, Severity
from gpugen.model.half import HostHalf
from gpugen.model.spec import ClusterSpec

if TYPE_CHECKING:
    from gpugen.report.settings import Settings

SETTINGS = "gpugen.yaml"


class Workspace:
    """A user's repository: its specs, its additions to the catalogue; read once per run."""

    def __init__(self, root: Path | None) -> None:
        """Take the repository's root; None: for specs outside of any repository."""
        self.root = root
        self.catalog = Catalog(root / "catalog" if root else None)
        self.reader = Reader()
        self._seen: Seen | None = None
        self._settings: Settings | None = None

    def seen(self) -> Seen:
        """Return the clusters, and what looks like a spec but is not read.

        Raises GpugenError: a folder below inventories/ cannot be read.
        """
        if self._seen is None:
            self._seen = specs.look(self.root) if self.root else Seen()
        return self._seen

    def settings(self) -> Settings | None:
        """Return what gpugen.yaml says; None where the repository has none.

        Raises GpugenError: the file cannot be read, or requires another gpugen.
        """
        if self._settings is None and self.root and os.path.lexists(self.root / SETTINGS):
            from gpugen.report import explanations, settings

            weights = {
                name: Severity(one.severity)
                for name, one in explanations.findings().items()
                if name not in settings.WHY
            }
            self._settings = settings.read(self.root, weights)
        return self._settings

    def host_half(self) -> HostHalf:
        """Return where the clusters have the collection of the hosts' half."""
        settings = self.settings()
        return settings.host_half if settings else HostHalf()

    def weighed(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings as gpugen.yaml weighs them."""
        settings = self.settings()
        return settings.applied(findings) if settings else list(findings)

    def clusters(self) -> list[str]:
        """List the clusters: folders below inventories/ whose name does not begin with ``_``."""
        return list(self.seen().clusters)

    def spec_path(self, cluster: str) -> Path:
        """Return the path of a cluster's spec."""
        assert self.root is not None
        return self.root / INVENTORIES / cluster / SPEC

    def owns(self, path: Path) -> bool:
        """Tell whether a spec is one of this repository's clusters."""
        return self.root is not None and path.resolve().parent.parent == (self.root / INVENTORIES)

    def boundary(self, path: Path) -> Path:
        """Return the folder that must contain the spec and its layers."""
        if self.root and (_is_below(path.parent, self.root) or _lies_in(path, self.root)):
            return self.root
        return path.parent

    def source_name(self, path: Path) -> str:
        """Return the path of a spec as written in its output."""
        if self.root and _is_below(path, self.root):
            return path.resolve().relative_to(self.root).as_posix()
        return path.name

    def keys(
        self, path: Path, specs: Sequence[ClusterSpec]
    ) -> tuple[dict[str, bytes], list[Finding]]:
        """Read the repository keys of the spec, and compare its name and folder.

        specs: the readings of the spec; what is found is in all of them.
        """
        if not specs or not self.owns(path):
            return {}, []
        (keys, found), *others = (self._keys(spec) for spec in specs)
        found = [finding for finding in found if all(finding in other for _, other in others)]
        return keys, found + _misnamed(path.parent.name, specs[0].name)

    def _keys(self, spec: ClusterSpec) -> tuple[dict[str, bytes], list[Finding]]:
        from gpugen.catalog.packages import package_sources
        from gpugen.checks import key_files

        assert self.root is not None
        keys: dict[str, bytes] = {}
        findings = []
        known = (source for pool in spec.pools for source in package_sources(pool))
        sources = {(s.at, s.key_file, s.fingerprint): s for s in known if s.fingerprint}
        for source in sources.values():
            path = self.root / source.key_file
            if found := key_files.finding(path, self.root, source):
                findings.append(found)
            elif source.key_file not in keys:
                keys[source.key_file] = key_files.read(path)
        return keys, findings


def _misnamed(folder: str, name: str) -> list[Finding]:
    if folder == name:
        return []
    return [
        Finding(
            "cluster-name-folder",
            f"the cluster's name is {name!r}, but its folder is {folder!r}",
            f"write name: {folder}, or rename the folder; output is written to out/<name>",
            ROOT / "name",
        )
    ]


def _lies_in(path: Path, folder: Path) -> bool:
    """Tell whether a path is in a folder by its name, without following links."""
    return Path(os.path.abspath(path)).is_relative_to(folder)  # noqa: PTH100 - links stay


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above ``start`` that has inventories/."""
    start = start.resolve()
    return next((f for f in (start, *start.parents) if (f / INVENTORIES).is_dir()), None)

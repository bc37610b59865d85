"""The catalogue: hardware, drivers, systems, distributions and releases as rows of data.

Every row is one file below this folder, named after its id, so that a command reads only the rows
it needs. A user's repository adds rows or overrides ours in its own ``catalog/*.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpugen.catalog import platforms, reading, rows
from gpugen.model.catalog import DriverBranch, GpuModel, MigGeometry
from gpugen.model.finding import Finding
from gpugen.model.platform import Distribution, KubernetesMinor, OperatingSystem, Release
from gpugen.text.versions import UPGRADE, newer_words, newest_before

if TYPE_CHECKING:
    from gpugen.catalog.user import UserCatalog

__all__ = ["Catalog", "UnknownRow"]

_ID = re.compile(r"[a-z0-9][a-z0-9.-]*\Z")
_T = TypeVar("_T")

VERSIONED = ("drivers", "operatingSystems", "releases", "kubernetes")  # sections whose ids are
KINDS = {  # section -> the word for one row of it, and what `gpugen catalog` calls the section
    "gpus": ("gpu-model", "gpus"),
    "migGeometries": ("mig-geometry", "mig"),
    "drivers": ("driver-branch", "drivers"),
    "operatingSystems": ("operating-system", "systems"),
    "distributions": ("distribution", "distributions"),
    "releases": ("release", "releases"),
    "kubernetes": ("kubernetes-version", "kubernetes"),
}


class UnknownRow(KeyError):  # noqa: N818 says what happened, like FileNotFoundError's siblings
    """The catalogue has no such row.

    kind: the word for a row, with hyphens. section: what ``gpugen catalog`` lists it under.
    close: ids that may be meant, best first. newest: the newest that is known, where this one is
    newer; then no other is meant. what, way: where it names something else, that, as a sentence,
    and what to write instead.
    """

    def __init__(
        self,
        kind: str,
        section: str,
        id: str,
        close: tuple[str, ...],
        newest: str = "",
        *,
        what: str = "",
        way: str = "",
    ) -> None:
        super().__init__(id)
        self.newest = newest
        self.what = what
        self.way = way
        self.kind = kind
        self.section = section
        self.id = id
        self.close = close

    def __str__(self) -> str:
        meant = f"; {self.meant}" if self.close else ""
        return f"the catalogue has no {self.word} {self.id!r}{meant}"

    @property
    def word(self) -> str:
        """The kind as it is written in a sentence."""
        word = self.kind.replace("-", " ")
        return word.replace("gpu", "GPU").replace("mig", "MIG").replace("kubernetes", "Kubernetes")

    @property
    def message(self) -> str:
        """What is wrong, as a sentence."""
        if self.newest:
            word = f"{self.word[0].upper()}{self.word[1:]}"
            return newer_words(f"{word} {self.id!r}", self.newest)
        return self.what or f"no {self.word} {self.id!r} in the catalogue"

    @property
    def meant(self) -> str:
        """A question with the ids that may be meant, or all of them; empty where none is."""
        if self.newest:
            return f"{UPGRADE};"
        if self.what:
            return self.way
        if len(self.close) > 3:
            return f"did you mean one of {', '.join(self.close)}?"
        return f"did you mean {' or '.join(self.close)}?" if self.close else ""


class Catalog:
    """Rows by id: the user's own where their folder has them, else those that gpugen brings."""

    def __init__(self, user_folder: Path | None = None) -> None:
        self._user_folder = user_folder
        self._user: UserCatalog | None = None
        self._read: dict[tuple[str, str], dict[str, Any]] = {}
        self._built: dict[tuple[str, str], Any] = {}

    def findings(self) -> list[Finding]:
        """Return what is wrong with the user's own catalogue; rows with an error are not used."""
        own = self._own()
        return list(own.findings) if own else []

    def gpu(self, id: str) -> GpuModel:
        """Return a GPU model with its geometry."""
        return self._record("gpus", id, self._build_gpu)

    def geometry(self, id: str) -> MigGeometry:
        """Return a geometry, with the figures that hold for most of its GPU models."""
        return self._record("migGeometries", id, rows.geometry)

    def driver_branch(self, id: int) -> DriverBranch:
        """Return a driver branch, e.g. 580."""
        return self._record("drivers", str(id), rows.driver_branch)

    def operating_system(self, id: str) -> OperatingSystem:
        """Return a host system."""
        return self._record("operatingSystems", id, platforms.operating_system)

    def distribution(self, id: str) -> Distribution:
        """Return a Kubernetes distribution."""
        return self._record("distributions", id, platforms.distribution)

    def release(self, id: str) -> Release:
        """Return a set of component versions."""
        return self._record("releases", id, platforms.release)

    def kubernetes(self, id: str) -> KubernetesMinor:
        """Return a minor version of Kubernetes, e.g. ``1.36``."""
        return self._record("kubernetes", id, platforms.kubernetes)

    def gpu_ids(self) -> tuple[str, ...]:
        """List all GPU models, sorted."""
        return self.ids("gpus")

    def driver_branches(self) -> tuple[DriverBranch, ...]:
        """List all driver branches, oldest first."""
        return tuple(self.driver_branch(number) for number in sorted(map(int, self.ids("drivers"))))

    def kubernetes_minors(self) -> tuple[KubernetesMinor, ...]:
        """List the minor versions of Kubernetes that are known, oldest first."""
        by_age = sorted(self.ids("kubernetes"), key=lambda minor: int(minor.partition(".")[2]))
        return tuple(self.kubernetes(minor) for minor in by_age)

    def ids(self, section: str) -> tuple[str, ...]:
        """List the rows of a section: gpus, migGeometries, drivers, operatingSystems, ..."""
        own = self._user_rows().get(section, {})
        return tuple(sorted({*reading.shipped_ids(section), *own}))

    def row(self, section: str, id: str) -> dict[str, Any]:
        """Return a row as it is written.

        Raises UnknownRow: neither the user nor gpugen has it.
        """
        own = self._user_rows().get(section, {})
        if id in own:
            return own[id]
        key = (section, id)
        if key not in self._read:
            row = reading.shipped(section, id) if _ID.match(id) else None
            if row is None:
                raise self._unknown(section, id)
            self._read[key] = row
        return self._read[key]

    def packages(self) -> dict[str, Any]:
        """Return repositories, keys and package names per package family."""
        return reading.table("packages")

    def cuda(self) -> dict[str, Any]:
        """Return which driver each CUDA toolkit needs at least."""
        return reading.table("cuda")

    def container_toolkit(self) -> dict[str, Any]:
        """Return releases of the NVIDIA container toolkit, with the security floor."""
        return reading.table("container-toolkit")

    def _record(self, section: str, id: str, build: Callable[[str, dict[str, Any]], _T]) -> _T:
        key = (section, id)
        if key not in self._built:
            self._built[key] = build(id, self.row(section, id))
        record: _T = self._built[key]
        return record

    def _build_gpu(self, id: str, row: dict[str, Any]) -> GpuModel:
        name = row.get("mig", {}).get("geometry", "")
        if not name:
            return rows.gpu(id, row, None)
        general = self.geometry(name)
        figures = self.row("migGeometries", name)
        return rows.gpu(id, row, rows.geometry_of_model(general, figures, id))

    def _user_rows(self) -> Mapping[str, Mapping[str, dict[str, Any]]]:
        own = self._own()
        return own.rows if own else {}

    def _own(self) -> UserCatalog | None:
        """Read the user's folder, once."""
        if self._user is None and self._user_folder is not None and self._user_folder.is_dir():
            from gpugen.catalog import user

            self._user = user.read(self._user_folder)
        return self._user

    def _unknown(self, section: str, id: str) -> UnknownRow:
        from gpugen.catalog.similar import similar

        if other := _named_elsewhere(section, id):
            return UnknownRow(*KINDS[section], id, (), what=other[0], way=other[1])
        known = self.ids(section)
        if section in VERSIONED and (newest := newest_before(id, known)):
            return UnknownRow(*KINDS[section], id, (), newest)
        return UnknownRow(*KINDS[section], id, similar(section, id, known))


def _named_elsewhere(section: str, id: str) -> tuple[str, str] | None:
    """Return what else a name means that has no row, and what to write instead."""
    from gpugen.catalog import machines

    if section == "gpus" and (machine := machines.named(id)):
        return machine.what, machine.way
    for row in reading.table("not-rendered").get(section, ()):
        if any(fnmatchcase(id.lower(), pattern) for pattern in row["names"]):
            return f"nothing is rendered for {id!r}: {row['why']}", row.get("way", "")
    return None

"""Reads a repository's own rows of the catalogue, and validates them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from gpugen.catalog import reading, shape
from gpugen.catalog.geometry_rules import contradictions
from gpugen.catalog.messages import finding
from gpugen.catalog.range_rules import backwards
from gpugen.load.faults import MAX_BYTES
from gpugen.load.source import Source, read_bytes
from gpugen.model.finding import MOST_OF_A_KIND, ROOT, Finding, Location

Rows: TypeAlias = dict[str, dict[str, dict[str, Any]]]  # section -> id -> row
Steps: TypeAlias = tuple[str | int, ...]


class UserCatalog(NamedTuple):
    """What a folder holds: rows without a fault, and all faults."""

    rows: Rows
    findings: list[Finding]


def read(folder: Path) -> UserCatalog:
    """Read all ``*.yaml`` of a folder.

    Raises GpugenError: a file cannot be read.
    """
    reader = _Reader()
    if folder.is_symlink():
        reader.complain_of_file("catalog-link", folder)
        return UserCatalog(reader.rows, reader.findings)
    for path in sorted(folder.iterdir()):
        if reader.is_too_large or reader.is_full:
            break
        if path.is_symlink() and path.suffix in (".yaml", ".yml"):
            reader.complain_of_file("catalog-link", path)
        elif path.suffix == ".yml":
            reader.complain_of_file("catalog-file-name", path, path.with_suffix(".yaml").name)
        elif path.suffix == ".yaml":
            reader.read(path)
    reader.check_references()
    return UserCatalog(reader.rows, reader.findings)


class _Reader:
    """Collects the rows of all files of a folder."""

    def __init__(self) -> None:
        self.rows: Rows = {}
        self.findings: list[Finding] = []
        self.size = 0  # bytes read
        self.sources: dict[tuple[str, str], Source] = {}
        self.geometries = set(reading.shipped_ids("migGeometries"))  # and those that are at fault

    def read(self, path: Path) -> None:
        """Take the rows of a file that are without a fault."""
        raw = read_bytes(path)
        self.size += len(raw)
        if self.is_too_large:
            self.complain_of_file("catalog-size", path, str(MAX_BYTES >> 20))
            return
        source = Source(path, raw)
        if source.findings:
            self.findings += source.findings
            return
        stated = source.data.get("migGeometries")
        self.geometries.update(stated if isinstance(stated, dict) else ())
        misfits = shape.misfits(source.data, shape.schema())
        if len(misfits) > MOST_OF_A_KIND:
            self._refuse_whole(source, misfits)
        else:
            self._take(source, misfits)

    def _take(self, source: Source, misfits: Sequence[shape.Misfit]) -> None:
        """Complain of what is wrong with a file, and take its other rows."""
        for misfit in misfits:
            self._complain(
                source, f"catalog-{misfit.kind}", misfit.path, *misfit.values, key=misfit.at_key
            )
        broken = {misfit.path[:2] for misfit in misfits}
        for section, rows in source.data.items():
            if (section,) in broken:
                continue
            for name, row in rows.items():
                if (section, name) not in broken and self._is_welcome(source, section, name, row):
                    self.rows.setdefault(section, {})[name] = row
                    self.sources[section, name] = source

    def _refuse_whole(self, source: Source, misfits: Sequence[shape.Misfit]) -> None:
        """Complain of the first hundred faults of a file and use nothing of it."""
        for misfit in misfits[:MOST_OF_A_KIND]:
            self._complain(
                source, f"catalog-{misfit.kind}", misfit.path, *misfit.values, key=misfit.at_key
            )
        self._complain(source, "catalog-more", misfits[MOST_OF_A_KIND].path, MOST_OF_A_KIND)

    def _is_welcome(self, source: Source, section: str, id: str, row: Mapping[str, Any]) -> bool:
        """Validate a row of the right shape beside ours and the other files'."""
        steps = (section, id)
        if self.is_full:
            return False
        if steps in self.sources:
            other = self.sources[steps].path.name
            self._complain(source, "catalog-duplicate-row", steps, id, section, other)
            return False
        ours = reading.shipped_ids(section)
        if id in ours and "override" not in row:
            self._complain(source, "catalog-missing-override", steps, id)
            return False
        if id not in ours and "override" in row:
            shown = f"ours begin with {ours[0]}"
            close = shape.close_to(id, ours)
            self._complain(
                source,
                "catalog-needless-override",
                (*steps, "override"),
                id,
                f"did you mean {close!r}?" if close else shown,
            )
            return False
        return self._is_coherent(source, section, id, row)

    def _is_coherent(self, source: Source, section: str, id: str, row: Mapping[str, Any]) -> bool:
        """Complain of values that are in order alone, and contradict one another."""
        before = len(self.findings)
        for inner, ends in backwards(row):
            self._complain(source, "catalog-range", (section, id, *inner), *ends, key=False)
        for inner, message in contradictions(row) if section == "migGeometries" else ():
            self._complain(source, "catalog-geometry", (section, id, *inner), message, key=False)
        return len(self.findings) == before

    def check_references(self) -> None:
        """Refuse GPU models whose geometry nobody describes."""
        for model, row in list(self.rows.get("gpus", {}).items()):
            for steps, name in _references(row):
                if name in self.geometries or self.is_full:
                    continue
                close = shape.close_to(name, sorted(self.geometries))
                hint = f"did you mean {close!r}?" if close else "describe it under migGeometries"
                source, where = self.sources["gpus", model], ("gpus", model, *steps)
                self._complain(source, "catalog-unknown-geometry", where, name, hint, key=False)
                self.rows["gpus"].pop(model, None)

    @property
    def is_full(self) -> bool:
        """Tell whether so much is wrong that nobody reads more of it; an error stops the run."""
        return len(self.findings) >= 2 * MOST_OF_A_KIND

    @property
    def is_too_large(self) -> bool:
        """Tell whether the files read so far are larger together than one file may be."""
        return self.size > MAX_BYTES

    def complain_of_file(self, id: str, path: Path, *values: str) -> None:
        """Add a finding about a file that is not read."""
        self.findings.append(finding(id, Location(path.as_posix(), 1, 1), ROOT, path.name, *values))

    def _complain(
        self, source: Source, id: str, steps: Steps, *values: object, key: bool = True
    ) -> None:
        pointer = ROOT
        for step in steps:
            pointer = pointer / step
        self.findings.append(finding(id, locate(source, steps, key=key), pointer, *values))


def _references(row: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    """Yield the geometries that a GPU model names."""
    for key in ("geometry", "candidate"):
        name = row.get("mig", {}).get(key)
        if name is not None:
            yield ("mig", key), name


def locate(source: Source, steps: Steps, *, key: bool) -> Location:
    """Return where a place of a file is, or its key."""
    places = source.places
    if not steps:
        return places.of_root()
    container = places.root
    for step in steps[:-1]:
        container = container[step]
    return places.of(container, steps[-1], key=key)

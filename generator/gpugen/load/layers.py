"""Finds the files that a spec extends: in order, inside the repository, each only once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from heapq import nsmallest
from pathlib import Path

from gpugen.load.faults import MAX_BYTES, MAX_FAULTS, finding
from gpugen.load.source import Source, read_bytes
from gpugen.model.finding import Finding, Location
from gpugen.text.spelling import nearest, quoted, shown
from gpugen.text.versions import newer_words, newest_before

MAX_LAYERS = 100
API_VERSION = "gpugen/v1"
OWN_KEYS = ("apiVersion", "kind", "extends")  # of a layer; they are not handed on


class Reader:
    """Files by path, each read once: a thousand clusters may share a layer."""

    def __init__(self) -> None:
        self._sources: dict[Path, Source] = {}
        self._real_paths: dict[Path, Path] = {}

    def source(self, path: Path) -> Source:
        """Return a file.

        Raises GpugenError: it cannot be read.
        """
        source = self._sources.get(path)
        if source is None:
            source = self._sources[path] = Source(path, read_bytes(path))
        return source

    def content(self, path: Path) -> bytes:
        """Return the bytes of a file that was read."""
        return self._sources[path].raw

    def real(self, path: Path) -> Path:
        """Return the path with all links followed."""
        real = self._real_paths.get(path)
        if real is None:
            real = self._real_paths[path] = Path(os.path.realpath(path))
        return real


class Stacking:
    """The files of one spec, lowest layer first and the spec last, with what is wrong."""

    def __init__(self, reader: Reader, boundary: Path) -> None:
        self.sources: list[Source] = []
        self.findings: list[Finding] = []
        self.is_readable = True  # all files are, but for single values
        self._reader = reader
        self._boundary = boundary
        self._seen: set[Path] = set()
        self._size = 0  # bytes of all files

    def add(self, path: Path) -> None:
        """Stack the spec upon everything that it extends; nothing is read beyond the boundary."""
        if not self._reader.real(path).is_relative_to(self._reader.real(self._boundary)):
            self.findings.append(finding("spec-outside", Location(path.as_posix(), 1, 1)))
            return
        self._add(self._reader.source(path), [self._reader.real(path)])

    def _add(self, source: Source, chain: list[Path]) -> None:
        """Stack a file; chain: the real paths of those that lead to it, itself last."""
        self._seen.add(chain[-1])
        self._size += len(source.raw)
        if self._size > MAX_BYTES and not source.findings:
            start = Location(source.path.as_posix(), 1, 1)
            self.findings.append(finding("extends-too-large", start, MAX_BYTES >> 20))
            return
        self.findings += source.findings
        if not source.is_readable:
            self.is_readable = False
            return
        if len(chain) > 1:
            self.findings += _layer_faults(source)
        if "extends" in source.data:
            for index, path in self._extended(source, chain):
                if not self._is_full:
                    self._extend(source, index, path, chain)
        self.sources.append(source)

    @property
    def _is_full(self) -> bool:
        """Tell whether so much is wrong that the rest need not be looked at."""
        return len(self.findings) >= MAX_FAULTS or self._size > MAX_BYTES

    def _extend(self, source: Source, index: int, path: Path, chain: list[Path]) -> None:
        real = self._reader.real(path)
        if real in self._seen:
            return  # reached by another way; the lowest place holds
        if len(self._seen) > MAX_LAYERS:
            self.findings.append(_at_item(source, index, "extends-too-many", MAX_LAYERS))
        else:
            self._add(self._reader.source(path), [*chain, real])

    def _extended(self, source: Source, chain: list[Path]) -> Iterator[tuple[int, Path]]:
        """Yield the paths that a file extends; note those that lead nowhere."""
        listed = source.data["extends"]
        if not isinstance(listed, list) or not listed:
            example = shown(listed) if isinstance(listed, str) else "../_layers/site.yaml"
            self.findings.append(_at_key(source, "extends", "extends-shape", "", example))
            return
        before: set[Path] = set()
        for index, text in enumerate(listed):
            if index == MAX_LAYERS:
                self.findings.append(_at_item(source, index, "extends-too-many", MAX_LAYERS))
            if index == MAX_LAYERS or self._is_full:
                return
            if not isinstance(text, str):
                values = (", and this is none", "../_layers/site.yaml")
                self.findings.append(_at_item(source, index, "extends-shape", *values))
                continue
            path = Path(os.path.normpath(source.path.parent / text))
            refusal = self._refusal(text, path, chain, before)
            if refusal is None:
                before.add(self._reader.real(path))
                yield index, path
            else:
                self.findings.append(_at_item(source, index, *refusal))

    def _refusal(
        self, text: str, path: Path, chain: list[Path], before: set[Path]
    ) -> tuple[str, ...] | None:
        """Say why a path cannot be extended: an id and the values for its words."""
        name = shown(text)
        if text.startswith(("/", "~")) or "\\" in text or "\0" in text or "://" in text:
            return "extends-outside", name, "is not a relative path with '/'"
        real = self._reader.real(path)
        if not real.is_relative_to(self._reader.real(self._boundary)):
            return "extends-outside", name, "is outside of the repository"
        if real in chain:
            return "extends-cycle", name
        if real in before:
            return "extends-repeated", name
        if not real.is_file():
            why = "is not a file" if real.exists() else "does not exist"
            return "extends-missing", name, why, _meant(path, chain[-1].parent)
        if self._is_cluster(path):
            return "extends-cluster", name
        return None

    def _is_cluster(self, path: Path) -> bool:
        """Tell whether a file is the spec of a cluster, not of a layer that says so wrongly."""
        data = self._reader.source(path).data
        return data.get("kind") == "Cluster" and "name" in data and "pools" in data


def _meant(path: Path, folder: Path) -> str:
    """Return a hint with the layer that a path may mean."""
    homes = [path if path.is_dir() else path.parent, folder.parent / "_layers"]
    found = (file for home in homes for file in nsmallest(MAX_LAYERS, home.glob("*.y*ml")))
    layers = {file.stem: file for file in found}
    meant = next(iter(layers), "") if path.is_dir() else nearest(path.stem, layers)
    if not meant or layers[meant].name == "cluster.yaml":
        return ""
    return f"did you mean {shown(os.path.relpath(layers[meant], folder))}? "


def _at_item(source: Source, index: int, id: str, *values: object) -> Finding:
    places = source.places
    return finding(id, places.of(places.root["extends"], index, key=False), *values)


def _at_key(source: Source, key: str, id: str, *values: object) -> Finding:
    places = source.places
    at = places.of(places.root, key, key=False) if key in places.root else places.of_root()
    return finding(id, at, *values)


def _layer_faults(source: Source) -> Iterator[Finding]:
    """Refuse a file that is extended but is no layer."""
    if source.data.get("kind") != "Layer":
        yield _at_key(source, "kind", "layer-kind")
    stated = source.data.get("apiVersion")
    if isinstance(stated, str) and newest_before(stated[:100], [API_VERSION]):
        newer = newer_words(quoted(stated), API_VERSION)
        yield _at_key(source, "apiVersion", "layer-too-new", newer)
    elif stated != API_VERSION:
        yield _at_key(source, "apiVersion", "layer-api-version", API_VERSION)
    if "name" in source.data:
        yield _at_key(source, "name", "layer-name")

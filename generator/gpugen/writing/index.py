"""The index of a rendered cluster: which files gpugen wrote there, and from what."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from gpugen.errors import GpugenError
from gpugen.writing.files import folders_of

INDEX = ".gpugen.json"
VERSION = 1

_HASH = re.compile(r"[0-9a-f]{64}")
# One search over all paths, joined by new lines: an empty, dot or .git step; what no name of ours
# holds; names and paths too long to be real.
_HOSTILE = re.compile(
    r"(?:^|/)(?:\.{0,2}|\.git)(?:/|$)|[\\\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]"
    r"|[^/\n]{256}|^(?:[^/\n]*/){32}",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Index:
    """What ``.gpugen.json`` says. files: path -> SHA-256; inputs: digest of all that was read."""

    spec: str
    inputs: str
    files: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Return the one spelling of this index: sorted, a line for each file."""
        rows = ",\n".join(f'    {quoted(p)}: "{self.files[p]}"' for p in sorted(self.files))
        files = f"{{\n{rows}\n  }}" if rows else "{}"
        return (
            f'{{\n  "files": {files},\n  "inputs": {quoted(self.inputs)},\n'
            f'  "spec": {quoted(self.spec)},\n  "version": {VERSION}\n}}\n'
        ).encode()


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def parse(text: bytes) -> Index | None:
    """Read an index as hostile input; None where it is torn or claims what no index can.

    Raises GpugenError: a newer gpugen wrote it.
    """
    data = _load(text)
    if not isinstance(data, dict):
        return None
    version = data.get("version")
    if type(version) is int and version > VERSION:
        raise GpugenError(
            f"{INDEX} has version {version}, this gpugen knows {VERSION}",
            "render with the newer gpugen that wrote it",
        )
    spec, inputs, files = data.get("spec"), data.get("inputs"), data.get("files")
    if version != VERSION or not isinstance(spec, str) or not isinstance(inputs, str):
        return None
    if not isinstance(files, dict) or not _is_file_list(files) or not _is_text(spec, inputs):
        return None
    return Index(spec, inputs, files)


def parse_journal(text: bytes) -> dict[str, list[str]]:
    """Read a journal (path -> hashes that are ours) as hostile input; empty where it is torn."""
    data = _load(text)
    if not isinstance(data, dict) or not data or not _are_paths(data):
        return {}
    for hashes in data.values():
        if not isinstance(hashes, list) or not all(_is_hash(h) for h in hashes):
            return {}
    return data


def _load(text: bytes) -> Any:
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError):
        return None


def _is_text(*values: str) -> bool:
    return all(value.isprintable() for value in values)


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _is_file_list(files: Mapping[str, object]) -> bool:
    return all(_is_hash(value) for value in files.values()) and (not files or _are_paths(files))


def _are_paths(files: Mapping[str, object]) -> bool:
    text = "\n".join(files)
    return (
        text.count("\n") == len(files) - 1
        and not _HOSTILE.search(text)
        and INDEX not in files
        and folders_of(files).isdisjoint(files)
    )

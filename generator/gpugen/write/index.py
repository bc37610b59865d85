"""The index of a rendered cluster: which files gpugen wrote there, and from what."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from gpugen.errors import GpugenError
from gpugen.write import files

INDEX = ".gpugen.json"
VERSION = 1
LARGEST = 16 * 1024 * 1024  # bytes; of 500 pools it has one

_FORBIDDEN = frozenset(("", ".", "..", ".git"))  # steps of a path, in lower case
_DEEPEST, _LONGEST = 32, 256  # steps of a path, characters of a step; no rendered path comes near


class Index(NamedTuple):
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
    if type(version) is not int:
        return None
    if version > VERSION:
        raise GpugenError(
            f"{INDEX} has version {version}, this gpugen knows {VERSION}",
            "render with the newer gpugen that wrote it",
        )
    spec, inputs, listed = data.get("spec"), data.get("inputs"), data.get("files")
    if version != VERSION or not isinstance(spec, str) or not isinstance(inputs, str):
        return None
    if not isinstance(listed, dict) or not _is_text(spec, inputs):
        return None
    if listed and not (_are_paths(listed) and _are_hashes(listed.values())):
        return None
    return Index(spec, inputs, listed)


def index_of(root: int) -> tuple[Index | None, bytes | None]:
    """Return the index of an open folder and its bytes; None for what is not there or torn.

    Raises GpugenError: a newer gpugen wrote it.
    """
    try:
        found = files.read(INDEX, root, LARGEST)
    except OSError:
        return None, None
    return (parse(found[0]), found[0]) if found else (None, None)


def parse_journal(text: bytes) -> dict[str, list[str]]:
    """Read a journal (path -> hashes that are ours) as hostile input; empty where it is torn."""
    data = _load(text)
    if not isinstance(data, dict) or not data or not _are_paths(data):
        return {}
    if not all(isinstance(hashes, list) for hashes in data.values()):
        return {}
    return data if _are_hashes([one for hashes in data.values() for one in hashes]) else {}


def _load(text: bytes) -> Any:
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError):
        return None


def _is_text(*values: str) -> bool:
    return all(value.isprintable() for value in values)


def _are_hashes(values: Collection[object]) -> bool:
    texts = [value for value in values if isinstance(value, str) and len(value) == 64]
    joined = "".join(texts)
    if len(texts) != len(values) or not joined.isascii():
        return False
    return not joined.encode().translate(None, b"0123456789abcdef")


def _are_paths(listed: Mapping[str, object]) -> bool:
    """Judge all paths at once: each relative and normalised, none a file and a folder."""
    text = "/".join(listed)
    steps = text.lower().split("/")
    return (
        text.isprintable()
        and "\\" not in text
        and _FORBIDDEN.isdisjoint(steps)
        and max(map(len, steps)) < _LONGEST
        and max(path.count("/") for path in listed) < _DEEPEST
        and INDEX not in listed
        and files.folders_of(listed).isdisjoint(listed)
    )

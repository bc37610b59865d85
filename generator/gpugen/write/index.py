"""The index of a rendered cluster: lines of SHA-256 and path that answer "may I overwrite this?".

One file for the cluster and one for each pool and role, so that branches that change two pools
never touch the same one; one more as long as a commit is under way. After merges it may contain
conflict markers, both sides of a conflict and old lines, which are all read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from gpugen import __version__
from gpugen.errors import GpugenError
from gpugen.model import NOTHING
from gpugen.model.tree import Tree
from gpugen.text.versions import release
from gpugen.write import files
from gpugen.write.shares import CLUSTER, shares

FOLDER = ".gpugen-index"
INDEX = f"{FOLDER}/cluster"
UNFINISHED = f"{FOLDER}/unfinished"  # while files are moved; a killed run leaves it
_OWNED = re.compile(rf"{FOLDER}/(?:pool|role)-(.+)")
FORMER = ".gpugen.json"  # the index of gpugen 0.1 before its first release: read, then removed
LARGEST = 16 * 1024 * 1024  # bytes of all index files together; of 500 pools they have one

_HEAD = "# SHA-256 and path of each file that gpugen wrote here and may overwrite\n"
_NAME = re.compile(r"cluster|unfinished|pool-[a-z0-9][a-z0-9-]{0,62}|role-[a-z][a-z_]{0,62}")
_LINE = re.compile(r"^([0-9a-f]{64}) (.+)$", re.MULTILINE)
_FORMER = re.compile(r'"([^"\\]+)": *"([0-9a-f]{64})"')
_WRITER = re.compile(  # version, numbers, phase, number of the phase
    r"^gpugen (([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})"
    r"(?:\.?(dev|a|b|rc|post)([0-9]{1,9}))?(?:\.dev[0-9]{1,9})?)$",
    re.MULTILINE,
)
_PHASES = ("dev", "a", "b", "rc", "", "post")
_DEEPEST, _LONGEST = 32, 256  # steps of a path, characters of a step; rendered paths have far fewer


class Index(NamedTuple):
    """The content of one folder's index files. files: path -> the hashes that gpugen wrote.

    version: of the newest gpugen that wrote here, empty if no line tells. texts: the index files by
    path.
    """

    files: Mapping[str, Collection[str]] = NOTHING
    version: str = ""
    texts: Mapping[str, str] = NOTHING

    def owns(self, path: str, content: bytes) -> bool:
        """Tell whether this is what gpugen wrote at a path, as a whole or in every share of it."""
        hashes = self.files.get(path, ())
        if not hashes or sha256(content) in hashes:
            return bool(hashes)
        owners = {
            owner[1]: text for name, text in self.texts.items() if (owner := _OWNED.fullmatch(name))
        }
        mark = f" {path}\n"
        expected = {owner for owner, text in owners.items() if mark in text}
        found = shares(content, owners)
        return (
            bool(expected)
            and expected == found.keys() - {CLUSTER}
            and all(sha256(text) in hashes for text in found.values())
        )


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def is_index(path: str) -> bool:
    """Tell whether a path of a cluster's folder is an index file, current or former."""
    folder, _, name = path.rpartition("/")
    return path == FORMER or (folder == FOLDER and _NAME.fullmatch(name) is not None)


def texts_for(tree: Tree, before: Index) -> dict[str, bytes]:
    """Return the index files of a tree, by path.

    The version in them does not change as long as no other file of the cluster changes.
    """
    lines: dict[str, list[str]] = {INDEX: []}
    for path, content in tree:
        own = tree.owner_of(path)
        for owner, part in ({own: content} if own else shares(content, tree.owners)).items():
            lines.setdefault(_home(owner), []).append(f"{sha256(part)} {path}\n")
    is_same = {one for rows in lines.values() for one in rows} == {*_lines(before)}
    version = before.version if is_same and before.version else __version__
    lines[INDEX].insert(0, f"gpugen {version}\n")
    return {path: "".join((_HEAD, *rows)).encode() for path, rows in lines.items()}


def _home(owner: str) -> str:
    """Return the index file of an owner: names of roles have an underscore, pools' never."""
    kind = "role" if "_" in owner else "pool"
    return f"{FOLDER}/{kind}-{owner}" if owner else INDEX


def unfinished(before: Index, expected: Mapping[str, bytes]) -> bytes:
    """Return the lines of what is there and of what is to come, each file as a whole."""
    new = (f"{sha256(text)} {path}\n" for path, text in expected.items() if not is_index(path))
    return "".join((_HEAD, f"gpugen {__version__}\n", *_lines(before), *new)).encode()


def read(root: int, place: str) -> Index:
    """Read the index files of an open folder as hostile input; invalid lines are ignored.

    place: the folder's name in messages. Raises GpugenError: a newer gpugen wrote there.
    """
    found = texts(root)
    order, version = max(_versions("\n".join(found.values())), default=((), ""))
    if version and order > next(_versions(f"gpugen {__version__}"))[0]:
        raise GpugenError(
            f"{place} was written by gpugen {version}; the older {__version__} would revert it",
            f"install gpugen {version} or newer",
        )
    return Index(known(found), version, found)


def texts(root: int) -> dict[str, str]:
    """Return the index files of an open folder by path, if they are regular files."""
    paths, left, found = [FORMER], LARGEST, {}
    with suppress(OSError), files.folder(FOLDER, root) as folder:
        paths += [f"{FOLDER}/{entry.name}" for entry in files.entries(folder)]
    for path in filter(is_index, paths):
        content = files.read_below(root, path, left)
        if content is not None:
            left -= len(content)
            found[path] = content.decode(errors="ignore")
    return found


def known(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return path -> hashes of the lines of some index files, which may be anybody's."""
    found: dict[str, list[str]] = {}
    for name, text in texts.items():
        lines = _LINE.findall(text)
        if name == FORMER:
            listed = _FORMER.findall(text.partition('"files"')[2])
            lines = [(hash_, path) for path, hash_ in listed]
        for hash_, path in lines:
            if _is_path(path) and hash_ not in found.setdefault(path, []):
                found[path].append(hash_)
    return found


def _lines(before: Index) -> Iterator[str]:
    for path, hashes in before.files.items():
        yield from (f"{hash_} {path}\n" for hash_ in hashes)


def _versions(text: str) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield the versions that an index file names, each behind its sort key."""
    for version, numbers, phase, number in _WRITER.findall(text):
        yield (release(numbers), _PHASES.index(phase), int(number or 0)), version


@lru_cache(maxsize=4096)  # clusters have the same paths
def _is_path(path: str) -> bool:
    """Tell whether a line's path is valid: relative, normalised, not an index file."""
    steps = path.lower().split("/")
    return (
        path.isprintable()
        and "\\" not in path
        and len(steps) <= _DEEPEST
        and all(0 < len(step) < _LONGEST and step not in (".", "..", ".git") for step in steps)
        and steps[0] not in (FOLDER, FORMER)
    )

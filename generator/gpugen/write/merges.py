"""Files that git merged out of two renders: no index names such a text, so git merges them again.

What the two sides had, and what each side's index says of it, is read from the commits of a merge,
squash, cherry-pick, rebase or revert that is under way, of a stash that was not dropped, or of
the merge that is checked out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gpugen.write import conflicts, index
from gpugen.write.index import Index

_LARGEST = 4 * 1024 * 1024  # bytes of a file that is merged again; the largest of ours has 200 KiB
_MOST = 200  # files
_SECONDS = 20
_STOPPED = {  # what git leaves while it waits for conflicts to be resolved -> their side, the base
    "MERGE_HEAD": ("MERGE_HEAD", ""),
    "CHERRY_PICK_HEAD": ("CHERRY_PICK_HEAD", "CHERRY_PICK_HEAD^"),
    "REBASE_HEAD": ("REBASE_HEAD", "REBASE_HEAD^"),
    "REVERT_HEAD": ("REVERT_HEAD^", "REVERT_HEAD"),
    "refs/stash": ("refs/stash", "refs/stash^"),
}
_WAYS = ((), ("--diff-algorithm=histogram",))  # of merge-file and, if git knows it there, of merge


class _Merge(NamedTuple):
    """Commits: the two sides, and what both began from."""

    ours: str
    theirs: str
    base: str


def merged(folder: Path, contents: Mapping[str, bytes]) -> frozenset[str]:
    """Return which files of a cluster's folder are git's merge of two rendered ones.

    contents: path -> what is there. Without git, or outside of a repository, there are none.
    """
    if not contents or len(contents) > _MOST:
        return frozenset()
    here = Path(os.path.realpath(folder))
    top = next((above for above in here.parents if (above / ".git").exists()), None)
    if top is None:
        return frozenset()
    git = _Git(top, here.relative_to(top).as_posix())
    return frozenset(path for merge in git.merges() for path in git.merged(merge, contents))


def _names(path: str, former: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield what a path may be called on our side, on theirs, and in what both began from.

    A pool that one side renames takes its files along, with what the other side does to them.
    """
    yield path, path, path
    folder, _, name = path.rpartition("/")
    for i, renamed in enumerate(former):
        old = renamed.get(path) or (f"{renamed[folder]}/{name}" if folder in renamed else path)
        if old != path:
            yield (old, path, old) if i else (path, old, old)


class _Git:
    """A repository and a folder in it, asked without network, locks and prompts.

    git runs where ``.git`` lies: further below it could take files of a tree for a repository.
    """

    def __init__(self, top: Path, prefix: str) -> None:
        self._top = top
        self._prefix = prefix

    def merges(self) -> Iterator[_Merge]:
        """Yield the merges that the files there can come from."""
        for name, (theirs, base) in _STOPPED.items():
            if self._lines("rev-parse", "--quiet", "--verify", name):
                yield from self._between("HEAD", theirs, base)
        if self._lines("rev-parse", "--quiet", "--verify", "HEAD^2"):
            yield from self._between("HEAD^1", "HEAD^2", "")
        for name in self._lines("rev-parse", "--git-path", "SQUASH_MSG"):
            with suppress(OSError):
                text = (self._top / name).read_text(errors="replace")
                for theirs in re.findall("^commit ([0-9a-f]{40,64})$", text, re.MULTILINE)[:1]:
                    yield from self._between("HEAD", theirs, "")

    def merged(self, merge: _Merge, contents: Mapping[str, bytes]) -> Iterator[str]:
        """Yield the files that this merge makes of what each side had rendered."""
        indexes = [self._index(side) for side in (merge.ours, merge.theirs)]
        former = [self._former(merge.base, side) for side in (merge.ours, merge.theirs)]
        for path, content in contents.items():
            if any(self._is_ours(merge, indexes, names, content) for names in _names(path, former)):
                yield path

    def _is_ours(
        self, merge: _Merge, indexes: Iterable[Index], names: Sequence[str], content: bytes
    ) -> bool:
        """Tell whether this is the merge of rendered files, or one that only one side has added."""
        ours, theirs, base = map(self._blob, merge, names)
        sides = [
            (known, name, text)
            for known, name, text in zip(indexes, names, (ours, theirs), strict=False)
            if text is not None
        ]
        return (
            len(sides) > (base is not None)
            and all(known.owns(name, text) for known, name, text in sides)
            and self._is_merge(content, (ours or b"", base or b"", theirs or b""))
        )

    def _former(self, base: str, side: str) -> dict[str, str]:
        """Return the files and folders that a side has renamed, as git sees it: new -> old."""
        options = ("-r", "-z", "-M", "-l7000", "--diff-filter=R", "--name-status")
        found = self._run("diff-tree", *options, base, side, "--", self._prefix) or b""
        parts = found.decode(errors="replace").split("\0")  # what it is, old name, new name
        files = dict(zip(parts[2::3], parts[1::3], strict=False))
        below = f"{self._prefix}/"
        files = {new.removeprefix(below): old.removeprefix(below) for new, old in files.items()}
        folders = {new.rpartition("/")[0]: old.rpartition("/")[0] for new, old in files.items()}
        return {**folders, **files}

    def _between(self, ours: str, theirs: str, base: str) -> Iterator[_Merge]:
        for found in [base] if base else self._lines("merge-base", "--all", ours, theirs):
            yield _Merge(ours, theirs, found)

    def _index(self, commit: str) -> Index:
        """Return what the index said in a commit."""
        folder = f"{self._prefix}/{index.FOLDER}/"
        names = self._lines("ls-tree", "-z", "--name-only", commit, folder)
        paths = [name.removeprefix(f"{self._prefix}/") for name in names]
        texts = {path: self._blob(commit, path) for path in paths if index.is_index(path)}
        there = {path: text.decode(errors="ignore") for path, text in texts.items() if text}
        return Index(index.known(there), texts=there)

    def _blob(self, commit: str, path: str) -> bytes | None:
        name = f"{commit}:{self._prefix}/{path}"
        size = int(*self._lines("cat-file", "-s", name) or ["-1"])
        return self._run("cat-file", "blob", name) if 0 <= size <= _LARGEST else None

    def _is_merge(self, content: bytes, texts: Iterable[bytes]) -> bool:
        """Tell whether git makes this of two texts and their base, with marks or without."""
        expected = conflicts.sides(content) or (content, content)
        import tempfile

        with tempfile.TemporaryDirectory() as name:
            paths = [Path(name, part) for part in ("ours", "base", "theirs")]
            for path, text in zip(paths, texts, strict=True):
                path.write_bytes(text)
            for way in _WAYS:
                if expected == tuple(
                    self._run("merge-file", "--stdout", side, *way, *map(str, paths))
                    for side in ("--ours", "--theirs")
                ):
                    return True
        return False

    def _lines(self, *arguments: str) -> list[str]:
        found = (self._run(*arguments) or b"").decode(errors="replace")
        return [line for line in re.split("[\0\n]", found) if line]

    def _run(self, *arguments: str) -> bytes | None:
        """Return what a git command prints; None where it fails or is missing."""
        import subprocess

        command = ["git", "-C", str(self._top), *arguments]
        quiet = {"GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            done = subprocess.run(  # noqa: S603  # fixed words, commits and paths of the index
                command, capture_output=True, check=True, env={**os.environ, **quiet},
                timeout=_SECONDS,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout

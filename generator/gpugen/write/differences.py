"""Differences of a cluster's folder as a unified diff, safe to print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from gpugen.text.credentials import masked_line
from gpugen.text.spelling import printable
from gpugen.write import files
from gpugen.write.index import is_index
from gpugen.write.survey import Kind, Survey


def unified(shown: str, survey: Survey, root: int | None) -> Iterator[str]:
    """Yield the diff from the existing to the expected content, lines without line ends.

    shown: what paths begin with. root: handle of the folder, None if there is none. What a diff
    cannot show is a sentence.
    """
    expected = survey.expected
    for change in survey.changes:
        name = printable(f"{shown}/{change.path}")
        if is_index(change.path):
            if all(is_index(one.path) for one in survey.changes):
                yield f"Only the index differs: {name} ({change.kind})"
            continue
        if change.kind is Kind.MODE:
            yield from (f"diff a/{name} b/{name}", "old mode 100755", "new mode 100644")
        elif change.path not in expected and change.kind not in (Kind.DELETED, Kind.EDITED):
            yield f"Only in output: {name} ({change.kind})"
        else:
            before = None if root is None else files.read_below(root, change.path)
            yield from _of_file(name, before, expected.get(change.path))


def _of_file(name: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    import difflib

    old_name = "/dev/null" if before is None else f"a/{name}"
    new_name = "/dev/null" if after is None else f"b/{name}"
    old, new = _lines(before or b""), _lines(after or b"")
    if old is None or new is None:
        yield f"Binary files {old_name} and {new_name} differ"
        return
    for line in difflib.unified_diff(old, new, old_name, new_name, lineterm=""):
        text, end, _ = line.partition("\n")
        yield masked_line("\t".join(map(printable, text.split("\t"))))
        if not end and line[0] in " +-" and line[:4] not in ("--- ", "+++ "):
            yield "\\ No newline at end of file"


def _lines(content: bytes) -> list[str] | None:
    """Split text into lines that keep their line feed; None if it is not text."""
    with suppress(UnicodeDecodeError):
        return None if b"\0" in content else re.findall("[^\n]*\n|[^\n]+", content.decode())
    return None

"""Files with git's conflict markers, and the content of each side."""

from __future__ import annotations

_OURS, _BASE, _MIDDLE, _THEIRS = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"
_NEXT = {  # marker -> the part before it, the part after it
    _OURS: ("", "ours"),
    _BASE: ("ours", "base"),
    _THEIRS: ("theirs", ""),
}


def sides(content: bytes) -> tuple[bytes, ...]:
    """Return the content of both sides; nothing unless all conflicts are complete.

    Markers of the styles merge, diff3 and zdiff3 are known; the base between them belongs to
    neither side.
    """
    if not content.startswith(_OURS) and b"\n" + _OURS not in content:
        return ()
    ours, theirs, part = [], [], ""
    for text in content.splitlines(keepends=True):
        marker = text[:7]
        if text.rstrip(b"\r\n") == _MIDDLE and part in ("ours", "base"):
            part = "theirs"
        elif marker in _NEXT and text[7:8] in (b" ", b"\n", b"\r", b""):
            before, behind = _NEXT[marker]
            if part != before:
                return ()
            part = behind
        else:
            ours += [text] * (part in ("", "ours"))
            theirs += [text] * (part in ("", "theirs"))
    return () if part else (b"".join(ours), b"".join(theirs))

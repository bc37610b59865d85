"""What pools and roles have in a file of the whole cluster: the blocks that marks or rows begin.

The index of the cluster lists such a file without them, and the index of each owner lists its own,
so that branches that change two pools touch no common line of an index either.
"""

from __future__ import annotations

import re
from collections.abc import Collection

CLUSTER = ""
_MARK = re.compile(rb" *# ([a-z0-9][a-z0-9_-]*)\n")  # to the next one, or where the sequence ends
_ROW = re.compile(rb""" *(?:'([a-z0-9-]+)'(?:: [\[{])?|"?(pool_[a-z0-9_]+)"?:(?: \{)?)\n""")
_QUOTES_OR_P = (b"'", b'"', b"p")  # what a row begins with
_CLOSING = re.compile(rb"(?:[\]}],?|,)\n")


def shares(content: bytes, owners: Collection[str]) -> dict[str, bytes]:
    """Return the lines of each pool and role, and under the empty name what is left without them.

    A pool's row goes on as far as it is indented further, and to the bracket that closes it. The
    mark of a role stays with the cluster: it is there without the role, too. Each block is kept
    with the line of the cluster before it.
    """
    names = {owner.encode(): owner for owner in owners}
    names |= {f"pool_{owner.replace('-', '_')}".encode(): owner for owner in owners}
    if not any(name in content for name in names):  # most files, at a small part of the cost
        return {CLUSTER: content}
    found: dict[str, list[bytes]] = {CLUSTER: []}
    owner, depth, before, is_marked, is_open = CLUSTER, 0, b"", False, False
    for line in content.splitlines(keepends=True):
        text = line.lstrip(b" ")
        indent = len(line) - len(text)
        first = text[:1]
        mark = _MARK.fullmatch(line) if first == b"#" else None
        closes = is_open and indent == depth and _CLOSING.fullmatch(text)
        if owner and (indent > depth or closes or (is_marked and indent == depth and not mark)):
            found[owner].append(line)
            is_open = is_open and not closes
            continue
        row = mark or (_ROW.fullmatch(line) if first in _QUOTES_OR_P else None)
        owner = names.get(row[row.lastindex or 1], CLUSTER) if row else CLUSTER
        depth, is_marked, is_open = indent, bool(mark), text[-2:-1] in b"[{'\""
        home = CLUSTER if mark and "_" in owner else owner
        if owner:
            found.setdefault(owner, []).append(line if home == CLUSTER else before + line)
        if home == CLUSTER:
            found[CLUSTER].append(line)
            before = line
    return {name: b"".join(lines) for name, lines in found.items()}

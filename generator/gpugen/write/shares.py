"""What each pool has in a file of the whole cluster: the blocks of lines that name it.

The index of the cluster lists such a file without them, and each pool's index lists its own, so
that branches that change two pools touch no common line of an index either.
"""

from __future__ import annotations

import re
from collections.abc import Collection

CLUSTER = ""
_WORD = re.compile(rb"[A-Za-z0-9-]+")
_CLOSING = re.compile(rb"[\])}]+,?")


def shares(content: bytes, pools: Collection[str]) -> dict[str, bytes]:
    """Return the lines of each pool, and under the empty name what is left without them.

    A line that names one pool begins its block: what is indented further belongs to it, and the
    brackets that close it. Each block is kept with the line of the cluster before it.
    """
    names = {pool.encode(): pool for pool in pools}
    if not any(name in content for name in names):  # most files, at a small part of the cost
        return {CLUSTER: content}
    found: dict[str, list[bytes]] = {CLUSTER: []}
    owner, depth, before = CLUSTER, 0, b""
    for line in content.splitlines(keepends=True):
        text = line.lstrip(b" ")
        indent = len(line) - len(text)
        if owner and (indent > depth or (indent == depth and _CLOSING.fullmatch(text.rstrip()))):
            found[owner].append(line)
            continue
        named = {names[word] for word in _WORD.findall(line) if word in names}
        owner = named.pop() if len(named) == 1 else CLUSTER
        depth = indent
        if owner:
            found.setdefault(owner, []).append(before)
        else:
            before = line
        found[owner].append(line)
    return {name: b"".join(lines) for name, lines in found.items()}

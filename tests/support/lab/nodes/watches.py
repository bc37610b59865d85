"""Room for more nodes: the kernel lets one user watch files only so many times.

All nodes belong to root, and each takes some of ``fs.inotify.max_user_instances``: systemd, D-Bus,
containerd. Over the limit units of a node fail at random, so nodes are booted when there is room.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from support.upstream import cache

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
OF_A_NODE = 8  # measured: 6 after boot, one more per unit that watches a path
PATIENCE = 900.0  # seconds; a module of tests may hold its nodes that long
POLL = 0.5


@contextlib.contextmanager
def room_for(nodes: int) -> Iterator[None]:
    """Wait until this machine has watches left for so many nodes; only one may boot nodes."""
    file = cache.root().parent / "hosts" / "boot.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        most = int(LIMIT.read_text()) - nodes * OF_A_NODE
        end = time.monotonic() + PATIENCE
        while _is_crowded(most) and time.monotonic() < end:
            time.sleep(POLL)
        yield


@contextlib.contextmanager
def limit_for(nodes: int) -> Iterator[None]:
    """Let root watch as often as so many nodes need at once.

    The former limit comes back at the end, not where the process is killed.
    """
    former = int(LIMIT.read_text())
    LIMIT.write_text(str(max(former, 2 * nodes * OF_A_NODE)))
    try:
        yield
    finally:
        LIMIT.write_text(str(former))


def _is_crowded(most: int) -> bool:
    """Tell whether root's processes watch more than that, some of them in other nodes."""
    own = Path("/proc/self/ns/pid").readlink()
    used = of_nodes = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == 0:
                links = (link.readlink() for link in (process / "fd").iterdir())
                found = sum(str(link) == "anon_inode:inotify" for link in links)
                used += found
                of_nodes += found if (process / "ns/pid").readlink() != own else 0
    return of_nodes > 0 and used > most

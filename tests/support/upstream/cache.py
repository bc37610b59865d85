"""The folder outside the checkout where what was built is kept, keyed by what made it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path


def root() -> Path:
    """Return the cache's folder; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gpugen" / "readers"


def digest(parts: Iterable[str | bytes]) -> str:
    """Return 16 hex digits over parts in their order."""
    hashed = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        hashed.update(len(content).to_bytes(8, "big"))
        hashed.update(content)
    return hashed.hexdigest()[:16]


def install(target: Path, make: Callable[[Path], None]) -> None:
    """Let make() fill a new folder, then put it at target in one step.

    A folder that another process put there meanwhile is as good and stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=target.parent))
    try:
        make(unfinished)
        unfinished.chmod(0o755)
        try:
            unfinished.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)

# Copyright: the gpugen authors. Apache-2.0.
"""What the role asks about a host: one round where nothing is missing."""

from __future__ import annotations

from typing import Any

from ..common.packages import offers_of
from .faults import faults
from .files import LOCKS, PREFERENCES, PROFILE
from .host import LINK, RECORD, Seen, Wanted, version_file, view


def questions(wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Return what to ask in view of what was seen."""
    own = view(seen, wanted)
    commands = {
        "link": ["readlink", "--canonicalize", LINK],
        "chosen": ["readlink", LINK],
        "known": ["update-alternatives", "--display", "cuda"],
    }
    if "host" in seen and own.manager == "apt" and own.missing and not list(faults(own)):
        commands["offers"] = offers_of("apt", own.missing)
    return {
        "files": [RECORD, PREFERENCES, PROFILE, LOCKS, version_file(own)],
        "globs": [LINK],
        "packages": ["cuda", "cuda-toolkit-*", "cudnn9-*", "libcudnn9-*"],
        "commands": commands,
    }

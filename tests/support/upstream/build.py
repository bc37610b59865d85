"""Builds the upstream programs: python tests/support/upstream/build.py [NAME…] [--all] [--list]."""

from __future__ import annotations

import sys
from pathlib import Path


def run() -> int:
    """Put tests/ on the import path, as pytest does, and run the command line."""
    sys.path[0] = str(Path(__file__).parents[2])
    from support.upstream.commands import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())

"""``python -m gpugen`` and the console script: run, and turn every end into an exit code."""

from __future__ import annotations

import sys

from gpugen.cli import run


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

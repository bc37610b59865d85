"""One bash for the commands of a page, in a PID namespace with everything that they start."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.lab.cluster.programs import bound_to_parent, own_space

END = "the-command-ended"


class Shell:
    """A bash in which commands follow one another; daemons of theirs end together with it."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Start in a folder."""
        space = own_space("--pid", "--fork", "--kill-child", "--mount-proc")
        self._process = subprocess.Popen(
            bound_to_parent([*space, "/bin/bash", "--noprofile", "--norc"]),
            cwd=folder,
            env=dict(environment),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Run a command and return its exit status and all that it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{{ {command}\n}} </dev/null\necho {END} $?\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.startswith(END):
                return int(line.split()[1]), "".join(lines)
            lines.append(line)
        raise AssertionError(f"the shell ended in {command!r}: {''.join(lines)}")

    def close(self) -> None:
        """End the shell and what it started."""
        self._process.kill()
        self._process.communicate()

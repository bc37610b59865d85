"""Processes that pass for runs of ansible-playbook, and what the roles' programs tell them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import ROOT

FILES = ROOT / "roles" / "gpu_prerequisites" / "files"
WHO = [sys.executable, str(FILES / "run.py")]
RUNNER = """\
import json, subprocess, sys
for line in sys.stdin:
    done = subprocess.run(json.loads(line), capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""


class Play:
    """A process called ansible-playbook that asks whose turn it is."""

    def __init__(self, folder: Path) -> None:
        program = folder / "ansible-playbook"
        program.write_text(RUNNER, encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *command: str) -> tuple[int, str, str]:
        """Run a command as a child of the play."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        return code, out, err

    def identify(self, *other: str) -> Any:
        """Return what run.py says."""
        code, out, err = self.run(*WHO, *other)
        assert code == 0, err
        return json.loads(out)

    def ask(self, do: str, over: str = "", **question: Any) -> Any:
        """Return what turn.py says."""
        code, out, err = self.try_to(do, over, **question)
        assert code == 0, err
        return json.loads(out)

    def try_to(self, do: str, over: str = "", **question: Any) -> tuple[int, str, str]:
        """Run turn.py."""
        text = json.dumps({"do": do, "over": over, **question})
        return self.run(sys.executable, str(FILES / "turn.py"), text)

    def kill(self) -> None:
        """End the play as kill -9 does."""
        self._process.kill()
        self._process.communicate()

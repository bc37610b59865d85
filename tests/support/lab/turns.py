"""Processes that pass for runs of ansible-playbook, and whose turn it is by what they are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import ROOT

SHARED = ROOT / "plugins" / "module_utils"
RUNNER = f"""\
import json, os, sys
sys.path.insert(0, {str(SHARED)!r})
import turn as turns
from gpugen.hosts import decisions
runs, control = decisions.load("turn"), decisions.load("control")

def ask(do, over, file=None, kubectl=(), node=""):
    def once(ended):
        if file:
            store = turns.File(file, do != "look")
        else:
            store = runs.Lease(kubectl, node, control.command)
        return turns.answer(store, do, runs.identify(), ended)
    return once(over) if file else runs.settled(once, over)

def answer(question):
    what = question.pop("what")
    try:
        named = {{"identify": runs.identify, "is_over": runs.is_over, "ask": ask}}
        return {{"answer": named[what](**question)}}
    except (LookupError, runs.LeaseError) as problem:
        return {{"problem": str(problem)}}

if __name__ == "__main__":
    for line in sys.stdin:
        if not os.fork():  # as Ansible does, whose workers ask
            print(json.dumps(answer(json.loads(line))), flush=True)
            os._exit(0)
        os.wait()
"""


class Play:
    """A process called ansible-playbook that asks whose turn it is."""

    def __init__(self, folder: Path, name: str = "ansible-playbook") -> None:
        program = folder / name
        program.write_text(RUNNER, encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, what: str, **question: Any) -> dict[str, Any]:
        """Return an answer or a problem."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"what": what, **question}) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def identify(self) -> Any:
        """Return which run this is."""
        return self.say("identify")["answer"]

    def knows_over(self, run: Any) -> bool:
        """Tell whether the play sees that a run has ended."""
        found: bool = self.say("is_over", run=run)["answer"]
        return found

    def ask(self, do: str, over: str = "", **question: Any) -> Any:
        """Return whose turn it is."""
        found = self.say("ask", do=do, over=over, **question)
        assert "problem" not in found, found
        return found["answer"]

    def try_to(self, do: str, **question: Any) -> str:
        """Return the problem, empty where there is none."""
        found: str = self.say("ask", do=do, over="", **question).get("problem", "")
        return found

    def kill(self) -> None:
        """End the play as kill -9 does."""
        self._process.kill()
        self._process.communicate()

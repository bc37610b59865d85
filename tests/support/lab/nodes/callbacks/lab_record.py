"""Ansible callback: writes what happened as lines of JSON, module runs included.

A module run is one start of Python on a host (or on the control host, for delegated tasks); items
of a loop and the inner steps of actions such as template count each. That is what hosts pay for.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import threading
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: lab_record
type: aggregate
short_description: records tasks and module runs as lines of JSON
description: Used by the tests.
"""
VARIABLE = "GPUGEN_LAB_RECORD"
PLAY: list[int] = []  # process group of the play
KILL_AT = "GPUGEN_LAB_KILL_AT"  # number of the module run at which the whole play is killed


def _write(**entry: Any) -> None:
    line = json.dumps(entry, default=str) + "\n"
    with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(line)


def _name(task: Any) -> str:
    """Return the name of a task with that of its role; an included role has no name in front."""
    named: str = task.get_name() if "Include" in type(task).__name__ else ""
    return named or str(task.get_name(include_role_fqcn=False))


def _count(wrapped: Any) -> Any:
    """Return _execute_module with a record of each run; workers are forked and inherit it."""

    def execute(self: Any, *arguments: Any, **options: Any) -> Any:
        name = options.get("module_name") or self._task.action
        host = (options.get("task_vars") or {}).get("inventory_hostname", "")
        _write(
            event="module",
            host=host,
            module=name,
            task=_name(self._task),
        )
        _maybe_kill()
        return wrapped(self, *arguments, **options)

    return execute


def _maybe_kill() -> None:
    """Kill the play's process group while the module that was just announced begins to run."""
    at = int(os.environ.get(KILL_AT) or 0)
    if not at:
        return
    with Path(os.environ[VARIABLE]).open(encoding="utf-8") as file:
        runs = sum(1 for line in file if '"event": "module"' in line)
    if runs == at:
        delay = 0.25  # seconds: the module has been sent and runs
        threading.Timer(delay, _kill).start()


def _kill() -> None:
    """Kill the play, whose workers have groups of their own; this worker goes last."""
    os.killpg(PLAY[0], signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Records results of tasks per host, and the recap."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "lab_record"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        PLAY.append(os.getpgid(0))
        ActionBase._execute_module = _count(ActionBase._execute_module)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Record what the play has cost before the task."""
        _write(event="cpu", seconds=_spent(), task=task.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        """Record a task that succeeded."""
        own = _result(result)
        self._task(result, "changed" if own.get("changed") else "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Record a task that failed."""
        self._task(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Record a host that was lost."""
        self._task(result, "unreachable")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Record the recap."""
        hosts = {host: stats.summarize(host) for host in stats.processed}
        _write(event="recap", hosts=hosts)
        _write(event="cpu", seconds=_spent(), task="")

    def _task(self, result: Any, status: str) -> None:
        own = _result(result)
        task = getattr(result, "task", None) or result._task
        host = getattr(result, "host", None) or result._host
        _write(
            event="task",
            host=host.get_name(),
            task=_name(task),
            status=status,
            message=_message(own),
        )


def _spent() -> float:
    """Return the CPU seconds of the control host so far: the play's own and its workers'."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _message(own: dict[str, Any]) -> str:
    """Return what a task says; of a loop, what its failed items say."""
    items = [item for item in own.get("results", ()) if item.get("failed")]
    return "; ".join(str(item.get("msg", "")) for item in items or [own])


def _result(result: Any) -> dict[str, Any]:
    found = getattr(result, "result", None)
    return found if found is not None else result._result

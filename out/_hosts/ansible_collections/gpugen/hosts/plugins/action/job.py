# Copyright: the gpugen authors. Apache-2.0.
"""Waits for a command on the host in short steps, so that a lost connection is noticed by the next."""

from __future__ import annotations

import pathlib
import time

from ansible.plugins.action import ActionBase

PROGRAMS = pathlib.Path(__file__).parents[1] / "module_utils"
LIMIT = 3500  # seconds for all steps; a step waits 20


class ActionModule(ActionBase):
    """The action; ``plugins/modules/job.py`` documents it."""

    _supports_check_mode = False
    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("argv", "step", "sha256"))

    def run(self, tmp=None, task_vars=None):
        """Begin, wait until the command ended, and fail as it did."""
        result = super().run(tmp, task_vars)
        argv, step = self._task.args.get("argv", []), self._task.args.get("step", "start")
        own = {"argv": argv, "step": step, "unit": (PROGRAMS / "job_unit.py").read_text("utf-8")}
        if "sha256" in self._task.args:
            guard = (PROGRAMS / "root_only.py").read_text("utf-8")
            own.update(sha256=self._task.args["sha256"], guard=guard)
        end = time.monotonic() + LIMIT
        while True:
            answer = self._execute_module(module_name="gpugen.hosts.job", module_args=own, task_vars=task_vars)
            if answer.get("failed") or answer["state"] not in ("runs", "busy"):
                break
            if time.monotonic() > end:
                answer.update(failed=True, msg="it still runs, and the next run waits for it: gpugen-job.service")
                break
            own["step"] = "await" if answer["state"] == "runs" else "start"
        result.update(answer, cmd=argv)
        if not result.get("failed") and result.get("rc"):
            words = (result["stderr"] or result["stdout"]).strip()
            result.update(failed=True, msg="%s ended with %s: %s" % (argv[0], result["rc"], words))
        return result

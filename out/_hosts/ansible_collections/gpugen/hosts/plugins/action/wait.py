# Copyright: the gpugen authors. Apache-2.0.
"""Asks the control host until nothing is missing that a role waits for."""

from __future__ import annotations

import time

from ansible.plugins.action import ActionBase

from ansible_collections.gpugen.hosts.plugins.action import decide
from ansible_collections.gpugen.hosts.plugins.plugin_utils import engine

PAUSE = 5  # seconds
SPEC = {
    "role": {"type": "str", "required": True},
    "for": {"type": "str", "required": True},
    "patience": {"type": "int", "default": 0},
}


class ActionModule(decide.ActionModule):
    """The action; ``plugins/modules/wait.py`` documents it."""

    _VALID_ARGS = frozenset(SPEC)

    def run(self, tmp=None, task_vars=None):
        """Ask until nothing is missing, or for as long as patience lasts."""
        result = ActionBase.run(self, tmp, task_vars)
        _result, own = self.validate_argument_spec(argument_spec=SPEC)
        wanted = self._wanted({"roles": [own["role"]], "state": "present"}, task_vars)
        module, end = decide.module_of(own["role"]), time.monotonic() + own["patience"]
        while True:
            found = module.missing(own["for"], _seen(module, own["for"], wanted), wanted)
            if not found.text or found.is_final or time.monotonic() >= end:
                break
            time.sleep(PAUSE)
        result["changed"] = False
        if found.text:
            result.update(failed=True, msg="%s: %s" % (task_vars["inventory_hostname"], found.text))
        return result


class _Asking:
    """A role that asks the control host alone."""

    def __init__(self, module, what):
        self._module, self._what = module, what

    def questions(self, wanted, seen):
        """Return what is asked."""
        return {"control": self._module.awaited(self._what, wanted, seen)}


def _seen(module, what, wanted):
    """Return the answers of this moment."""
    return engine.look({"": _Asking(module, what)}, wanted, lambda _questions: {}, decide.on_control)[""]

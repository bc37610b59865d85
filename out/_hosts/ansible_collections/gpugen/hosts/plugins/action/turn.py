# Copyright: the gpugen authors. Apache-2.0.
"""Takes, looks at or ends a run's turn at a host or node, and tells who else has it."""

from __future__ import annotations

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.gpugen.hosts.plugins.module_utils import turn as turns
from ansible_collections.gpugen.hosts.plugins.plugin_utils import control
from ansible_collections.gpugen.hosts.plugins.plugin_utils import turn as runs

FILE = "/var/lib/gpugen/turn.json"  # in /var, because the boot that a run causes must not end its turn
SPEC = {
    "do": {"type": "str", "choices": ["look", "take", "end"], "default": "take"},
    "take_over": {"type": "bool", "default": False},
    "refuse": {"type": "bool", "default": True},
    "kubectl": {"type": "list", "elements": "str"},
    "node": {"type": "str"},
    "path": {"type": "path", "default": FILE},
}


class ActionModule(ActionBase):
    """The action; ``plugins/modules/turn.py`` documents it."""

    _supports_check_mode = True
    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(SPEC)

    def run(self, tmp=None, task_vars=None):
        """Ask, tell, and refuse."""
        result = super().run(tmp, task_vars)
        _result, own = self.validate_argument_spec(argument_spec=SPEC, required_together=[["kubectl", "node"]])
        if self._task.check_mode:
            own["do"] = "look"
        try:
            run = runs.identify()
            over = "*" if own["take_over"] else ""
            answer = runs.settled(lambda ended: self._ask(own, run, ended, task_vars), over)
        except (LookupError, runs.LeaseError) as problem:
            raise AnsibleActionFail(str(problem)) from problem
        place = own["node"] or "the host"
        result.update(answer, changed=False)
        if answer["former"]:
            result.update(msg=runs.left(place, answer["former"]), _ansible_verbose_always=True)
        if answer["state"] == "held":
            result["refusal"] = runs.refusal(place, answer)
        if answer["state"] == "held" and own["refuse"]:
            reason = "%s: DRV-15: %s" % (task_vars["inventory_hostname"], result["refusal"])
            result.update(failed=True, msg=reason)
        return result

    def _ask(self, own, run, over, task_vars):
        """Ask the Lease or the host."""
        if own["kubectl"]:
            lease = runs.Lease(own["kubectl"], own["node"], control.command)
            return turns.answer(lease, own["do"], run, over)
        question = {"path": own["path"], "do": own["do"], "run": run, "over": over}
        found = self._execute_module(module_name="gpugen.hosts.turn_file", module_args=question, task_vars=task_vars)
        if "state" not in found:
            raise AnsibleActionFail(found.get("msg", "the host did not answer"), result=found)
        return {key: found[key] for key in ("state", "run", "former", "own", "since", "renewed", "until")}

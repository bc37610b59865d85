# Copyright: the gpugen authors. Apache-2.0.
"""Reads a host for all roles at once, and decides in Python what each has to do."""

from __future__ import annotations

import base64
import datetime
import importlib
import json
import os
import pathlib
import urllib.parse

import yaml
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ansible_collections.gpugen.hosts.plugins.plugin_utils import control, engine, report

ROLES = pathlib.Path(__file__).parents[2] / "roles"


class ActionModule(ActionBase):
    """The action; ``plugins/modules/decide.py`` documents it."""

    _supports_check_mode = True
    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("roles", "by_tags", "state", "refuse", "verify"))

    def run(self, tmp=None, task_vars=None):
        """Read, decide; fail with all faults at once."""
        result = super().run(tmp, task_vars)
        _result, own = self.validate_argument_spec(
            argument_spec={
                "roles": {"type": "list", "elements": "str", "required": True},
                "by_tags": {"type": "bool", "default": False},
                "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
                "refuse": {"type": "bool", "default": True},
                "verify": {"type": "bool", "default": False},
            }
        )
        if own["by_tags"]:
            own["roles"] = _selected(own["roles"], task_vars)
        wanted = self._wanted(own, task_vars)
        roles = {name: module_of(name) for name in own["roles"]}
        facts = {}

        # A question may hold what a file says, such as logins of registries.
        unlogged = dict(task_vars, ansible_no_target_syslog=True)

        def on_host(questions):
            answer = self._execute_module(
                module_name="gpugen.hosts.probe", module_args={"questions": questions}, task_vars=unlogged
            )
            facts.update(answer.get("ansible_facts", {}))
            if "answers" not in answer:
                raise AnsibleActionFail(answer.get("msg", "the probe did not answer"), result=answer)
            return answer["answers"]

        decisions, seen = engine.decide(roles, wanted, on_host, on_control) if roles else ({}, {})
        if task_vars.get("gpugen_facts_out"):
            self._write(decisions, seen, wanted, task_vars)
        if own["by_tags"] and "gpugen_check" not in task_vars:  # a cache of facts may hold those of another run
            facts.update({name + "_decision": {} for name in os.listdir(ROLES)})
        facts.update({name + "_decision": dict(decision) for name, decision in decisions.items()})
        problems = [
            text
            for decision in decisions.values()
            for text in (decision["faults"] if own["refuse"] else [])
            + (decision["shortfalls"] if own["verify"] else [])
        ]
        result.update(
            changed=False,
            ansible_facts=facts,
            interrupts=[text for decision in decisions.values() for text in decision["interrupts"]],
            due=any(
                decision["due"] or decision["shortfalls"] or decision["interrupts"] or decision["reboot_due"]
                for decision in decisions.values()
            ),
            reboot_due=any(decision["reboot_due"] for decision in decisions.values()),
        )
        if problems:
            unique = list(dict.fromkeys(problems))
            result.update(failed=True, msg=task_vars["inventory_hostname"] + ": " + "; ".join(unique))
            if not self._task.until:
                del result["ansible_facts"]  # Ansible keeps none of a failed task, and prints them all
        return result

    def _write(self, decisions, seen, wanted, task_vars):
        """Write what the host says; what an earlier task of this run wrote is carried on."""
        stated = {
            name: self._templar.template(task_vars.get("gpugen_" + name, ""))
            for name in ("facts_out", "cluster", "pool", "playbook")
        }
        folder = pathlib.Path(stated["facts_out"]).expanduser()
        host = task_vars["inventory_hostname"]
        path = folder / (urllib.parse.quote(host, safe="") + ".json")
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        run = report.Run(
            host, stated["cluster"], stated["pool"], stated["playbook"] or "site", wanted["check_mode"], now
        )
        # Set by the checks, with which a run begins.
        goes_on = path.is_file() and ("gpugen_check" in task_vars or "gpugen_is_checked" in task_vars)
        earlier = json.loads(path.read_text("utf-8")) if goes_on else {}
        found = report.document(run, decisions, seen, wanted, earlier)
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", "utf-8")
        part.replace(path)

    def _wanted(self, own, task_vars):
        """Return the variables of all roles, valid and with their defaults."""
        wanted = {
            "state": own["state"],
            "check_mode": bool(self._task.check_mode),
            "no_log": bool(self._task.no_log),
            "inventory_hostname": task_vars["inventory_hostname"],
            "playbook_dir": task_vars["playbook_dir"],
            "runs_all": "all" in task_vars["ansible_run_tags"] and not task_vars["ansible_skip_tags"],
        }
        private = tuple("__" + name + "_" for name in own["roles"])
        for name, value in task_vars.items():
            if name.startswith(private):
                wanted[name] = self._templar.template(value)
        for role in sorted(os.listdir(ROLES)):
            wanted.update(self._of_role(role, task_vars, role in own["roles"]))
        return wanted

    def _of_role(self, role, task_vars, is_used):
        spec = _options(role)
        stated = {name: self._templar.template(task_vars[name]) for name in spec if name in task_vars}
        if not is_used:
            defaults = {name: option.get("default") for name, option in spec.items()}
            return dict(defaults, **stated)
        checked = ArgumentSpecValidator(spec).validate(stated)
        if checked.error_messages:
            raise AnsibleActionFail("%s: %s" % (role, "; ".join(checked.error_messages)))
        return checked.validated_parameters


_known = {}


def _options(role):
    """Return the options of a role's main entry point, read once."""
    if role not in _known:
        text = (ROLES / role / "meta" / "argument_specs.yml").read_text("utf-8")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        _known[role] = _typed(yaml.load(text, Loader=loader)["argument_specs"]["main"]["options"])
    return _known[role]


def _typed(options):
    """Drop what is for people."""
    found = {}
    for name, option in options.items():
        found[name] = {key: value for key, value in option.items() if key not in ("description", "options")}
        if "options" in option:
            found[name]["options"] = _typed(option["options"])
    return found


def _selected(roles, task_vars):
    """Return the roles that --tags and --skip-tags leave: a role's tag is its name."""
    run, skip = set(task_vars["ansible_run_tags"]), set(task_vars["ansible_skip_tags"])
    every = run & {"all", "tagged", "preflight"}
    return [name for name in roles if (every or name in run) and name not in skip]


def module_of(role):
    return importlib.import_module("ansible_collections.gpugen.hosts.plugins.plugin_utils." + role)


def on_control(questions):
    """Answer questions about the control host, as the user who runs Ansible."""
    commands = {name: control.command(argv) for name, argv in questions.get("commands", {}).items()}
    return {"commands": commands, "files": {path: _file(path) for path in questions.get("files", ())}}


def _file(path):
    """Return a file's bytes as base64; None where it cannot be read."""
    try:
        return base64.b64encode(pathlib.Path(path).read_bytes()).decode()
    except OSError:
        return None

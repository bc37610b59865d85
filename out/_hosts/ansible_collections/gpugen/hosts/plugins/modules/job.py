#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Runs a command in a unit of its own, which outlives the connection."""

from __future__ import annotations

DOCUMENTATION = """
module: job
short_description: Run a command in a systemd unit that outlives the connection
description:
  - Begins a command, such as a transaction of packages, that must not be torn when the connection is lost, and waits for its end.
  - If the connection was lost, the next run of M(gpugen.hosts.probe) waits for the command and tells what came of it.
  - A command that another run began is waited for.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  argv:
    description: The command, without a shell.
    type: list
    elements: str
  step:
    description: Begin it and wait; only wait; or drop what an earlier run left. The action waits in short steps.
    type: str
    choices: [start, await, forget]
    default: start
  sha256:
    description:
      - Run the command only if its first word is a file with this checksum in a folder of M(gpugen.hosts.root_only), as checked right before it runs.
    type: str
  unit:
    description: Text of the program that the unit runs. Set by the action.
    type: str
  guard:
    description: Text of the program that checks a file in front of running it. Set by the action.
    type: str
"""

EXAMPLES = """
- name: Install the driver in one transaction
  gpugen.hosts.job:
    argv: [apt-get, install, --yes, nvidia-open]
"""

RETURN = """
state:
  description: C(ended), C(runs), C(busy) while the command of another run goes on, or C(forgotten).
  type: str
  returned: always
rc:
  description: Status of the command; a signal is above 128.
  type: int
  returned: when it ended
stdout:
  description: End of its output.
  type: str
  returned: when it ended
stderr:
  description: End of its error output.
  type: str
  returned: when it ended
"""

import sys

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpugen.hosts.plugins.module_utils import job


def command(params):
    """Return the command, behind the check of its file where one is asked for."""
    argv = params["argv"]
    if not params["sha256"]:
        return argv
    return [sys.executable, "-c", params["guard"], argv[0], params["sha256"]] + argv[1:]


def answer(params):
    """Take one step."""
    if params["step"] == "forget":
        return job.forget()
    if params["step"] == "await":
        return job.finish(command(params))
    return job.start(command(params), params["unit"])


def main():
    """Take one step, and tell how the command stands."""
    module = AnsibleModule(
        argument_spec={
            "argv": {"type": "list", "elements": "str"},
            "step": {"type": "str", "choices": ["start", "await", "forget"], "default": "start"},
            "sha256": {"type": "str"},
            "unit": {"type": "str"},
            "guard": {"type": "str"},
        },
        supports_check_mode=False,
    )
    try:
        found = answer(module.params)
    except job.Refused as refused:
        module.fail_json(msg=str(refused), state="unknown")
    module.exit_json(
        changed=True, state=found["state"], rc=found.get("rc", 0), stdout=found.get("out", ""), stderr=found.get("err", "")
    )


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Answers all questions about a host in one start of Python."""

from __future__ import annotations

DOCUMENTATION = """
module: probe
short_description: Answer all questions about a host in one start of Python
description:
  - Reads files, packages, units and the output of commands that change nothing.
  - Needs Python 3.8 or newer on the host, and nothing else.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  questions:
    description:
      - O(questions) holds lists C(files), C(globs), C(packages) (patterns), C(units), C(urls) and
        C(bridges) (trees of sysfs),
        and mappings C(commands) (name to argv, or to C(argv), C(stdin) and C(limit) in seconds)
        and C(users) (name to patterns of device files), and C(schedulers) (name to what is asked
        about the main kube-scheduler, which C(module_utils/scheduler.py) lists).
    type: dict
    default: {}
"""

EXAMPLES = """
- name: Read the driver
  gpugen.hosts.probe:
    questions:
      files: [/proc/driver/nvidia/version]
      commands: {kernel: [uname, -r]}
  register: answers
"""

RETURN = """
answers:
  description:
    - C(host) holds C(os_release), C(kernel), C(architecture), C(pkg_mgr), C(python), C(has_dnf),
      C(systemd) and C(now), always.
    - C(files) leads from path to C(text) and C(mtime), or null; C(globs) from pattern to paths;
      C(packages) from name to C(version) and C(held); C(units) from name to systemd's states;
      C(commands) from name to C(rc), C(out) and C(err), rc 127 where the program is missing;
      C(users) from name to a list of C(pid) and C(name);
      C(schedulers) from name to how the main kube-scheduler runs;
      C(bridges) from a tree to the PCI bridges whose access control services (ACS) are on;
      C(urls) from address to C(status) and C(msg), of a request that fetches nothing.
    - C(job) holds C(request), C(result) and C(runs) where an earlier run left a command that
      outlived its connection.
  type: dict
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpugen.hosts.plugins.module_utils import reading


def main():
    """Answer."""
    options = {"questions": {"type": "dict", "default": {}}}
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    module.exit_json(changed=False, answers=reading.answer(module.params["questions"]))


if __name__ == "__main__":
    main()

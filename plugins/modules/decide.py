#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Documentation of the action of this name, which runs on the control host."""

from __future__ import annotations

DOCUMENTATION = """
module: decide
short_description: Read a host once, and decide for all roles what is to be done
description:
  - Asks the host all questions of all roles in one start of Python (M(gpugen.hosts.probe)).
  - Has a pure function of each role decide, and sets its decision as the fact C(<role>_decision).
  - Reads the roles' variables, and checks them by the roles' argument specs.
  - Changes nothing.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  roles:
    description: Roles that are to decide.
    type: list
    elements: str
    required: true
  by_tags:
    description: Leave out roles that C(--tags) and C(--skip-tags) leave out. A role's tag is its name.
    type: bool
    default: false
  state:
    description: Whether the roles are to be applied or removed.
    type: str
    choices: [present, absent]
    default: present
  refuse:
    description: Fail with all reasons for which a role refuses the host.
    type: bool
    default: true
  verify:
    description: Fail with all that is not as expected.
    type: bool
    default: false
"""

EXAMPLES = """
- name: Read the host, and refuse it unless it fits
  gpugen.hosts.decide:
    roles: [nvidia_driver, nvidia_container_toolkit]
"""

RETURN = """
interrupts:
  description: Why the node must be drained before the roles are applied.
  type: list
  returned: always
due:
  description: Whether anything is to be changed, or is not as expected.
  type: bool
  returned: always
reboot_due:
  description: Whether the host must reboot.
  type: bool
  returned: always
"""

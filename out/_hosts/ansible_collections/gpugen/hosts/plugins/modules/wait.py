#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Documentation of the action of this name, which runs on the control host."""

from __future__ import annotations

DOCUMENTATION = """
module: wait
short_description: Ask the control host until nothing is missing that a role waits for
description:
  - Asks every five seconds what the role asks about O(for), and fails with what is missing when O(patience) is over.
  - Runs on the control host alone, and changes nothing.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  role:
    description: The role that asks and judges.
    type: str
    required: true
  for:
    description: What is waited for, by a word of the role.
    type: str
    required: true
  patience:
    description: Seconds; 0 to ask once.
    type: int
    default: 0
"""

EXAMPLES = """
- name: Wait until the node advertises what the spec predicts
  gpugen.hosts.wait:
    role: gpu_node
    for: resources
    patience: 300
"""

RETURN = """
msg:
  description: What is missing.
  type: str
  returned: on failure
"""

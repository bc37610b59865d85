#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Documentation of the action of this name, which runs on the control host."""

from __future__ import annotations

DOCUMENTATION = """
module: turn
short_description: Let one run at a time interrupt a host or node
description:
  - Finds out which run of ansible-playbook this is, and looks whose turn it is, takes or renews the turn, or ends it.
  - The turn is a Lease in kube-system where O(kubectl) reaches a cluster, otherwise a file on the host (M(gpugen.hosts.turn_file)).
  - The turn of a run that has ended is taken from it where that can be seen for certain, on the same control host;
    otherwise it ends by itself after two hours without a step.
  - In check mode it only looks.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  do:
    description: Look whose turn it is, take or renew it, or end it.
    type: str
    choices: [look, take, end]
    default: take
  take_over:
    description: Take the turn of any other run, which is known to be gone.
    type: bool
    default: false
  refuse:
    description: Fail where another run has the turn.
    type: bool
    default: true
  kubectl:
    description: Command line of kubectl on the control host.
    type: list
    elements: str
  node:
    description: Name of the node whose Lease it is.
    type: str
  path:
    description: File on the host, where there is no O(kubectl).
    type: path
    default: /var/lib/gpugen/turn.json
"""

EXAMPLES = """
- name: Take the node for this run
  gpugen.hosts.turn:
    kubectl: [kubectl, --context=lab]
    node: gpu-01
"""

RETURN = """
state:
  description: C(free), C(ours) or C(held).
  type: str
  returned: always
run:
  description: The run that has the turn.
  type: dict
  returned: always
former:
  description: The run that it was taken from.
  type: dict
  returned: always
own:
  description: The run that asks.
  type: dict
  returned: always
since:
  description: When the turn began.
  type: str
  returned: always
renewed:
  description: When it was renewed.
  type: str
  returned: always
until:
  description: When it ends by itself.
  type: str
  returned: always
refusal:
  description: Who has the turn, and what to do.
  type: str
  returned: when another run has it
msg:
  description: From whom the turn was taken, or why the host is refused.
  type: str
  returned: when it was taken, or is refused
"""

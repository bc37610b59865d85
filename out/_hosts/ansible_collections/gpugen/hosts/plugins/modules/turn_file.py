#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Keeps in a file on the host which run may interrupt it."""

from __future__ import annotations

DOCUMENTATION = """
module: turn_file
short_description: Keep in a file on the host which run may interrupt it
description:
  - Used by M(gpugen.hosts.turn), which knows the run that asks.
  - Needs Python 3.8 or newer on the host, and nothing else.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  path:
    description: The file, in a folder of its own that only root may enter.
    type: path
    required: true
  do:
    description: Look whose turn it is, take or renew it, or end it.
    type: str
    choices: [look, take, end]
    required: true
  run:
    description: The run that asks, with its C(id) and C(who).
    type: dict
    required: true
  over:
    description: Id of a run whose turn is over for certain; C(*) for any.
    type: str
    default: ""
"""

EXAMPLES = """
- name: Tell whose turn it is
  gpugen.hosts.turn_file:
    path: /var/lib/gpugen/turn.json
    do: look
    run: {id: 0123456789ab, who: ops@control}
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
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpugen.hosts.plugins.module_utils import turn


def main():
    """Answer; the turn ends with the run, so taking it is no change."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "do": {"type": "str", "choices": ["look", "take", "end"], "required": True},
            "run": {"type": "dict", "required": True},
            "over": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    own = module.params
    do = "look" if module.check_mode else own["do"]
    store = turn.File(own["path"], do != "look")
    module.exit_json(changed=False, **turn.answer(store, do, own["run"], own["over"]))


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Ends the programs of ours that hold a host's GPUs in containers."""

from __future__ import annotations

DOCUMENTATION = """
module: gpu_agents
short_description: End the cluster's agents that hold a host's GPUs
description:
  - Ends device plugin, feature discovery, exporter and MPS daemons, whatever container they run in.
  - They hold no work, and the kubelet starts them again.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options: {}
"""

EXAMPLES = """
- name: End the agents, so that they see new MIG instances when the kubelet starts them again
  gpugen.hosts.gpu_agents:
"""

RETURN = """
ended:
  description: Names of the programs that were ended.
  type: list
  elements: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpugen.hosts.plugins.module_utils import gpu_agents


def main():
    """End them all, or say which one does not end."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    agents, left = (gpu_agents.found(), []) if module.check_mode else gpu_agents.end()
    names = [name for _pid, name in agents]
    if left:
        module.fail_json(msg="still there: %s" % sorted(left), ended=names)
    module.exit_json(changed=bool(names), ended=names)


if __name__ == "__main__":
    main()

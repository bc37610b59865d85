#!/usr/bin/python
# Copyright: the gpugen authors. Apache-2.0.
"""Makes a folder that only root can enter, or refuses the one that is there."""

from __future__ import annotations

DOCUMENTATION = """
module: root_only
short_description: Make a folder that only root can enter
description:
  - Makes a folder for programs that run as root. Whoever but root can change a part of its path is a reason to fail, and so is a link in it.
  - M(gpugen.hosts.job) runs a program that lies there, after it has checked the same again.
author: The gpugen authors (@gpugen)
version_added: 0.1.0
options:
  path:
    description: The folder. The one above it must exist.
    type: path
    required: true
"""

EXAMPLES = """
- name: Make a folder that only root can enter
  gpugen.hosts.root_only:
    path: /var/lib/gpugen
"""

RETURN = """
path:
  description: The folder.
  type: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gpugen.hosts.plugins.module_utils import root_only


def main():
    """Make it, or tell why it is not used."""
    options = {"path": {"type": "path", "required": True}}
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    path = module.params["path"]
    try:
        is_new, found = root_only.make(path, module.check_mode)
    except OSError as problem:
        module.fail_json(msg=str(problem), path=path)
    if found:
        module.fail_json(msg="%s is not used: %s" % (path, "; ".join(found)), path=path)
    module.exit_json(changed=is_new, path=path)


if __name__ == "__main__":
    main()

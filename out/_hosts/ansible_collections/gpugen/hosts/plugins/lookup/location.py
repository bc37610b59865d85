# Copyright: the gpugen authors. Apache-2.0.
"""Tells where this collection was found."""

from __future__ import annotations

DOCUMENTATION = r"""
name: location
author: The gpugen authors (@gpugen)
version_added: 0.1.0
short_description: Tell where this collection was found
description:
  - Returns the folder of the collection C(gpugen.hosts) that is in use. Ansible may find it in several places.
options: {}
"""

EXAMPLES = r"""
- name: Tell where the collection was found
  ansible.builtin.debug:
    msg: "{{ lookup('gpugen.hosts.location') }}"
"""

RETURN = r"""
_raw:
  description: The folder.
  type: list
  elements: path
"""

import pathlib

from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    """The lookup; it takes no terms."""

    def run(self, terms, variables=None, **kwargs):
        """Return the collection's folder."""
        return [str(pathlib.Path(__file__).parents[2])]

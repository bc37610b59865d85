"""YAML as Ansible reads it: what is behind ``!unsafe`` keeps the types that it is written with.

By libyaml where PyYAML has it, which is what Ansible does too.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import yaml


class Data(str):
    """A string that Ansible never evaluates."""

    __slots__ = ()


_Safe = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Loader(_Safe):  # type: ignore[misc, valid-type]
    """YAML 1.1 with Ansible's tag, which means all that is below it."""

    depth = 0


class _Marking(_Loader):
    """Keeps what is behind the tag apart."""


def read(text: str | bytes) -> Any:
    """Return a document's content."""
    return yaml.load(text, _Loader)


def marked(text: str | bytes) -> Any:
    """Return a document's content; strings behind the tag are Data."""
    return yaml.load(text, _Marking)


def _unsafe(loader: _Loader, node: yaml.Node) -> Any:
    """Construct like ansible-core 2.19: as if there were no tag, even for a quoted scalar."""
    plain = copy(node)
    plain.tag = loader.resolve(type(node), node.value, (True, False))
    loader.depth += 1
    try:
        return loader.construct_object(plain, deep=True)
    finally:
        loader.depth -= 1


def _text(loader: _Marking, node: yaml.ScalarNode) -> str:
    value = loader.construct_scalar(node)
    return Data(value) if loader.depth else value


_Loader.add_constructor("!unsafe", _unsafe)
_Marking.add_constructor("tag:yaml.org,2002:str", _text)

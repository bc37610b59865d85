"""Rendered YAML files: the header that names their source, then one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugen.kube import header
from gpugen.model.assembly import Expression
from gpugen.model.spec import ClusterSpec
from gpugen.text.yaml import Mark, Unsafe, of_pools, to_yaml

__all__ = [
    "Mark",
    "Unsafe",
    "as_data",
    "header",
    "of_pools",
    "to_yaml",
    "variables_file",
    "yaml_file",
]


def yaml_file(spec: ClusterSpec, value: object) -> str:
    """Write one YAML file with its header."""
    return header(spec) + to_yaml(value)


def variables_file(spec: ClusterSpec, variables: Mapping[str, Any]) -> str:
    """Write a file of Ansible variables with its header; their strings are data but Expressions.

    Raises TypeError: strings and Expressions share a mapping or sequence.
    """
    return yaml_file(spec, as_data(variables))


def as_data(value: Mapping[str, Any] | Sequence[Any]) -> Unsafe | dict[str, Any] | list[Any]:
    """Return variables in which Ansible evaluates Expressions and no other string.

    Ansible runs lookups that it finds in variables, and a header in the text itself may change the
    marks by which it finds them; so the type decides, not the text. The largest parts without an
    Expression are marked as a whole. Raises TypeError: strings and Expressions share a mapping or
    sequence.
    """
    if not _evaluates(value):
        return Unsafe(value)
    if isinstance(value, Mapping):
        return {key: _beside_expressions(item) for key, item in value.items()}
    return [_beside_expressions(item) for item in value]


def _beside_expressions(item: Any) -> Any:
    if isinstance(item, Expression):
        return str(item)
    if isinstance(item, str):
        raise TypeError(f"{item!r} is data beside an Expression; move it elsewhere")
    return as_data(item) if isinstance(item, Mapping | Sequence) else item


def _evaluates(value: object) -> bool:
    """Tell whether any part is an Expression."""
    if isinstance(value, str):
        return isinstance(value, Expression)
    if isinstance(value, Mapping):
        return any(map(_evaluates, value.values()))
    return isinstance(value, Sequence) and any(map(_evaluates, value))

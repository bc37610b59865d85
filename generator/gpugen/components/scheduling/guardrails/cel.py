"""CEL text: literals of plain data, and the expressions that every policy shares.

Only what Kubernetes 1.32 knows is used: an API server compiles for the minor before its own, so
that is what 1.33 takes. No lists of mixed types, no ``sort`` or ``flatten``.
Source: kubernetes v1.36.3, apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Data: TypeAlias = "str | int | Sequence[Data] | Mapping[str, Data]"

LIMITS = "c.?resources.?limits.orValue({})"
IS_SOME = "string(c.resources.limits[n]) != '0'"  # charts ask for 0 where they mean none


def literal(value: Data) -> str:
    """Return data as a CEL literal on one line."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(map(literal, value)) + "]"


def table(rows: Mapping[str, Data]) -> str:
    """Return a mapping as a CEL literal with one row a line, for readable differences."""
    lines = (f"  {literal(key)}: {literal(value)}" for key, value in rows.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def containers(pod: str) -> str:
    """Return the containers of a pod, those included that run before the others."""
    return f"({pod}.containers + {pod}.?initContainers.orValue([]))"


def units(name: str) -> str:
    """Return how many units of a resource each of the containers ``c`` of a list asks for.

    A quantity that is not whole counts as none: Kubernetes itself refuses it.
    """
    return (
        f".filter(c, {name} in {LIMITS})"
        f".map(c, quantity(string(c.resources.limits[{name}])))"
        ".map(q, q.isInteger() ? q.asInteger() : 0)"
    )


def is_gpu(name: str) -> str:
    """Tell whether the device plugin, or its forerunner, could advertise a resource."""
    return (
        f"({name} in ['nvidia.com/gpu', 'nvidia.com/gpu.shared', 'alpha.kubernetes.io/nvidia-gpu']"
        f" || {name}.startsWith('nvidia.com/mig-'))"
    )


def is_tolerated(taint: str, tolerations: str) -> str:
    """Tell whether any toleration is one of the taint; comparisons of numbers count as one."""
    return (
        f"{tolerations}.exists(o, o.?key.orValue('') in ['', {taint}.key]"
        f" && o.?effect.orValue('') in ['', {taint}.effect]"
        f" && (!(o.?operator.orValue('') in ['', 'Equal'])"
        f" || o.?value.orValue('') == {taint}.value))"
    )

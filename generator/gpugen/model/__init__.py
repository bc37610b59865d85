"""Frozen data that the stages pass on; every record is a ``NamedTuple``.

Chosen by measurement: as cheap as records of compiled code, part of Python itself, and mypy knows
its constructor and ``_replace``. Two records of different kinds are equal if their values are, so
kinds are never mixed in one set; and no field can be called ``count`` or ``index``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[Any, Any] = MappingProxyType({})  # the default of fields that hold a mapping

# Copyright: the gpugen authors. Apache-2.0.
"""Decides whether a host fits its pool, and what the driver needs on it.

Beside its options the role reads private variables: ``__gpu_prerequisites_sysfs`` and
``__gpu_prerequisites_container_marker``, where the machine is read, and
``__gpu_prerequisites_results``, the lines that the module dnf gave for a simulated transaction.
"""

from __future__ import annotations

from .decision import decide
from .described import described
from .questions import questions

__all__ = ("decide", "described", "questions")

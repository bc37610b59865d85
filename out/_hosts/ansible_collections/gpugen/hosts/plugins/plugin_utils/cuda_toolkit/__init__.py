# Copyright: the gpugen authors. Apache-2.0.
"""Decides which CUDA toolkits come to a host, which go, and what /usr/local/cuda leads to.

Beside its options the role reads private variables: ``__cuda_toolkit_procfs``, where the loaded
driver is read, and ``__cuda_toolkit_simulation``, what the module apt or dnf answered about a
transaction in check mode.
"""

from __future__ import annotations

from .decision import decide
from .described import described
from .questions import questions

__all__ = ("decide", "described", "questions")

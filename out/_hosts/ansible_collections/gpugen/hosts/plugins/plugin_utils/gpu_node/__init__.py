# Copyright: the gpugen authors. Apache-2.0.
"""What gpu_node decides: labels, taints and the hold of a node, and what is waited for."""

from __future__ import annotations

from .asking import questions
from .decision import decide
from .described import described
from .waits import awaited, missing

__all__ = ["awaited", "decide", "described", "missing", "questions"]

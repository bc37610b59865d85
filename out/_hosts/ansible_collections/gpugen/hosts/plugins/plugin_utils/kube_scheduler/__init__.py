# Copyright: the gpugen authors. Apache-2.0.
"""Decides about the main scheduler of a control-plane host: its configuration, and its flag."""

from __future__ import annotations

from .cluster import awaited, missing
from .decision import decide
from .described import described
from .host import questions

__all__ = ["awaited", "decide", "described", "missing", "questions"]

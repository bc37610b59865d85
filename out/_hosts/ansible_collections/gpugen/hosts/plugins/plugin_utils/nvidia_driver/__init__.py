# Copyright: the gpugen authors. Apache-2.0.
"""Brings a host to one exact NVIDIA driver: what to ask, and what follows from the answers."""

from __future__ import annotations

from .asking import questions
from .decision import decide
from .described import described

__all__ = ["decide", "described", "questions"]

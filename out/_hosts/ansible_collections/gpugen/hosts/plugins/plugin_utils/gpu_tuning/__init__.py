# Copyright: the gpugen authors. Apache-2.0.
"""Decides about the settings of a GPU host; what is not stated is not touched."""

from .asking import questions
from .decision import decide
from .described import described

__all__ = ["decide", "described", "questions"]

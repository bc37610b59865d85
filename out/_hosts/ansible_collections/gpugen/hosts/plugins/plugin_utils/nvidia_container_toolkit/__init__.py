# Copyright: the gpugen authors. Apache-2.0.
"""The NVIDIA container toolkit: what is asked of a host, and what is due on it."""

from .asking import questions
from .decision import decide
from .described import described

__all__ = ["decide", "described", "questions"]

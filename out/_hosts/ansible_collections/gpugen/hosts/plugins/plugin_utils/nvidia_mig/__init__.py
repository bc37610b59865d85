# Copyright: the gpugen authors. Apache-2.0.
"""Decides about the MIG layout of a host: whether it is due, and who applies it."""

from .decision import decide
from .host import described, questions

__all__ = ["decide", "described", "questions"]

# Copyright: the gpugen authors. Apache-2.0.
"""Decides about the DCGM host engine: exactly one per host, the host's service or none."""

from .decision import decide
from .host import described, questions

__all__ = ["decide", "described", "questions"]

# Copyright: the gpugen authors. Apache-2.0.
"""Turns of runs as the control host sees them: which run asks, Leases, what a refusal says."""

from __future__ import annotations

from .lease import Lease, LeaseError
from .run import identify, is_over, settled
from .words import left, refusal

__all__ = ["Lease", "LeaseError", "identify", "is_over", "left", "refusal", "settled"]

# Copyright: the gpugen authors. Apache-2.0.
"""Chooses the part that knows the host's package manager."""

from __future__ import annotations

from . import apt, dnf
from .family import Family
from .state import State, own_versions


def family_of(state: State) -> Family:
    """Return what apt's or dnf's part says."""
    if state.host.is_dnf:
        return dnf.family(state)
    return apt.family(state, own_versions(state.own, state.host))

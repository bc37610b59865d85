"""Layouts of a GPU model to try: one for the strategy single, several at once for mixed."""

from __future__ import annotations

from typing import Any

from gpugen.gpu.mig import maximal_layouts
from gpugen.model.catalog import MigGeometry


def single(geometry: MigGeometry) -> list[dict[str, Any]]:
    """Return as many as fit of the smallest profile, on every GPU."""
    name, profile = next(iter(geometry.profiles.items()))
    return [{"gpus": "all", "profiles": {name: profile.max_count}}]


def mixed(geometry: MigGeometry) -> list[dict[str, Any]]:
    """Return three different layouts for three GPUs, and one GPU that stays whole.

    Without attributes: the plugin of the release registers those under other names.
    """
    plain = [
        layout
        for layout in maximal_layouts(geometry)
        if not any(mark in name for name in layout for mark in "+-")
    ]
    chosen = (plain[0], plain[len(plain) // 2], plain[-1])
    entries = [{"gpus": [i], "profiles": layout} for i, layout in enumerate(chosen)]
    return [*entries, {"gpus": [3], "profiles": {}}]

"""The hand-written root of the spec's schema, and its defaults."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from gpugen import assets


@cache
def root_schema() -> dict[str, Any]:
    """Read the hand-written root of the spec's schema."""
    schema: dict[str, Any] = json.loads((assets.schemas() / "cluster.schema.json").read_bytes())
    return schema

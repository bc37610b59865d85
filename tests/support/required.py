"""What a test does where something it needs is not here."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip and say what is missing; fail where nothing may be (GPUGEN_REQUIRE_TOOLS)."""
    if os.environ.get("GPUGEN_REQUIRE_TOOLS"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)

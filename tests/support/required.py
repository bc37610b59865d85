"""What a test does where something it needs is not here."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str, *, is_core: bool = True) -> NoReturn:
    """Skip and say what is missing, or fail where it may not be.

    GPUGEN_REQUIRE_TOOLS: 1 requires what belongs to the core, `all` requires everything.
    """
    required = os.environ.get("GPUGEN_REQUIRE_TOOLS", "")
    if required == "all" or (required and is_core):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)

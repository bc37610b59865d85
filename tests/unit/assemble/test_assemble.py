"""The plan refuses components that contradict one another."""

from __future__ import annotations

import pytest

from gpugen.assemble import _merged


def test_same_value_twice_is_one() -> None:
    assert _merged("all", {"a": {"x": 1}, "b": {"x": 1, "y": 2}}) == {"x": 1, "y": 2}


def test_two_values_name_both_components() -> None:
    with pytest.raises(ValueError, match="first and second set 'x' of pool differently"):
        _merged("pool", {"first": {"x": 1}, "second": {"x": 2}})

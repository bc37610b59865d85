"""What unquoted scalars mean, and which are refused: the YAML 1.1 and 1.2 readers are asked."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpugen.load.scalars import DoubtfulError, resolve

REFUSED = object()


def meaning(text: str) -> Any:
    """Return what an unquoted scalar means, or REFUSED."""
    try:
        return resolve(text)
    except DoubtfulError:
        return REFUSED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None)],
        *[("true", True), ("True", True), ("FALSE", False)],
        *[("0", 0), ("7", 7), ("-12", -12), ("9" * 18, int("9" * 18))],
        *[(text, text) for text in ("lab", "1g.5gb", "15s", "10%", "580.95.05", "2001:db8::1")],
        *[(text, text) for text in ("nothing", "nan", "inf", "e1", "1.2.3.4", "../x", "a:b", "_1")],
        *[(text, text) for text in ("gpu-[01:16].lab", "https://git.example/x.git", "1.36+k3s1")],
        *[(text, REFUSED) for text in ("yes", "Off", "y", "N", "tRUE", "nULL", "=", "<<")],
        *[(text, REFUSED) for text in ("1.30", "1.", ".5", "-1e5", "1E3", ".inf", "-.INF", ".NaN")],
        *[(text, REFUSED) for text in ("010", "+1", "-0", "0x1f", "0b11", "0o7", "1_000", "1:20")],
        *[(text, REFUSED) for text in ("2026-11-21", "2026-1-1", "2026-11-21 10:00:00", "1_0.5")],
        *[(text, REFUSED) for text in ("9" * 19, "-" + "9" * 19, 'name:"x"', "a:[b]")],
    ],
)
def test_meaning(text: str, value: object) -> None:
    assert meaning(text) is value if value is REFUSED else meaning(text) == value
    assert type(meaning(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("1.30", "1.30 without quotes is the number 1.3, not this text", 'quote it: "1.30"'),
        ("010", "010 without quotes is 8 to some YAML parsers, 10 to others", 'quote it: "010"'),
    ],
)
def test_words(text: str, message: str, hint: str) -> None:
    with pytest.raises(DoubtfulError) as caught:
        resolve(text)
    assert caught.value.values == (message, hint)


def old_reader(text: str) -> Any:
    """Return what PyYAML, a reader of YAML 1.1, makes of a scalar."""
    return yaml.safe_load(f"- {text}")[0]


def new_reader(text: str) -> Any:
    """Return what ruamel.yaml, a reader of YAML 1.2, makes of a scalar."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return YAML(typ="safe", pure=True).load(f"- {text}")[0]


NUMBERISH = st.text("0123456789+-.:_eExXoObBnNfFaAiIyYtT", min_size=1, max_size=7)


@settings(max_examples=2000)
@given(NUMBERISH)
@example("0.")
@example("1_")
@example("0x_1")
@example("1:2:3")
@example("190:20:30.15")
@example("2026-12-21")
@example("-.inf")
def test_what_is_accepted_means_the_same_to_both(text: str) -> None:
    try:
        readings = [old_reader(text), new_reader(text)]
    except Exception:  # noqa: BLE001 - not a scalar, or one that a reader cannot make
        return
    if any(isinstance(reading, list | dict) for reading in readings):
        return
    value = meaning(text)
    if value is not REFUSED:
        assert readings == [value, value]
        assert {type(reading) for reading in readings} == {type(value)}

"""Whatever is written is read back alike by readers of YAML 1.1 and of YAML 1.2."""

from __future__ import annotations

import io
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpugen.text.yaml import to_yaml

# NEL, LS and PS are line breaks to one version of YAML; a surrogate is no text.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TRAPS = st.sampled_from(
    [
        *(
            "no",
            "On",
            "y",
            "1:20",
            "0o10",
            "010",
            "1e3",
            ".inf",
            "~",
            "null",
            "=",
            "<<",
            "2026-11-21",
        ),
        *(
            "- a",
            "a: b",
            "#x",
            "%x",
            "@x",
            "`x",
            "*x",
            "&x",
            "!x",
            "|",
            ">",
            "'",
            '"',
            "",
            " ",
            "\t",
        ),
        *(
            "a\n",
            "\na",
            "a\n b\n",
            "a\n\n",
            " a\nb",
            "a \nb",
            "\ufeffa",
            "a\u2028b",
            "a\x85b",
            "\x7f",
        ),
    ]
)
VALUES = st.recursive(
    TEXT | TRAPS | st.integers(-(10**15), 10**15) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | TRAPS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@example("0\n")  # a whole document: nothing above it gives an indent
@example("---\na: 1\n")
def test_read_back(value: Any) -> None:
    text = to_yaml(value)
    assert text.endswith("\n")
    assert yaml.safe_load(text) == value
    assert YAML(typ="safe", pure=True).load(io.StringIO(text)) == value


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError):
        to_yaml({"a": 1.5})

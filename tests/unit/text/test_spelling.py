"""Text of a user's in messages is short, on one line and visible; misspelt words find theirs."""

from __future__ import annotations

import pytest

from gpugen.text.spelling import nearest, printable, quoted, same, shown

MODES = ["time-slicing", "mps", "none"]


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31mred", "\u202eevil", "a\u2028b", "\ufeff", "\0"])
def test_nothing_invisible_is_printed(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text) != text
    assert shown(text).isprintable()


def test_a_long_text_is_cut() -> None:
    assert shown("x" * 40) == "x" * 40
    assert shown("x" * 10_000) == "x" * 39 + "…"
    assert quoted("a b") == "'a b'"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://me:pass@h.example/a", "https://***@h.example/a"),
        ("https://h.example/a?token=1", "https://h.example/a?***"),
        ("git@h.example:a?x=1 b", "git@h.example:a?*** b"),
        ("ssh://git@h.example/a", "ssh://git@h.example/a"),
        ("ssh://git:pass@h.example/a", "ssh://***@h.example/a"),
    ],
)
def test_of_an_address_no_credential_is_shown(address: str, said: str) -> None:
    assert shown(address) == said


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("timeSlicing", "time-slicing"),
        ("time_slicing", "time-slicing"),
        ("slicing", "time-slicing"),  # the one that contains it
        ("tme-slicing", "time-slicing"),
        ("non", "none"),
        ("fractional", ""),
        ("", ""),
    ],
)
def test_a_misspelt_word_finds_the_one_that_is_meant(word: str, meant: str) -> None:
    assert nearest(word, MODES) == meant


def test_two_longer_words_are_no_answer() -> None:
    assert nearest("pods-x", ["pods-x-limit", "pods-x-request"], likeness=0.9) == ""


def test_same_is_stricter() -> None:
    assert same("TIME_slicing", MODES) == "time-slicing"
    assert same("slicing", MODES) == ""

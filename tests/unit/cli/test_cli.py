"""The command line as a whole: what each way to end is worth, and that nothing of a spec leaks."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import click
import pytest

from gpugen import cli
from gpugen.errors import GpugenError
from support.commands import Answer, gpugen


def test_commands_are_listed_in_the_order_of_work() -> None:
    answer = gpugen("--help")
    assert answer.code == 0
    places = [answer.out.index(f"\n  {name} ") for name in cli.COMMANDS]
    assert places == sorted(places)


def test_a_misspelt_command_finds_its_own() -> None:
    answer = gpugen("rendr")
    assert answer.code == 2
    assert "Did you mean 'render'?" in answer.err


def ending(error: Exception, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Run a command of the test's own, which ends with an exception."""

    def end() -> None:
        raise error

    monkeypatch.setitem(cli.COMMANDS, "end", "Ends.")
    module = SimpleNamespace(command=click.command("end")(end))
    monkeypatch.setitem(sys.modules, "gpugen.cli.end", module)
    return gpugen("end")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (GpugenError("no room", "make some"), 4, "gpugen: no room\n    hint make some\n"),
        (FileNotFoundError(2, "No such file", "a\nb"), 4, "gpugen: No such file: a\\nb\n"),
        (MemoryError(), 4, "gpugen: out of memory\n"),
    ],
)
def test_how_a_command_ends(
    error: Exception, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ending(error, monkeypatch)
    assert (answer.code, answer.err) == (code, said)


def test_a_bug_is_told_without_a_word_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ending(ValueError("swordfish"), monkeypatch)
    assert answer.code == 70
    assert "this is a bug in gpugen" in answer.err
    assert "ValueError at " in answer.err
    assert "swordfish" not in answer.err

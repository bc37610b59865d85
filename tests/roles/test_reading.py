"""What the probe runs on a host: commands, with and without an input."""

from __future__ import annotations

from support import ROOT

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def reading() -> Any:
    path = ROOT / "plugins" / "module_utils" / "reading.py"
    spec = importlib.util.spec_from_file_location("reading", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("command", "out"), [(["cat"], ""), ({"argv": ["cat"], "stdin": "a: Ü\n"}, "a: Ü\n")]
)
def test_a_command_gets_the_input_that_is_stated(reading: Any, command: Any, out: str) -> None:
    found = reading.answer({"commands": {"own": command}})["commands"]
    assert found == {"own": {"rc": 0, "out": out, "err": ""}}


def test_a_command_is_given_time(reading: Any) -> None:
    """Repositories may be far away."""
    asked = {"late": {"argv": ["sleep", "9"], "limit": 0.1}, "missing": ["no-such-program"]}
    said = reading.answer({"commands": asked})["commands"]
    assert (said["late"]["rc"], said["late"]["err"]) == (124, "no answer within 0.1 s")
    assert said["missing"]["rc"] == 127


def test_every_unit_has_an_answer(
    reading: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where systemd does not answer too."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert reading.answer({"units": ["a.service"]})["units"] == {"a.service": {}}

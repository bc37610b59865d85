"""Whose turn it is at a host, by a file there; and which run of ansible-playbook asks (DRV-15)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lab.turns import WHO, Play

MODE = 0o777


@pytest.fixture
def plays(tmp_path: Path) -> Iterator[tuple[Play, Play]]:
    found = Play(tmp_path), Play(tmp_path)
    yield found
    for play in found:
        play.kill()


def test_a_run_is_the_playbook_above_whatever_it_starts(plays: tuple[Play, Play]) -> None:
    first, second = plays
    own = first.identify()
    assert own == first.identify()
    assert own["id"] != second.identify()["id"]
    code, out, _ = first.run("/bin/sh", "-c", 'exec "$0" "$@"', *WHO)
    assert (code, json.loads(out)) == (0, own)


def test_outside_of_ansible_nobody_has_a_turn(tmp_path: Path) -> None:
    done = subprocess.run(WHO, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "no process of ansible-playbook" in done.stderr


def test_only_a_run_of_this_machine_that_is_gone_is_over(plays: tuple[Play, Play]) -> None:
    first, second = plays
    other = second.identify()
    assert first.identify(json.dumps(other))["is_over"] is False
    second.kill()
    assert first.identify(json.dumps(other))["is_over"] is True
    for changes in ({"boot": "another"}, {"space": "pid:[1]"}, {"pid": "x"}):
        process = {**other["process"], **changes}
        assert first.identify(json.dumps({**other, "process": process}))["is_over"] is False


def test_a_process_id_that_was_given_again_is_another_process(plays: tuple[Play, Play]) -> None:
    first, second = plays
    other = second.identify()
    earlier = {**other["process"], "start": "1"}
    assert first.identify(json.dumps({**other, "process": earlier}))["is_over"] is True


def test_the_file_is_for_root_alone_and_goes_with_the_turn(
    plays: tuple[Play, Play], tmp_path: Path
) -> None:
    file = tmp_path / "lib" / "gpugen" / "turn.json"
    first, second = ((play, play.identify()) for play in plays)

    def ask(who: tuple[Play, dict[str, str]], do: str, over: str = "") -> str:
        state: str = who[0].ask(do, over, file=str(file), run=who[1])["state"]
        return state

    assert ask(first, "look") == "free"
    assert not file.parent.exists()
    assert (ask(first, "take"), ask(first, "take"), ask(second, "take")) == ("ours", "ours", "held")
    modes = [path.stat().st_mode & MODE for path in (file, file.parent)]
    assert modes == [0o600, 0o700]
    assert ask(second, "end") == "held"
    assert ask(second, "take", first[1]["id"]) == "ours"
    assert ask(first, "take") == "held"
    assert ask(second, "end") == "ours"
    assert not file.parent.exists()


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"run": {"id": "x"}}'])
def test_a_file_that_is_none_is_nobodys(
    plays: tuple[Play, Play], tmp_path: Path, text: str
) -> None:
    """GEN-10: a full disk or a cut of power leaves such a file."""
    file = tmp_path / "turn.json"
    file.write_text(text, encoding="utf-8")
    own = plays[0].identify()
    assert plays[0].ask("take", file=str(file), run=own)["state"] == "ours"

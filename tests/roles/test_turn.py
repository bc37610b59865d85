"""Whose turn it is at a host, by a file there; and which run of ansible-playbook asks (DRV-15)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpugen.hosts import decisions
from support.lab.turns import Play

MODE = 0o777
turn = decisions.load("turn")
RUN = {"id": "0123456789ab", "who": "ops@other"}
TIMES = {"since": "2026-01-01T00:00:00.000000Z", "renewed": "2026-01-01T01:00:00.000000Z"}


@pytest.fixture
def plays(tmp_path: Path) -> Iterator[tuple[Play, Play]]:
    found = Play(tmp_path), Play(tmp_path)
    yield found
    for play in found:
        play.kill()


def test_a_run_is_the_playbook_above_its_workers(plays: tuple[Play, Play]) -> None:
    first, second = plays
    own = first.identify()
    assert own == first.identify()
    assert own["id"] != second.identify()["id"]


@pytest.mark.parametrize(
    ("words", "is_play"),
    [
        (["python", "/usr/bin/ansible-playbook", "site.yml"], True),
        (["/usr/bin/ansible-playbook-3.12", "site.yml"], True),
        (["python", "-m", "ansible", "playbook", "site.yml"], True),
        (["python", "-m", "ansible", "inventory"], False),
        (["vi", "playbook"], False),
        ([""], False),
    ],
)
def test_a_playbook_is_known_by_its_command_line(words: list[str], *, is_play: bool) -> None:
    assert decisions.load("turn.run").is_play(words) is is_play


def test_outside_of_ansible_nobody_has_a_turn(tmp_path: Path) -> None:
    other = Play(tmp_path, "another-program")
    assert "no process of ansible-playbook" in other.say("identify")["problem"]
    other.kill()


def test_only_a_run_of_this_machine_that_is_gone_is_over(plays: tuple[Play, Play]) -> None:
    first, second = plays
    other = second.identify()
    assert not first.knows_over(other)
    second.kill()
    assert first.knows_over(other)
    for changes in ({"boot": "another"}, {"space": "pid:[1]"}, {"pid": "x"}):
        assert not first.knows_over({**other, "process": {**other["process"], **changes}})


def test_a_process_id_that_was_given_again_is_another_process(plays: tuple[Play, Play]) -> None:
    first, second = plays
    other = second.identify()
    earlier = {**other["process"], "start": "1"}
    assert first.knows_over({**other, "process": earlier})


def test_the_file_is_for_root_alone_and_goes_with_the_turn(
    plays: tuple[Play, Play], tmp_path: Path
) -> None:
    file = tmp_path / "lib" / "gpugen" / "turn.json"
    first, second = plays

    def ask(who: Play, do: str, over: str = "") -> str:
        state: str = who.ask(do, over, file=str(file))["state"]
        return state

    assert ask(first, "look") == "free"
    assert not file.parent.exists()
    assert (ask(first, "take"), ask(first, "take"), ask(second, "take")) == ("ours", "ours", "held")
    modes = [path.stat().st_mode & MODE for path in (file, file.parent)]
    assert modes == [0o600, 0o700]
    assert ask(second, "end") == "held"
    assert ask(second, "take", first.identify()["id"]) == "ours"
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
    assert plays[0].ask("take", file=str(file))["state"] == "ours"


def test_a_refusal_says_who_and_what_to_do() -> None:
    """DRV-15."""
    found = turn.refusal("n1", {"run": RUN, **TIMES, "until": "2026-01-01T03:00:00.000000Z"})
    assert found == (
        "n1 belongs to run 0123456789ab of ops@other since 2026-01-01T00:00:00Z (last step"
        " 2026-01-01T01:00:00Z), which may interrupt it. Wait for its end; if it is gone for"
        " certain, pass -e gpugen_take_over=true. Without that its turn ends at 2026-01-01T03:00:00Z"
    )
    assert turn.left("the host", RUN) == (
        "the host was left by run 0123456789ab of ops@other; this run goes on with it"
    )


class Api:
    """Answers kubectl with what lies ready, and keeps what it was asked."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[list[str], Any]] = []

    def command(self, argv: list[str], given: str) -> dict[str, Any]:
        self.asked.append((argv, json.loads(given) if given else None))
        code, text = self.answers.pop(0)
        return {"rc": code, "out": text if not code else "", "err": text if code else ""}


LEASE = {
    "metadata": {
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {"gpugen/run": json.dumps(RUN)},
    },
    "spec": {
        "holderIdentity": "0123456789ab ops@other",
        "leaseDurationSeconds": 60,
        "acquireTime": TIMES["since"],
        "renewTime": TIMES["renewed"],
    },
}


def test_a_lease_is_read_replaced_and_deleted_as_it_was_read() -> None:
    api = Api((0, json.dumps(LEASE)), (0, ""), (0, ""))
    lease = turn.Lease(["kubectl"], "n1", api.command)
    assert lease.load() == {"run": RUN, **TIMES, "until": "2026-01-01T01:01:00.000000Z"}
    assert lease.save({"run": RUN, **TIMES})
    lease.drop()
    verbs = [argv[2] for argv, _ in api.asked]
    assert verbs == ["get", "replace", "delete"]
    assert api.asked[1][1]["metadata"]["resourceVersion"] == "7"
    assert api.asked[2][1]["preconditions"] == {"uid": "u", "resourceVersion": "7"}


def test_whoever_is_faster_is_read_again_and_other_problems_are_told() -> None:
    api = Api((0, ""), (1, "Error: AlreadyExists"), (1, "Forbidden"))
    lease = turn.Lease(["kubectl"], "n1", api.command)
    assert lease.load() == {}
    assert not lease.save({"run": RUN, **TIMES})
    assert api.asked[1][0][2] == "create"
    with pytest.raises(turn.LeaseError, match="lease gpugen-n1 in kube-system: Forbidden"):
        lease.save({"run": RUN, **TIMES})


@pytest.mark.parametrize("do", ["load", "drop"])
def test_an_api_that_refuses_is_told(do: str) -> None:
    lease = turn.Lease(["kubectl"], "n1", Api((1, "Forbidden")).command)
    with pytest.raises(turn.LeaseError, match="Forbidden"):
        getattr(lease, do)()


def test_a_lease_that_somebody_else_deleted_has_ended() -> None:
    turn.Lease(["kubectl"], "n1", Api((1, "NotFound")).command).drop()


@pytest.mark.parametrize(
    ("item", "holder", "until"),
    [
        ({"spec": {}}, None, None),
        ({"metadata": {}, "spec": {"holderIdentity": "x"}}, "x", "9"),
        ({"metadata": {"annotations": {"gpugen/run": "["}}, "spec": {"holderIdentity": "x"}}, "x", "9"),
        (
            {"metadata": {"annotations": {"gpugen/run": '{"id": "y"}'}}, "spec": {"holderIdentity": "x"}},
            "x",
            "9",
        ),
    ],
)
def test_a_lease_of_another_make_has_a_holder_and_no_process(
    item: dict[str, Any], holder: str | None, until: str | None
) -> None:
    found = decisions.load("turn.lease").turn_of(item)
    assert (found.get("run", {}).get("id"), found.get("until")) == (holder, until)

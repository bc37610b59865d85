"""The questions of all roles go to a host as one, and each gets its own answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from gpugen.hosts.decisions import load

engine: Any = load("engine")
HOST = {"os_release": "ID=debian\n", "kernel": "6.1", "architecture": "x86_64"}


class Machine:
    """Answers questions, and notes them."""

    def __init__(self, packages: Mapping[str, str]) -> None:
        self.packages = packages
        self.asked: list[dict[str, Any]] = []

    def __call__(self, questions: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(questions)
        named = {
            name: {"version": version, "held": False}
            for name, version in self.packages.items()
            if engine.matches(name, questions.get("packages", ()))
        }
        return {
            "host": HOST,
            "files": {path: {"text": path, "mtime": 1.0} for path in questions.get("files", ())},
            "globs": {each: [] for each in questions.get("globs", ())},
            "units": {each: {"ActiveState": "active"} for each in questions.get("units", ())},
            "packages": named,
            "commands": {
                name: {"rc": 0, "out": argv[0], "err": ""}
                for name, argv in questions.get("commands", {}).items()
            },
            "users": {name: [] for name in questions.get("users", {})},
        }


def role(questions: Any) -> Any:
    """Return a role that decides nothing but shows what it saw."""
    return SimpleNamespace(questions=questions, decide=lambda seen, wanted: dict(seen))


def run(machine: Machine, control: Machine | None = None, **roles: Any) -> dict[str, Any]:
    """Decide with the roles; return what each saw."""
    made = {name: role(own) for name, own in roles.items()}
    decisions, seen = engine.decide(made, {}, machine, control or Machine({}))
    assert decisions == seen
    return decisions


def test_questions_of_two_roles_are_one_and_answers_stay_apart() -> None:
    machine = Machine({"nvidia-open": "1", "datacenter-gpu-manager-4-core": "2"})
    found = run(
        machine,
        a=lambda wanted, seen: {
            "files": ["/x", "/y"],
            "packages": ["nvidia-*"],
            "commands": {"k": ["uname"]},
        },
        b=lambda wanted, seen: {
            "files": ["/x"],
            "packages": ["datacenter*"],
            "commands": {"k": ["id"]},
        },
    )
    assert len(machine.asked) == 1
    assert machine.asked[0]["files"] == ["/x", "/y"]
    assert list(found["a"]["packages"]) == ["nvidia-open"]
    assert list(found["b"]["packages"]) == ["datacenter-gpu-manager-4-core"]
    assert list(found["b"]["files"]) == ["/x"]
    assert [found[name]["commands"]["k"]["out"] for name in "ab"] == ["uname", "id"]
    assert found["a"]["host"] == HOST


def test_a_second_round_asks_only_what_is_new() -> None:
    machine = Machine({})

    def questions(wanted: Any, seen: Any) -> dict[str, Any]:
        asked: dict[str, Any] = {"files": ["/x"], "units": ["a.service"]}
        return {**asked, "users": {"gpu": ["/dev/x"]}} if seen.get("files") else asked

    found = run(machine, a=questions, b=lambda wanted, seen: {"globs": ["/z*"]})
    assert machine.asked == [
        {"files": ["/x"], "units": ["a.service"], "globs": ["/z*"]},
        {"users": {"a gpu": ["/dev/x"]}},
    ]
    assert found["a"]["users"] == {"gpu": []}
    assert found["a"]["files"]["/x"]["text"] == "/x"


def test_the_host_is_asked_though_no_role_has_a_question() -> None:
    machine = Machine({})
    assert run(machine, a=lambda wanted, seen: {})["a"]["host"] == HOST
    assert machine.asked == [{}]


def test_the_control_host_answers_what_is_asked_of_it() -> None:
    machine, control = Machine({}), Machine({})

    def questions(wanted: Any, seen: Any) -> dict[str, Any]:
        return {"control": {"commands": {"node": ["kubectl"]}, "files": ["k.asc"]}}

    found = run(machine, control, a=questions)
    assert machine.asked == [{}]
    assert control.asked == [{"commands": {"a node": ["kubectl"]}, "files": ["k.asc"]}]
    assert found["a"]["control"]["commands"]["node"]["out"] == "kubectl"
    assert found["a"]["control"]["files"]["k.asc"]["text"] == "k.asc"


def test_questions_without_end_are_a_bug_of_the_role() -> None:
    def questions(wanted: Any, seen: Any) -> dict[str, Any]:
        return {"files": [f"/{len(seen.get('files', ()))}"]}

    with pytest.raises(RuntimeError, match="a"):
        run(Machine({}), a=questions)

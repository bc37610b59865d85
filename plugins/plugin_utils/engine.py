# Copyright: the gpugen authors. Apache-2.0.
"""Asks for all roles at once, and has each decide. Imports nothing of Ansible.

A role ``x`` is a module ``plugins/plugin_utils/x.py`` (or a package) with two pure functions:

``questions(wanted, seen)``: all that the role would know, in view of what was seen so far; in the
shape of ``plugins/modules/probe.py``, and beside it ``control``: ``{"commands", "files"}`` that the
control host answers. It is called again until nothing is left unanswered.
``decide(seen, wanted)``: what the role has to do; see ``Decision``.

``wanted`` holds the variables of all roles by name, with defaults, and ``state`` (present, absent),
``check_mode``, ``inventory_hostname``, ``playbook_dir``, ``runs_all`` (no --tags, no --skip-tags),
and ``no_log``: whether the task's result is hidden; only then may a decision hold secrets of the
host. ``seen`` holds the answers; what was not asked is absent.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict

Questions = dict[str, Any]
Seen = dict[str, Any]
Wanted = Mapping[str, Any]
Ask = Callable[[Questions], Mapping[str, Any]]
NAMED = ("commands", "users", "schedulers")  # answers of one role, by its own names
LISTED = ("files", "globs", "units", "urls", "bridges")  # answers by what is asked
ROUNDS = 6  # more is a circle in a role's questions


class Decision(TypedDict):
    """What every role's decision holds; a role adds keys of its own for its tasks."""

    faults: list[str]  # reasons to refuse the host, "RULE: text", all at once
    shortfalls: list[str]  # what verify.yml finds, "RULE: text"
    interrupts: list[str]  # why the node must be drained first
    due: bool  # whether converge would change anything
    reboot_due: bool


class Role(Protocol):
    """The module of a role."""

    def questions(self, wanted: Wanted, seen: Mapping[str, Any]) -> Questions: ...
    def decide(self, seen: Mapping[str, Any], wanted: Wanted) -> Mapping[str, Any]: ...


def decide(
    roles: Mapping[str, Role], wanted: Wanted, on_host: Ask, on_control: Ask
) -> tuple[dict[str, Mapping[str, Any]], dict[str, Seen]]:
    """Read what the roles ask for, in as few rounds as they need, and let each decide.

    on_host, on_control: answer questions of that machine. Returns decisions and what was seen, by
    role.
    """
    seen = look(roles, wanted, on_host, on_control)
    return {name: role.decide(seen[name], wanted) for name, role in roles.items()}, seen


def look(
    roles: Mapping[str, Role], wanted: Wanted, on_host: Ask, on_control: Ask
) -> dict[str, Seen]:
    """Ask until no role has a question that is not answered."""
    seen: dict[str, Seen] = {name: {} for name in roles}
    first = True
    for _dummy in range(ROUNDS):
        asked = {name: role.questions(wanted, seen[name]) for name, role in roles.items()}
        due = {name: _unanswered(asked[name], seen[name]) for name in roles}
        of_host, of_control = _merged(due), _merged(_of_control(due))
        if first or of_host:
            _give(seen, due, on_host(of_host))
        if of_control:
            answers = on_control(of_control)
            for name, own in due.items():
                control = seen[name].setdefault("control", {})
                _give_one(control, own.get("control", {}), answers, name)
        if not of_host and not of_control:
            return seen
        first = False
    raise RuntimeError("questions without end: " + ", ".join(sorted(roles)))


def _of_control(asked: Mapping[str, Questions]) -> dict[str, Questions]:
    return {name: own.get("control", {}) for name, own in asked.items()}


def _unanswered(asked: Questions, seen: Mapping[str, Any]) -> Questions:
    """Drop what was answered before."""
    found: Questions = {}
    for kind in (*LISTED, "packages"):
        known = seen.get("patterns" if kind == "packages" else kind, {})
        if rest := [each for each in asked.get(kind, ()) if each not in known]:
            found[kind] = rest
    for kind in NAMED:
        known = seen.get(kind, {})
        if own := {name: value for name, value in asked.get(kind, {}).items() if name not in known}:
            found[kind] = own
    if (
        control := _unanswered(asked["control"], seen.get("control", {}))
        if asked.get("control")
        else {}
    ):
        found["control"] = control
    return found


def _merged(asked: Mapping[str, Questions]) -> Questions:
    """Return the questions of all roles as one; names get their role in front."""
    found: Questions = {}
    for kind in (*LISTED, "packages"):
        if every := sorted({each for own in asked.values() for each in own.get(kind, ())}):
            found[kind] = every
    for kind in NAMED:
        named = {
            f"{role} {name}": value
            for role, own in asked.items()
            for name, value in own.get(kind, {}).items()
        }
        if named:
            found[kind] = named
    return found


def _give(
    seen: Mapping[str, Seen], asked: Mapping[str, Questions], answers: Mapping[str, Any]
) -> None:
    for role, own in asked.items():
        for kind in ("host", "job"):
            if kind in answers:
                seen[role].setdefault(kind, answers[kind])
        _give_one(seen[role], own, answers, role)


def _give_one(seen: Seen, own: Questions, answers: Mapping[str, Any], role: str) -> None:
    """Hand a role the answers to its own questions."""
    for kind in LISTED:
        seen.setdefault(kind, {}).update({each: answers[kind][each] for each in own.get(kind, ())})
    for kind in NAMED:
        named = own.get(kind, {})
        seen.setdefault(kind, {}).update({name: answers[kind][f"{role} {name}"] for name in named})
    patterns: Sequence[str] = own.get("packages", ())
    seen.setdefault("patterns", []).extend(patterns)
    found = answers.get("packages", {})
    matching = {name: state for name, state in found.items() if matches(name, patterns)}
    seen.setdefault("packages", {}).update(matching)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a name matches any pattern of a shell."""
    return any(fnmatch.fnmatchcase(name, each) for each in patterns)

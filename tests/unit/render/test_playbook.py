"""site.yml, verify.yml and remove.yml as data: order, batches, tags, and who is asked first."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gpugen import assets
from gpugen.render.other_plays import before_upgrade, remove, verify
from gpugen.render.play_parts import settings_of
from gpugen.render.playbook import site
from gpugen.render.role_files import entries
from gpugen.render.role_order import ORDER
from gpugen.text.yaml import Unsafe
from support.specs import resolved

ROLES = ("gpu_prerequisites", "nvidia_driver", "nvidia_container_toolkit", "gpu_node")
IMPORT, INCLUDE = "ansible.builtin.import_role", "ansible.builtin.include_role"


def tasks(plays: list[dict[str, Any]], play: int) -> list[dict[str, Any]]:
    """Return the tasks of a play, blocks unfolded."""
    found = []
    for task in plays[play]["tasks"]:
        if not isinstance(task, str):
            found += task.get("block", [task])
    return [task for task in found if not isinstance(task, str)]


def steps(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return role and entry point of the tasks that run a role, a reboot as itself."""
    names = []
    for task in found:
        if "ansible.builtin.reboot" in task:
            names.append(("", "reboot"))
        role = not isinstance(task, str) and (task.get(IMPORT) or task.get(INCLUDE))
        if role:
            names.append((role["name"], role["tasks_from"]))
    return names


def test_every_host_is_checked_before_any_is_touched() -> None:
    plays = site(settings_of(resolved()), ROLES)
    checked = steps(tasks(plays, 0))
    assert checked == [*((role, "preflight") for role in ROLES), ("gpu_node", "pods")]
    assert "serial" not in plays[0]


def test_a_host_is_emptied_changed_rebooted_verified_and_released_in_this_order() -> None:
    """DRV-15, KUB-03: the order of one host's run."""
    order = steps(tasks(site(settings_of(resolved()), ROLES), 1))
    assert order[0] == ("gpu_node", "empty")
    assert order[-1] == ("gpu_node", "release")
    wanted = [
        ("gpu_node", "empty"),
        ("nvidia_driver", "converge"),
        ("", "reboot"),
        ("nvidia_driver", "after_reboot"),
        ("nvidia_container_toolkit", "converge"),
        ("gpu_node", "converge"),
        ("gpu_node", "verify"),
        ("gpu_node", "release"),
    ]
    places = [order.index(step) for step in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize("stated", [[1, "10%"], [2], ["25%"]])
def test_batches_are_those_of_the_spec(stated: list[Any]) -> None:
    """As a variable: in the text of a play they would be part of a template."""
    play = site(settings_of(resolved({"/rollout": {"serial": stated}})), ROLES)[1]
    assert play["serial"] == "{{ gpugen_serial | default(gpugen_batches, true) }}"
    assert play["vars"]["gpugen_batches"] == Unsafe(tuple(stated))
    assert play["max_fail_percentage"] == 0


def test_a_run_of_some_roles_verifies_those_and_reboots_for_those_only() -> None:
    found = tasks(site(settings_of(resolved()), ROLES), 1)
    own = {name: f"Record whether {name} needs a reboot" for name in ROLES[:2]}
    for task in found:
        if task["name"].startswith("Verify"):
            assert task["tags"][0] == task[INCLUDE]["name"]
        if task["name"].startswith("Note"):
            assert task["name"] == own[task["tags"][0]]


def test_every_playbook_begins_with_the_oldest_ansible_that_it_takes() -> None:
    """Before 2.19 a dictionary was evaluated as a whole, which the roles do not stand."""
    for plays in (
        site(settings_of(resolved()), ROLES),
        verify(settings_of(resolved()), ROLES),
        remove(settings_of(resolved()), ROLES),
    ):
        first = plays[0]["tasks"][0]
        assert (
            first["ansible.builtin.assert"]["that"]
            == "ansible_version.full is version('2.19', '>=')"
        )
        assert first["tags"] == ["always"]


def test_what_roles_share_is_not_skipped_with_one_of_them() -> None:
    """DRV-15: a task with the tags of all roles would go with any that --skip-tags names."""
    for play in site(settings_of(resolved()), ROLES):
        for task in tasks([play], 0):
            assert len({*task.get("tags", ())} & set(ROLES)) <= 1, task["name"]


def test_what_interrupts_a_host_is_asked_for_and_tagged() -> None:
    """DRV-15, DRV-16, DRV-18: word, machine and drain come before the reboot."""
    found = tasks(site(settings_of(resolved()), ROLES), 1)
    names = [task["name"] for task in found]
    reboot = names.index("Reboot")
    assert found[reboot]["tags"] == ["disruptive"]
    for name in (
        "Fail unless a reboot is allowed",
        "Refuse to reboot the control host (DRV-18)",
        "Cordon and drain the node (DRV-15)",
    ):
        assert names.index(name) < reboot
    (word,) = (
        task for task in tasks(site(settings_of(resolved()), ROLES), 0) if "DRV-15" in task["name"]
    )
    assert "-e gpugen_allow_disruption=true" in word["ansible.builtin.assert"]["fail_msg"]


def test_without_a_context_no_node_is_emptied_and_none_rebooted_under_its_kubelet() -> None:
    found = tasks(site(settings_of(resolved({"/access": {}})), ROLES[:3]), 1)
    assert not [step for step in steps(found) if step[0] == "gpu_node"]
    assert "Fail if the kubelet runs (DRV-15)" in [task["name"] for task in found]


def test_every_task_of_a_role_carries_its_tag() -> None:
    for plays in (
        site(settings_of(resolved()), ROLES),
        verify(settings_of(resolved()), ROLES),
        remove(settings_of(resolved()), ROLES),
    ):
        for play in plays:
            for task in play["tasks"]:
                assert isinstance(task, str) or task.get("tags"), task["name"]


def test_the_second_play_only_proves() -> None:
    (play,) = verify(settings_of(resolved()), ROLES)
    assert {step for _, step in steps(play["tasks"])} == {"verify"}


def test_the_third_play_asks_for_a_word_and_goes_backwards() -> None:
    """DRV-23, CTK-21: labels first, so that no agent holds a GPU."""
    check, work = remove(settings_of(resolved()), ROLES)
    assert check["tasks"][1]["ansible.builtin.assert"]["that"][0].startswith("gpugen_remove")
    order = steps(work["tasks"])
    assert order[:2] == [("gpu_node", "empty"), ("gpu_node", "absent")]
    assert order[-1] == ("gpu_node", "release")
    removed = [role for role, step in order if step == "absent" and role != "gpu_node"]
    assert removed == sorted(removed, key=ORDER.index, reverse=True)


def test_the_main_scheduler_is_changed_one_node_at_a_time() -> None:
    play, announcement = site(settings_of(resolved()), (*ROLES, "kube_scheduler"))[-2:]
    assert (play["hosts"], play["serial"], play["max_fail_percentage"]) == ("control_plane", 1, 0)
    assert announcement["hosts"] == "control_plane"
    assert "serial" not in announcement  # all of them prove it, or none is believed


def test_without_a_context_nobody_tells_the_cluster_of_the_profile() -> None:
    without, own = settings_of(resolved({"/access": {}})), settings_of(resolved())
    roles = (*ROLES, "kube_scheduler")
    assert site(without, roles)[-1]["serial"] == 1
    assert before_upgrade(without, roles) == []
    assert before_upgrade(own, ROLES) == []
    (play,) = before_upgrade(own, roles)
    (_, task) = play["tasks"]
    assert task["ansible.builtin.import_role"]["tasks_from"] == "withdraw"


def test_every_role_of_the_checkout_has_its_place() -> None:
    found = {path.parent.parent.name for path in assets.roles().glob("*/meta/argument_specs.yml")}
    assert found <= set(ORDER)


@pytest.mark.parametrize(
    "role", sorted(path.parent.parent.name for path in assets.roles().glob("*/meta/main.yml"))
)
def test_entry_points_are_those_of_the_argument_specs(role: str) -> None:
    text = (assets.roles() / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    assert entries(role) == set(yaml.safe_load(text)["argument_specs"])

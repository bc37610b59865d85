"""The collection's plays as data: order, tags, guards, and that no role is left out."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml

from gpugen import assets
from gpugen.hosts import collection

DECIDE = "gpugen.hosts.decide"
IMPORT, INCLUDE = "ansible.builtin.import_role", "ansible.builtin.include_role"
NODE, MAIN = "gpu_node", collection.SCHEDULER
HOST_ROLES = [role for role in collection.roles() if role != MAIN]
PLAYBOOKS = ("site", "verify", "remove", "before_upgrade")
CHECK, CHECK_MAIN, WORK, CONTROL_PLANE, ANNOUNCE = range(5)  # plays of site.yml


@cache
def plays(playbook: str) -> list[dict[str, Any]]:
    """Return the plays of a playbook."""
    path = assets.collection() / "playbooks" / f"{playbook}.yml"
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text("utf-8"))
    return found


def tasks(playbook: str, play: int) -> list[dict[str, Any]]:
    """Return the tasks of a play, blocks unfolded."""
    own = plays(playbook)[play]["tasks"]
    return [task for each in own for task in each.get("block", [each])]


def role_of(task: dict[str, Any]) -> dict[str, Any]:
    """Return what a task says of the role that it runs; empty if it runs none."""
    found: dict[str, Any] = task.get(IMPORT) or task.get(INCLUDE) or {}
    return found


def steps(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return role and entry point of the tasks that run a role, a reboot as itself."""
    names = []
    for task in found:
        if "ansible.builtin.reboot" in task:
            names.append(("", "reboot"))
        if role := role_of(task):
            names.append((role["name"].removeprefix("gpugen.hosts."), role["tasks_from"]))
    return names


def conditions(task: dict[str, Any]) -> list[str]:
    """Return the conditions of a task."""
    stated = task.get("when", [])
    return [str(each) for each in (stated if isinstance(stated, list) else [stated])]


EVERY = [(name, number) for name in PLAYBOOKS for number in range(len(plays(name)))]


@pytest.mark.parametrize("role", sorted(path.name for path in assets.roles().iterdir()))
def test_every_role_is_checked_run_verified_and_removed(role: str) -> None:
    """A role that is missing in a playbook would be checked and verified, and never run."""
    text = (assets.roles() / role / "meta/argument_specs.yml").read_text(encoding="utf-8")
    entries = set(yaml.safe_load(text)["argument_specs"]) - {"main"}
    ran = {name: set() for name in PLAYBOOKS}
    for name, number in EVERY:
        ran[name] |= {step for own, step in steps(tasks(name, number)) if own == role}
    assert "converge" in ran["site"]
    assert "absent" in ran["remove"]
    if role == MAIN:
        assert "preflight" in ran["site"]
        assert "verify" in ran["verify"]
    else:
        assert (assets.plugins() / "plugin_utils" / role).is_dir()  # what the plays' decide asks
    by_decision = {"preflight", "verify"}
    assert entries - by_decision <= set().union(*ran.values()) <= entries


@pytest.mark.parametrize("playbook", ["site", "verify"])
def test_all_roles_decide_about_a_host_that_is_read_once(playbook: str) -> None:
    """A role that is in use is checked, and verified, because none is named here."""
    first = next(task for task in tasks(playbook, 0) if DECIDE in task)
    assert first[DECIDE]["roles"] == "{{ gpugen_host_roles }}"
    assert first[DECIDE]["by_tags"]
    assert "always" in first["tags"]
    path = assets.collection() / "playbooks/vars/run.yml"
    roles = yaml.safe_load(path.read_text("utf-8"))["gpugen_host_roles"]
    assert roles == f"{{{{ gpugen_roles | reject('equalto', '{MAIN}') | list }}}}"


@pytest.mark.parametrize(("playbook", "play"), EVERY)
def test_a_role_that_is_not_in_use_costs_a_skipped_task(playbook: str, play: int) -> None:
    for task in tasks(playbook, play):
        if role := role_of(task):
            name = role["name"].removeprefix("gpugen.hosts.")
            is_used = f"'{name}' in gpugen_roles"
            stand_in = f"'{NODE}' not in gpugen_roles"  # the first role does it for the node's
            decided = (f"(ansible_facts.{name}_decision ", "gpugen_node_is_held")
            first = conditions(task)[0]
            assert first in (is_used, stand_in) or first.startswith(decided), task["name"]


@pytest.mark.parametrize(("playbook", "play"), EVERY)
def test_what_is_included_has_the_tags_of_its_task(playbook: str, play: int) -> None:
    """Included tasks do not inherit them: without apply, --tags would select nothing of a role."""
    for task in tasks(playbook, play):
        if INCLUDE in task:
            applied = task[INCLUDE].get("apply", {}).get("tags")
            assert applied == task.get("tags"), task["name"]


@pytest.mark.parametrize(("playbook", "play"), EVERY)
def test_every_play_finds_the_contract_and_what_it_knows_of_the_run(
    playbook: str, play: int
) -> None:
    own = plays(playbook)[play]
    assert own["vars_files"] == ["vars/contract.yml", "vars/run.yml"]
    assert own["environment"] == {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}
    assert "become" not in own  # the inventory says it


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_every_playbook_begins_with_what_it_requires(playbook: str) -> None:
    """Also where --limit leaves only the control plane."""
    seen = set()
    for play in plays(playbook):
        if play["hosts"] not in seen:
            first = play["tasks"][0]
            assert first["ansible.builtin.import_tasks"] == "tasks/requirements.yml"
        seen.add(play["hosts"])
    path = assets.collection() / "playbooks/tasks/requirements.yml"
    oldest, contract = yaml.safe_load(path.read_text("utf-8"))
    assert (
        oldest["ansible.builtin.assert"]["that"] == "ansible_version.full is version('2.19', '>=')"
    )
    assert "gpugen_contract_served" in contract["ansible.builtin.assert"]["that"]
    for task in (oldest, contract):
        assert (task["run_once"], task["tags"]) == (True, ["always"])


def test_every_host_is_checked_before_any_is_changed() -> None:
    assert steps(tasks("site", CHECK)) == [
        ("nvidia_driver", "preflight"),  # where package lists are old
        (NODE, "preflight"),  # where it is cordoned
        (NODE, "pods"),
    ]
    assert steps(tasks("site", CHECK_MAIN)) == [(MAIN, "preflight")]
    assert "serial" not in plays("site")[CHECK]


def test_a_host_is_drained_changed_rebooted_verified_and_uncordoned_in_this_order() -> None:
    """DRV-15, KUB-03: the order of one host's run."""
    order = steps(tasks("site", WORK))
    assert order[0] == (NODE, "empty")
    assert order[-2:] == [(NODE, "release"), ("gpu_prerequisites", "give")]
    expected = [
        (NODE, "empty"),
        ("nvidia_driver", "converge"),
        ("gpu_tuning", "boot"),
        ("", "reboot"),
        ("nvidia_driver", "after_reboot"),
        ("nvidia_container_toolkit", "converge"),
        ("gpu_tuning", "converge"),
        (NODE, "converge"),
        ("nvidia_container_toolkit", "verify"),  # a container on the GPUs
        (NODE, "release"),
    ]
    places = [order.index(step) for step in expected]
    assert places == sorted(places)
    names = [task["name"] for task in tasks("site", WORK)]
    verified = [tasks("site", WORK)[n] for n, name in enumerate(names) if "is uncordoned" in name]
    assert [task[DECIDE]["verify"] for task in verified] == [True, True]
    assert names.index(verified[-1]["name"]) == names.index("Uncordon the node (KUB-03)") - 1


def test_a_host_on_which_nothing_is_due_is_left_after_the_checks() -> None:
    ends = [task for task in tasks("site", WORK) if "ansible.builtin.meta" in task]
    assert [task["ansible.builtin.meta"] for task in ends] == ["end_host"]
    first = next(n for n, task in enumerate(tasks("site", WORK)) if role_of(task))
    assert tasks("site", WORK).index(ends[0]) < first


def test_a_block_goes_on_whatever_is_decided_inside_it() -> None:
    """Ansible asks a block's condition before each task in it, those of included roles too."""
    text = (assets.collection() / "playbooks/vars/run.yml").read_text("utf-8")
    later = {name for name, value in yaml.safe_load(text).items() if "ansible_facts" in value}
    assert "gpugen_reboot_due" in later
    for playbook, play in EVERY:
        for task in plays(playbook)[play]["tasks"]:
            if "block" in task:
                assert not {word for word in later if word in str(task["when"])}, task["name"]


def test_batches_stop_at_the_first_failure() -> None:
    for playbook in ("site", "remove"):
        (play,) = (each for each in plays(playbook) if "gpugen_batches" in each.get("vars", {}))
        assert play["serial"] == "{{ gpugen_serial | default(gpugen_batches, true) }}"
        assert play["vars"]["gpugen_batches"] == [1, "10%"]  # as the spec's default
        assert play["max_fail_percentage"] == 0


def test_what_roles_share_is_not_skipped_with_one_of_them() -> None:
    """DRV-15: a task with the tags of all roles would go with any that --skip-tags names."""
    for playbook, play in EVERY:
        for task in tasks(playbook, play):
            assert len({*task.get("tags", ())} & {*collection.roles()}) <= 1, task["name"]


def test_a_task_of_a_role_carries_its_tag() -> None:
    shared = {"take", "give", "pods", "empty", "release", "after_reboot"}
    for playbook, play in EVERY:
        for task in tasks(playbook, play):
            for role, step in steps([task]):
                assert step in shared | {"reboot"} or role in task["tags"], task["name"]
            if task["name"].startswith("Record w") and "role" not in task["name"]:
                assert len({*task["tags"]} & {*collection.roles()}) <= 1


def test_what_interrupts_a_host_is_asked_for_and_tagged() -> None:
    """DRV-15, DRV-16, DRV-18: word, machine and drain come before the reboot."""
    found = tasks("site", WORK)
    names = [task["name"] for task in found]
    reboot = names.index("Reboot")
    assert found[reboot]["tags"] == ["disruptive"]
    for name in (
        "Fail unless a reboot is allowed",
        "Refuse to reboot the control host (DRV-18)",
        "Cordon and drain the node (DRV-15)",
        "Fail if the kubelet runs (DRV-15)",
    ):
        assert names.index(name) < reboot
    (word,) = (task for task in tasks("site", CHECK) if "DRV-15" in task["name"])
    assert "-e gpugen_allow_disruption=true" in word["ansible.builtin.assert"]["fail_msg"]


def test_without_a_context_no_node_is_drained_and_none_rebooted_under_its_kubelet() -> None:
    found = {task["name"]: conditions(task) for task in tasks("site", WORK)}
    without = f"'{NODE}' not in gpugen_roles"
    assert found["Fail if the kubelet runs (DRV-15)"] == [without]
    assert found["Claim the host for this run (DRV-15)"][0] == without


def test_verify_only_verifies() -> None:
    for number in range(len(plays("verify"))):
        assert {step for _, step in steps(tasks("verify", number))} == {"verify"}


def test_removal_is_confirmed_and_goes_backwards() -> None:
    """DRV-23, CTK-21: labels first, so that no agent holds a GPU."""
    check, main, work = range(3)
    word = next(task for task in tasks("remove", check) if "confirmed" in task["name"])
    assert word["ansible.builtin.assert"]["that"][0].startswith("gpugen_remove")
    assert steps(tasks("remove", main)) == [(MAIN, "absent")]
    order = steps(tasks("remove", work))
    assert order[0] == (NODE, "empty")
    removed = [role for role, step in order if step == "absent"]
    assert removed == [NODE, *(role for role in reversed(HOST_ROLES) if role != NODE)]
    assert (NODE, "release") in order[order.index(("gpu_prerequisites", "absent")) :]


def test_the_main_scheduler_is_changed_one_node_at_a_time() -> None:
    play, announcement = (plays("site")[number] for number in (CONTROL_PLANE, ANNOUNCE))
    assert (play["hosts"], play["serial"], play["max_fail_percentage"]) == ("control_plane", 1, 0)
    assert steps(play["tasks"]) == [(MAIN, "preflight"), (MAIN, "converge")]
    assert announcement["hosts"] == "control_plane"
    assert "serial" not in announcement  # all of them prove it, or none is believed


def test_without_a_context_nobody_tells_the_cluster_of_the_profile() -> None:
    context = "kube_scheduler_context | default('') | length > 0"
    (announced,) = tasks("site", ANNOUNCE)
    (*_, withdrawn) = tasks("before_upgrade", 0)
    for task, step in ((announced, "announce"), (withdrawn, "withdraw")):
        assert role_of(task)["tasks_from"] == step
        assert context in conditions(task)


def test_a_control_plane_without_our_scheduler_is_not_connected_to() -> None:
    for playbook, number in EVERY:
        play = plays(playbook)[number]
        if play["hosts"] == "control_plane":
            assert play["gather_facts"] is False
            for task in play["tasks"][1:]:
                assert f"'{MAIN}' in gpugen_roles" in conditions(task), task["name"]


def test_the_contract_is_a_number_that_both_halves_read() -> None:
    path = assets.collection() / "playbooks/vars/contract.yml"
    assert yaml.safe_load(path.read_text("utf-8")) == {
        "gpugen_contract_served": collection.contract()
    }


def test_what_a_role_does_is_its_short_description() -> None:
    for role in collection.roles():
        text = (assets.roles() / role / "meta/argument_specs.yml").read_text(encoding="utf-8")
        main = yaml.safe_load(text)["argument_specs"]["main"]
        assert collection.does(role) == main["short_description"]

"""The roles as text: house rules that no linter knows, rules of the contract, their READMEs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import role_readme

ROOT = Path(__file__).parents[2]
ROLES = sorted((ROOT / "roles").iterdir())
KEY_READER = ROOT / "roles" / "gpu_prerequisites" / "files" / "openpgp_key.py"
KEY = ROOT / "tests" / "data" / "keys" / "packages.asc"
FINGERPRINT = "FC89AF4178C3C8F9C767F9E28D970BAFFD4E85AD"  # as gpg prints it
RULES = {  # of the host contract, that this release keeps; what is missing belongs to later work
    "gpu_prerequisites": [*(f"PRE-{n:02}" for n in range(1, 8)), "GEN-05", "GEN-16"],
    "nvidia_driver": [
        *(f"DRV-{n:02}" for n in (1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 21, 22)),
        *("DRV-24", "DRV-25", "DRV-26", "GEN-05", "GEN-10", "GEN-11", "PRE-03"),
    ],
    "nvidia_container_toolkit": [
        *(f"CTK-{n:02}" for n in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19)),
        *("DRV-20", "DIST-02", "DIST-04", "DIST-06", "GEN-05", "GEN-10", "GEN-11"),
    ],
    "gpu_node": ["KUB-01", "KUB-02", "KUB-03", "PRE-09", "MIG-06"],
}
LEFT_TO_THE_PLAY = ("disruption", "reboot_due", "kubelet_runs")  # answers, not options
CHOSEN_BY_THE_HOST = ("runtime_", "apt_", "dnf_")  # included by what the host has


def task_files(role: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted((role / "tasks").glob("*.yml")):
        yield path.name, yaml.safe_load(path.read_text(encoding="utf-8"))


def tasks(role: Path) -> Iterator[dict[str, Any]]:
    """List every task of a role, those in blocks too."""
    waiting = [task for _, file in task_files(role) for task in file]
    while waiting:
        task = waiting.pop()
        yield task
        for part in ("block", "rescue", "always"):
            waiting += task.get(part, [])


def text_of(role: Path) -> str:
    return "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("tasks", "vars", "templates")
        for path in sorted((role / folder).rglob("*"))
        if path.is_file()
    )


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_rule_in_scope_is_named(role: Path) -> None:
    named = set(re.findall(r"\b[A-Z]{3,4}-\d\d\b", text_of(role)))
    assert set(RULES[role.name]) <= named, set(RULES[role.name]) - named


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_builtin_modules_only_and_no_shell(role: Path) -> None:
    words = {
        *("name", "when", "register", "changed_when", "failed_when", "check_mode", "loop", "vars"),
        *("loop_control", "until", "retries", "delay", "environment", "no_log", "diff", "become"),
        *("delegate_to", "block", "rescue", "always"),
    }
    modules = {key for task in tasks(role) for key in task if key not in words}
    assert {module for module in modules if not module.startswith("ansible.builtin.")} == set()
    assert "ansible.builtin.shell" not in modules
    assert "ansible.builtin.lineinfile" not in modules


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_commands_say_when_they_change_and_take_lists(role: Path) -> None:
    for task in tasks(role):
        assert task.get("name"), task
        if "ansible.builtin.command" in task:
            assert "changed_when" in task, task["name"]
            assert "argv" in task["ansible.builtin.command"], task["name"]
        assert "ignore_errors" not in task, task["name"]


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_what_only_reads_runs_in_check_mode_too(role: Path) -> None:
    """A probe that check mode skips makes every later condition lie."""
    after_a_change = {"refresh.yml", "after_reboot.yml", "dkms_build.yml", "wait.yml"}
    waits = {"wait_mig.yml", "wait_plugin.yml"}
    for name, file in task_files(role):
        if name.removeprefix("apt_").removeprefix("dnf_") in after_a_change | waits:
            continue
        for task in file:
            if "ansible.builtin.command" in task and task["changed_when"] is False:
                assert task.get("check_mode") is False, (name, task["name"])


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_carry_the_roles_name(role: Path) -> None:
    names: set[str] = set()
    for folder in ("defaults", "vars"):
        for path in (role / folder).rglob("*.yml"):
            names |= set(yaml.safe_load(path.read_text(encoding="utf-8")))
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    options = set(specs["argument_specs"]["main"]["options"])
    assert {name for name in names if not re.match(rf"(__)?{role.name}_", name)} == set()
    left = {f"{role.name}_{word}" for word in LEFT_TO_THE_PLAY}
    public = {name for name in names if not name.startswith("__")} - left
    assert public <= options
    for entry in specs["argument_specs"].values():
        assert entry["options"] == specs["argument_specs"]["main"]["options"]


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_entry_point_exists_and_every_file_is_used(role: Path) -> None:
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    files = {name for name, _ in task_files(role)}
    entries = {f"{name}.yml" for name in specs["argument_specs"]}
    assert entries <= files
    text = text_of(role)
    included = {name for name in files if re.search(rf"(include|import)_tasks: {name}", text)}
    by_mode = {name for name in files if name.startswith(CHOSEN_BY_THE_HOST)}
    assert files - entries - included - by_mode == set()


@pytest.mark.parametrize("role", role_readme.roles())
def test_readme_is_current(role: str) -> None:
    path = ROOT / "roles" / role / "README.md"
    assert path.read_text(encoding="utf-8") == role_readme.page(role), (
        "run tests/tools/role_readme.py"
    )


def read_key(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(KEY_READER), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_fingerprint_of_an_armored_key() -> None:
    assert read_key(KEY).stdout.split() == ["asc", FINGERPRINT]


def test_fingerprint_of_a_binary_key(tmp_path: Path) -> None:
    import base64

    lines = KEY.read_text(encoding="utf-8").split("\n\n")[1].splitlines()
    binary = base64.b64decode("".join(line for line in lines if line[:1] not in ("=", "-")))
    path = tmp_path / "key.gpg"
    path.write_bytes(binary)
    assert read_key(path).stdout.split() == ["gpg", FINGERPRINT]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: "no key\n",
        lambda text: text + text,
        lambda text: text.replace("mDMEawGTRh", "mDMEawGTR"),
        lambda text: text.split("ZxuM")[0],
        lambda text: text.split("\n\n")[0] + "\n\n-----END PGP PUBLIC KEY BLOCK-----\n",
    ],
    ids=["empty", "text", "two-keys", "bad-base64", "cut", "no-content"],
)
def test_what_is_no_single_key_has_no_fingerprint(spoil: Any, tmp_path: Path) -> None:
    path = tmp_path / "key.asc"
    path.write_text(spoil(KEY.read_text(encoding="utf-8")), encoding="utf-8")
    answer = read_key(path)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "is no single public key" in answer.stderr
    assert "Traceback" not in answer.stderr

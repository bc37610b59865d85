"""The roles as text: names, entry points, READMEs; and the reader of keys.

Rules of the contract: tests/upstream/test_role_rules.py and test_host_rules.py beside this.
"""

from __future__ import annotations

from support import ROOT

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import role_readme

ROLES = sorted((ROOT / "roles").iterdir())
KEY_READER = ROOT / "roles" / "gpu_prerequisites" / "files" / "openpgp_key.py"
KEY = ROOT / "tests" / "data" / "keys" / "packages.asc"
FINGERPRINT = "FC89AF4178C3C8F9C767F9E28D970BAFFD4E85AD"  # as gpg prints it
LEFT_TO_THE_PLAY = ("disruption", "reboot_due", "kubelet_runs", "is_held")  # answers, not options
CHOSEN = re.compile(
    r'(?:include|import)_tasks: "(\w*)\{\{.*?\}\}(\w*)[.]yml"'
)  # by what the host has


def task_files(role: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted((role / "tasks").glob("*.yml")):
        yield path.name, yaml.safe_load(path.read_text(encoding="utf-8"))


def text_of(role: Path) -> str:
    return "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("tasks", "vars", "templates")
        for path in sorted((role / folder).rglob("*"))
        if path.is_file()
    )


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_variable_is_defined_once(role: Path) -> None:
    """Of two files of vars/main the later one wins, silently."""
    files = sorted((role / "vars").rglob("*.yml"))
    names = [name for path in files for name in yaml.safe_load(path.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(set(names))


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
    chosen = {
        name
        for name in files
        for before, after in CHOSEN.findall(text)
        if re.fullmatch(rf"{before}\w+{after}[.]yml", name)
    }
    assert files - entries - included - chosen == set()


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

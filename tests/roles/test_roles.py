"""The roles as text: names, entry points, READMEs.

Rules of the contract: tests/upstream/test_role_rules.py and test_host_rules.py beside this.
"""

from __future__ import annotations

from support import ROOT

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.hosts.decisions import load
from support import wanted
from tools import role_readme

ROLES = sorted((ROOT / "roles").iterdir())
LEFT_TO_THE_PLAY = (
    "decision",
    "disruption",
    "reboot_due",
    "kubelet_runs",
    "is_held",
)  # answers, not options
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


DECISION = {"faults", "shortfalls", "interrupts", "due", "reboot_due"}
CASES = [
    (role, name)
    for role in wanted.names()
    for name, own in wanted.examples().items()
    if wanted.is_in_use(role, own)
]
every_example = pytest.mark.parametrize(("role", "example"), CASES)


@every_example
def test_a_host_of_which_nothing_is_known_is_decided_about(role: str, example: str) -> None:
    """Plans ask for hosts that nobody has read; Ansible carries the answer as JSON."""
    module, own = load(role), wanted.examples()[example]
    for state in ("present", "absent"):
        for check_mode in (False, True):
            found = module.decide({}, {**own, "state": state, "check_mode": check_mode})
            assert set(found) >= DECISION
            assert json.loads(json.dumps(found)) == found
    assert isinstance(module.questions(own, {}), dict)


@every_example
def test_nothing_is_due_on_a_host_that_is_as_described(role: str, example: str) -> None:
    """Nor is a second round of questions, which would cost every unchanged host a module run."""
    module, own = load(role), wanted.examples()[example]
    seen = module.described(own)
    found = module.decide(seen, own)
    quiet = {"faults": [], "shortfalls": [], "interrupts": [], "due": False, "reboot_due": False}
    assert {name: found[name] for name in DECISION} == quiet
    first = module.questions(own, {})
    for kind, asked in module.questions(own, seen).items():
        assert set(asked) <= set(first.get(kind, ()))


@pytest.mark.parametrize("role", wanted.names())
def test_what_a_task_asks_of_a_decision_is_there(role: str) -> None:
    """Every key that tasks read; one that stands alone in a condition is a boolean."""
    own = next(own for name, own in wanted.examples().items() if (role, name) in CASES)
    found = load(role).decide({}, own)
    text = text_of(ROOT / "roles" / role)
    assert set(re.findall(rf"\b{role}_decision[.](\w+)", text)) <= set(found)
    alone = rf"(?m)^ *(?:when:|-) (?:not )?{role}_decision[.](\w+)$"
    assert {
        name: found[name] for name in re.findall(alone, text) if found[name] not in (0, 1)
    } == {}


def test_decisions_need_no_ansible() -> None:
    """They load from the package, where ansible-core is not a dependency."""
    code = (
        "import sys; from gpugen.hosts.decisions import load;"
        f"[load(name) for name in {wanted.names()!r}];"
        "sys.exit(any(name.partition('.')[0] == 'ansible' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("role", role_readme.roles())
def test_readme_is_current(role: str) -> None:
    path = ROOT / "roles" / role / "README.md"
    assert path.read_text(encoding="utf-8") == role_readme.page(role), (
        "run tests/tools/role_readme.py"
    )

"""Rules that hold for every role (GEN), read from the roles themselves and from rendered plays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.model.tree import Tree
from gpugen.render.hosts import render_hosts
from support import ansible_yaml
from support.role_sources import (
    ROLES,
    ROOT,
    Text,
    conditions,
    expressions,
    is_boolean,
    placed,
    tasks,
    text_comparisons,
    text_of,
    variables,
)
from support.specs import resolved

every_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
KEYWORDS = {
    *("name", "when", "register", "changed_when", "failed_when", "check_mode", "loop", "vars"),
    *("loop_control", "until", "retries", "delay", "environment", "no_log", "diff", "become"),
    *("delegate_to", "delegate_facts", "run_once", "block", "rescue", "always", "tags", "notify"),
    *("connection", "throttle", "any_errors_fatal"),
}
MAGIC = {  # of Ansible itself, not facts put among the variables
    *("ansible_facts", "ansible_check_mode", "ansible_connection", "ansible_skip_tags"),
    *("ansible_run_tags", "ansible_failed_task", "ansible_failed_result", "ansible_loop"),
    *("ansible_managed", "ansible_play_hosts", "ansible_play_batch", "ansible_play_hosts_all"),
    *("ansible_inventory_sources", "ansible_host", "ansible_playbook_python", "ansible_loop_var"),
}
FACTS = re.compile(  # what the five subsets bring; processor and system come with the smallest
    r"distribution\w*|os_family|kernel|pkg_mgr|service_mgr|python|architecture"
)
WRITERS = ("copy", "template", "lineinfile", "blockinfile", "file", "replace")
FOREIGN = (  # files that an installer owns
    *("/var/lib/kubelet/config.yaml", "kubeadm-flags.env", "/etc/default/kubelet"),
    "/etc/sysconfig/kubelet",
)


def module_of(task: dict[str, Any]) -> str:
    """Return the module of a task; empty for a block."""
    return next((key for key in task if key not in KEYWORDS), "")


@every_role
def test_gen_01_modules_are_those_of_ansible_core(role: Path) -> None:
    """GEN-01: nothing but ansible.builtin and our own, no shell, no raw, no script, no handler."""
    modules = {module_of(task) for task in tasks(role)} - {""}
    ours = ("ansible.builtin.", "gpugen.hosts.")
    assert {module for module in modules if not module.startswith(ours)} == set()
    assert modules.isdisjoint(f"ansible.builtin.{x}" for x in ("shell", "raw", "script"))
    lookups = re.findall(r"(?:lookup|query)\(\s*'([^']+)'", text_of(role))
    short = {"file", "template", "vars"}
    assert [x for x in lookups if not x.startswith("ansible.builtin.") and x not in short] == []
    assert not list((role / "handlers").rglob("*.yml"))  # GEN-10: state decides


@every_role
def test_gen_02_conditions_are_booleans(role: Path) -> None:
    """GEN-02: ansible-core 2.19 refuses a condition that yields a number or text."""
    known = variables(role)
    stated = [each for task in tasks(role) for each in conditions(task, task.get("name", ""))]
    found = [(each.place, each.text) for each in stated if not is_boolean(each.tree(), known)]
    assert found == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x | length > 0", True),
        ("x | bool and y is defined", True),
        ("x | length", False),
        ("x or y | bool", False),
        ("(x | bool) if y else (z == 1)", True),
        ("x", False),
        ("__due and not x", True),
        ("nvidia_mig_decision.packages_due and not x", True),
        ("'a' if x else 'b'", False),
    ],
)
def test_gen_02_checks_conditions(condition: str, expected: bool) -> None:
    """GEN-02: the check itself."""
    known = {"__due": Text("", "x | length > 0", is_bare=True).tree()}
    assert is_boolean(Text("", condition, is_bare=True).tree(), known) is expected


@every_role
def test_gen_03_versions_are_never_compared_as_text(role: Path) -> None:
    """GEN-03: '10' < '8' holds for text; only numbers stand beside < and >."""
    assert [fault for text in expressions(role) for fault in text_comparisons(text)] == []


def test_gen_03_finds_a_comparison_of_text() -> None:
    """GEN-03: the check itself."""
    assert text_comparisons(Text("", "{{ ansible_facts.distribution_version < '8' }}"))
    assert text_comparisons(Text("", "{% if version >= wanted %}x{% endif %}"))
    assert not text_comparisons(Text("", "{{ x | length > 0 and found is version('8', '<') }}"))


AFTER_A_CHANGE = re.compile(r"after|again|wait|refresh|build|rollback|apply|uncordon|drain", re.I)


@every_role
def test_gen_07_reading_is_no_change_and_is_done_in_check_mode_too(role: Path) -> None:
    """GEN-07: a probe that check mode skips makes every later condition lie."""
    faults = []
    for task in tasks(role):
        command = task.get("ansible.builtin.command")
        if command is None:
            continue
        assert "changed_when" in task, task["name"]
        assert "argv" in command, task["name"]
        only_reads = task["changed_when"] is False and "until" not in task
        if only_reads and task.get("check_mode") is not False and "when" not in task:
            faults.append(task["name"])
    assert [name for name in faults if not AFTER_A_CHANGE.search(name)] == []


@every_role
def test_gen_08_no_error_is_ignored(role: Path) -> None:
    """GEN-08: what may fail is read afterwards; only waits try again."""
    whole = text_of(role)
    for task, is_last in placed(role):
        assert "ignore_errors" not in task, task["name"]
        assert "ignore_unreachable" not in task, task["name"]
        if task.get("failed_when") is False:
            name = task.get("register", "-")
            is_read = len(re.findall(rf"\b{name}\b", whole)) > 1
            assert is_read or not is_last, task["name"]  # else the state is read next
        if "retries" in task:
            assert "until" in task, task["name"]


@every_role
def test_gen_12_files_say_who_wrote_them(role: Path) -> None:
    """GEN-12: files of ours begin with a comment; of others' we own a marked block."""
    marked = re.compile(r"^(\{#.*?#\}\s*)?(#|//|Explanation:) ?.*generated by gpugen", re.S)
    for path in sorted((role / "templates").rglob("*.j2")):
        text = path.read_text()
        is_expression = text.startswith("{#") or text.lstrip().startswith(("{", "["))
        assert is_expression or marked.match(text), path
    for task in tasks(role):
        if "ansible.builtin.lineinfile" in task:
            assert re.search(r"PRE-06|CTK-10", task["name"])  # the two lines that are ours
        block = task.get("ansible.builtin.blockinfile", {"marker": "gpugen"})
        assert "gpugen" in block["marker"], task["name"]


@every_role
def test_pre_08_and_gen_16_nothing_is_fetched_from_a_fixed_place(role: Path) -> None:
    """PRE-08: no address stands in a role. GEN-16: nor does a module that needs python3-debian."""
    text = re.sub(r"^\s*#.*$", "", text_of(role), flags=re.M)
    assert re.findall(r"(?:https?|ftp)://[\w.]+", text) == []
    modules = {module_of(task) for task in tasks(role)}
    libraries = ("deb822_repository", "apt_repository", "apt_key")
    assert modules.isdisjoint(f"ansible.builtin.{name}" for name in libraries)


@every_role
def test_ctk_20_no_container_is_started(role: Path) -> None:
    """CTK-20: hosts without a way to an image are verified; smoke.yml and smoke.py are the word."""
    programs = r"(?:ctr|crictl|nerdctl|docker|podman)(?:, --?[\w=./-]+)*, (?:run|pull|images?)\b"
    decided = (ROOT / "plugins" / "plugin_utils" / role.name).rglob("*.py")
    files = [each for each in (*role.rglob("*.yml"), *decided) if not each.stem.startswith("smoke")]
    found = [text for path in files for text in re.findall(programs, _plain(path))]
    assert found == []


def _plain(path: Path) -> str:
    """Return a file without quotes and brackets, so that lists of words read alike."""
    return re.sub(r"['\"\[\]]", "", path.read_text())


def test_ctk_20_a_container_is_started_only_where_an_image_is_named() -> None:
    """CTK-20: verification alone includes it, behind its variable, which is empty by default."""
    role = ROOT / "roles" / "nvidia_container_toolkit"
    users = [
        (path.name, task)
        for path in sorted((role / "tasks").glob("*.yml"))
        for task in yaml.safe_load(path.read_text())
        if task.get("ansible.builtin.include_tasks") == "smoke.yml"
    ]
    ((name, task),) = users
    assert name == "verify.yml"
    assert "nvidia_container_toolkit_smoke_test | length > 0" in task["when"]
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text())
    assert defaults["nvidia_container_toolkit_smoke_test"] == ""
    inner = [path for path in role.rglob("*.yml") if "smoke_" in path.name]
    others = [path for path in role.rglob("*.yml") if not path.name.startswith("smoke")]
    assert inner
    assert not [path for path in others for each in inner if each.name in path.read_text()]


def test_drv_17_modules_are_unloaded_where_it_is_asked_for() -> None:
    """DRV-17: removal, the .run installer and activation=reload unload a driver, nothing else."""
    role = ROOT / "roles" / "nvidia_driver" / "tasks"
    texts = {path.name: path.read_text() for path in role.glob("*.yml")}
    unloading = {name for name, text in texts.items() if re.search(r"rmmod|modprobe, --rem", text)}
    users = {
        name for name, text in texts.items() for file in unloading if f"_tasks: {file}" in text
    }
    assert users == {"absent.yml", "runfile.yml", "reload.yml"}
    (reload,) = (each for each in tasks(role.parent) if "reload.yml" in each.values())
    assert reload["when"] == "nvidia_driver_decision.reload_due"


@every_role
def test_gen_13_only_gathered_facts_are_read(role: Path) -> None:
    """GEN-13: facts by ansible_facts, and only of the subsets that the play gathers."""
    whole = text_of(role)
    names = set(re.findall(r"(?<![\w.'])ansible_\w+", re.sub(r"ansible\.builtin\.\w+", "", whole)))
    assert names <= MAGIC, names - MAGIC
    facts = set(re.findall(r"ansible_facts(?:\.|\[')(\w+)", whole))
    facts -= {f"{each.name}_decision" for each in ROLES}
    assert {fact for fact in facts if not FACTS.fullmatch(fact)} == set()


@every_role
def test_gen_14_rights_and_secrets(role: Path) -> None:
    """GEN-14: the play raises rights; no argument is a password, token or private key."""
    for task in tasks(role):
        assert task.get("become") in (None, False), task["name"]  # false: on the control host
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    secret = re.compile(r"password|token|secret|credential|private", re.I)
    assert [name for name in specs["main"]["options"] if secret.search(name)] == []


def test_gen_13_and_14_of_the_plays() -> None:
    """GEN-13, GEN-14, GEN-15: no play gathers facts; rights are raised; so say settings."""
    spec = resolved()
    tree = Tree()
    render_hosts(spec, assemble(spec), tree)
    for file in sorted((ROOT / "playbooks").rglob("*.yml")):
        text = file.read_text("utf-8")
        assert "ansible.builtin.setup" not in text
        found = yaml.safe_load(text)
        plays = [play for play in found if "hosts" in play] if isinstance(found, list) else []
        assert {play.get("gather_facts") for play in plays} <= {False}, file.name
    variables = ansible_yaml.read(tree["ansible/inventory/group_vars/all.yml"])
    assert variables["ansible_become"] is True
    settings = tree["ansible/ansible.cfg"].decode()
    for line in ("pipelining = True", "host_key_checking = True", "inject_facts_as_vars = False"):
        assert f"{line}\n" in settings
    assert "retry_files_enabled = False\n" in settings
    assert int(re.findall(r"^forks = (\d+)$", settings, re.M)[0]) >= 20


@every_role
def test_kub_06_files_of_the_kubelet_are_not_written(role: Path) -> None:
    """KUB-06: they belong to the installer, whose next run would overwrite us."""
    for task in tasks(role):
        for module in WRITERS:
            arguments = task.get(f"ansible.builtin.{module}", {})
            target = str(arguments.get("dest", arguments.get("path", "")))
            assert not any(file in target for file in FOREIGN), task["name"]


def test_kub_04_and_05_no_feature_gate_is_set() -> None:
    """KUB-04, KUB-05: gates of the kubelet end with a release, and then it does not start.

    The scheduler's own flags are read, and passed on as they are.
    """
    roles = [role for role in ROLES if role.name != "kube_scheduler"]
    files = [path for role in roles for path in role.rglob("*") if path.is_file()]
    files += (ROOT / "out").rglob("*.yaml")
    assert len(files) > 100
    gates = re.compile(rb"feature-?gates", re.I)
    found = [path for path in files if gates.search(path.read_bytes())]
    assert [path for path in found if "kube_scheduler" not in path.parts] == []

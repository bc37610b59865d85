"""Rules that hold for every role (GEN), read from the roles themselves and from rendered plays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import nodes
from role_texts import ROLES, ROOT, Text, conditions, expressions, tasks, text_of, variables

from gpugen.model.tree import Tree
from gpugen.plan import plan
from gpugen.render.hosts import render_hosts
from specs import resolved

every_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
KEYWORDS = {
    *("name", "when", "register", "changed_when", "failed_when", "check_mode", "loop", "vars"),
    *("loop_control", "until", "retries", "delay", "environment", "no_log", "diff", "become"),
    *("delegate_to", "delegate_facts", "run_once", "block", "rescue", "always", "tags", "notify"),
    *("connection", "throttle", "any_errors_fatal"),
}
BOOLEAN_FILTERS = {"bool"}
BOOLEAN_NAMES = {"ansible_check_mode"}
NUMBER_FILTERS = {"int", "float", "length", "count", "abs", "sum", "min", "max", "round"}
NUMBER_METHODS = {"total_seconds", "timestamp", "count", "index", "find"}
ORDERED = {"lt", "lteq", "gt", "gteq"}
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
    """GEN-01: nothing but ansible.builtin, no shell, no raw, no script, no handler."""
    modules = {module_of(task) for task in tasks(role)} - {""}
    assert {module for module in modules if not module.startswith("ansible.builtin.")} == set()
    assert modules.isdisjoint(f"ansible.builtin.{x}" for x in ("shell", "raw", "script"))
    lookups = re.findall(r"(?:lookup|query)\(\s*'([^']+)'", text_of(role))
    assert set(lookups) - {"file", "template", "vars"} <= {
        f"ansible.builtin.{name}" for name in ("file", "template", "vars", "fileglob")
    }
    assert not list((role / "handlers").rglob("*.yml"))  # GEN-10: state decides


def is_boolean(node: nodes.Node, known: Mapping[str, nodes.Node]) -> bool:
    """Tell whether an expression yields a boolean whatever its variables hold.

    known: the role's own variables, which Ansible evaluates where they are used.
    """
    match node:
        case nodes.Const():
            return isinstance(node.value, bool)
        case nodes.Compare() | nodes.Not() | nodes.Test():
            return True
        case nodes.And() | nodes.Or():
            return is_boolean(node.left, known) and is_boolean(node.right, known)
        case nodes.CondExpr():
            parts = (node.expr1, node.expr2)
            return all(part is not None and is_boolean(part, known) for part in parts)
        case nodes.Filter():
            return node.name in BOOLEAN_FILTERS
        case nodes.Name():
            value = known.get(node.name)
            return node.name in BOOLEAN_NAMES or (value is not None and is_boolean(value, known))
        case nodes.Getitem(node=nodes.Name(name=name)):
            table = known.get(name)
            return isinstance(table, nodes.List) and all(
                is_boolean(item, known) for item in table.items
            )
    return False


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
        ("'a' if x else 'b'", False),
    ],
)
def test_gen_02_judges_conditions(condition: str, expected: bool) -> None:
    """GEN-02: the judge itself."""
    known = {"__due": Text("", "x | length > 0", is_bare=True).tree()}
    assert is_boolean(Text("", condition, is_bare=True).tree(), known) is expected


def is_number(node: nodes.Node) -> bool:
    """Tell whether an expression is plainly a number."""
    match node:
        case nodes.Const():
            return isinstance(node.value, int | float)
        case nodes.Filter():
            return node.name in NUMBER_FILTERS
        case nodes.BinExpr():
            return is_number(node.left) and is_number(node.right)
        case nodes.Call():
            return isinstance(node.node, nodes.Getattr) and node.node.attr in NUMBER_METHODS
    return False


def text_comparisons(text: Text) -> list[str]:
    """Return the ordered comparisons of a text of which neither side is plainly a number."""
    return [
        f"{text.place}: {text.text}"
        for compare in text.whole().find_all(nodes.Compare)
        for operand in compare.ops
        if operand.op in ORDERED and not (is_number(compare.expr) or is_number(operand.expr))
    ]


@every_role
def test_gen_03_versions_are_never_compared_as_text(role: Path) -> None:
    """GEN-03: '10' < '8' holds for text; only numbers stand beside < and >."""
    assert [fault for text in expressions(role) for fault in text_comparisons(text)] == []


def test_gen_03_finds_a_comparison_of_text() -> None:
    """GEN-03: the judge itself."""
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
    for task in tasks(role):
        assert "ignore_errors" not in task, task["name"]
        assert "ignore_unreachable" not in task, task["name"]
        if task.get("failed_when") is False:
            name = task["register"]
            assert len(re.findall(rf"\b{name}\b", whole)) > 1, (task["name"], name)
        if "retries" in task:
            assert "until" in task, task["name"]


@every_role
def test_gen_12_files_say_who_wrote_them(role: Path) -> None:
    """GEN-12: files of ours begin with a comment; of others' files no line is edited."""
    marked = re.compile(r"^(\{#.*?#\}\s*)?(#|//|Explanation:) ?.*generated by gpugen", re.S)
    for path in sorted((role / "templates").rglob("*.j2")):
        text = path.read_text()
        is_expression = text.startswith("{#") or text.lstrip().startswith(("{", "["))
        assert is_expression or marked.match(text), path
    modules = {module_of(task) for task in tasks(role)}
    assert modules.isdisjoint(f"ansible.builtin.{x}" for x in ("lineinfile", "blockinfile"))


@every_role
def test_gen_13_only_gathered_facts_are_read(role: Path) -> None:
    """GEN-13: facts by ansible_facts, and only of the subsets that the play gathers."""
    whole = text_of(role)
    names = set(re.findall(r"(?<![\w.'])ansible_\w+", re.sub(r"ansible\.builtin\.\w+", "", whole)))
    assert names <= MAGIC, names - MAGIC
    facts = set(re.findall(r"ansible_facts(?:\.|\[')(\w+)", whole))
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
    """GEN-13, GEN-14, GEN-15: the plays gather five subsets and raise rights; so say settings."""
    spec = resolved()
    tree = Tree()
    render_hosts(spec, plan(spec), tree)
    plays = yaml.safe_load(tree["ansible/site.yml"])
    subsets = [play["gather_subset"] for play in plays if play["gather_facts"]]
    wanted = ["!all", "!min", "distribution", "kernel", "pkg_mgr", "python", "service_mgr"]
    assert subsets == [wanted]
    assert all("become" in play for play in plays)
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
    """KUB-04, KUB-05: gates of the kubelet end with a release, and then it does not start."""
    files = [path for role in ROLES for path in role.rglob("*") if path.is_file()]
    files += [path for path in (ROOT / "out").rglob("*") if path.suffix in {".yaml", ".yml"}]
    assert len(files) > 100
    gates = re.compile(rb"feature-?gates", re.I)
    assert [path for path in files if gates.search(path.read_bytes())] == []

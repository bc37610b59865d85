"""The roles and plays as data: tasks, and every expression that Ansible will evaluate in them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import yaml
from jinja2 import nodes

from support import ROOT

ROLES = sorted(path.parents[1] for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"))
CONDITIONS = ("when", "until", "failed_when", "changed_when")
BOOLEAN_FILTERS = {"bool"}
BOOLEAN_NAMES = {"ansible_check_mode"}
NUMBER_FILTERS = {"int", "float", "length", "count", "abs", "sum", "min", "max", "round"}
NUMBER_METHODS = {"total_seconds", "timestamp", "count", "index", "find"}
ORDERED = {"lt", "lteq", "gt", "gteq"}
EMPTY = jinja2.Environment()  # only parses, so it need not know a filter


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of a role. place: for a message; is_bare: an expression without braces."""

    place: str
    text: str
    is_bare: bool = False

    def whole(self) -> nodes.Template:
        """Return its syntax tree as a template."""
        text = f"{{{{ ({self.text}) }}}}" if self.is_bare else self.text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # regular expressions in text
            return EMPTY.parse(text)

    def tree(self) -> nodes.Node:
        """Return the one expression that it is, or all of it where it is more."""
        outputs = list(self.whole().find_all(nodes.Output))
        parts = [node for output in outputs for node in output.nodes]
        return parts[0] if len(parts) == 1 else self.whole()


@cache
def placed(role: Path) -> tuple[tuple[dict[str, Any], bool], ...]:
    """List every task of a role, those in blocks too, and whether it is the last of its list."""
    files = (role / "tasks").rglob("*.yml")
    waiting = [yaml.safe_load(path.read_text()) or [] for path in files]
    found = []
    while waiting:
        own = waiting.pop()
        found += [(task, task is own[-1]) for task in own]
        for task in own:
            waiting += [task[part] for part in ("block", "rescue", "always") if part in task]
    return tuple(found)


def tasks(role: Path) -> list[dict[str, Any]]:
    """List every task of a role, those in blocks too."""
    return [task for task, _ in placed(role)]


def conditions(task: dict[str, Any], place: str) -> Iterator[Text]:
    """List what a task wants a boolean of; literal booleans need no look."""
    stated = [task.get(word, []) for word in CONDITIONS]
    stated.append(task.get("ansible.builtin.assert", {}).get("that", []))
    for each in stated:
        for condition in each if isinstance(each, list) else [each]:
            if isinstance(condition, str):
                braces = re.fullmatch(r"\s*\{\{(.*)\}\}\s*", condition, re.S)
                yield Text(place, braces[1] if braces else condition, is_bare=True)


def expressions(role: Path) -> Iterator[Text]:
    """List every text of a role that Ansible evaluates."""
    for task in tasks(role):
        place = f"{role.name}: {task.get('name')}"
        yield from conditions(task, place)
        yield from _strings({k: v for k, v in task.items() if k not in CONDITIONS}, place)
    for path in sorted(path for name in ("vars", "defaults") for path in (role / name).rglob("*")):
        if path.suffix == ".yml":
            yield from _strings(yaml.safe_load(path.read_text()), f"{role.name}: {path.name}")
    for path in sorted((role / "templates").rglob("*.j2")):
        yield Text(f"{role.name}: {path.name}", path.read_text())


@cache
def variables(role: Path) -> dict[str, nodes.Expr]:
    """Return the role's own variables as trees; of a mapping, a list of its values."""
    found: dict[str, nodes.Expr] = {}
    for path in sorted((role / "vars").rglob("*.yml")):
        for name, value in (yaml.safe_load(path.read_text()) or {}).items():
            found[name] = (
                nodes.List([_parsed(item) for item in value.values()])
                if isinstance(value, dict)
                else _parsed(value)
            )
    return found


def _parsed(value: object) -> nodes.Expr:
    if isinstance(value, str) and "{{" in value:
        tree = Text("", value.strip()).tree()
        return tree if isinstance(tree, nodes.Expr) else nodes.Const("")
    return nodes.Const(value)


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
        case nodes.Getattr() if _is_decided(node):
            return True  # typed in plugins/plugin_utils
        case nodes.Getattr(node=nodes.Getattr() as whole):  # a part of a decision
            return is_boolean(whole, known)
        case nodes.Name():
            value = known.get(node.name)
            return node.name in BOOLEAN_NAMES or (value is not None and is_boolean(value, known))
        case nodes.Getitem(node=nodes.Name(name=name)):
            table = known.get(name)
            return isinstance(table, nodes.List) and all(
                is_boolean(item, known) for item in table.items
            )
    return False


def _is_decided(node: nodes.Node) -> bool:
    """Tell whether a value comes out of a role's decision."""
    if isinstance(node, nodes.Getattr):
        return _is_decided(node.node)
    return isinstance(node, nodes.Name) and node.name.endswith("_decision")


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


def text_of(role: Path) -> str:
    """Return everything that a role runs or writes."""
    folders = ("tasks", "vars", "defaults", "templates", "files", "handlers")
    files = (path for name in folders for path in sorted((role / name).rglob("*")))
    return "\n".join(path.read_text() for path in files if path.suffix != ".pyc" and path.is_file())


def _strings(value: object, place: str) -> Iterator[Text]:
    if isinstance(value, str):
        yield Text(place, value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item, place)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, place)

"""No host variable of a spec is read by Ansible, by the plays or by a role."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible
import jinja2
import jinja2.meta
import pytest
import yaml
from ansible.constants import MAGIC_VARIABLE_MAPPING
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.vars.reserved import get_reserved_names

from gpugen import assets, pipeline
from gpugen.assemble import assemble
from gpugen.checks.variables import why_not_free
from gpugen.hosts.names import CONTROL_HOST
from gpugen.render.hosts import group_variables
from gpugen.workspace import Workspace
from support import ROOT

ANSIBLE = Path(ansible.__file__).parent
LEGAL = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")  # the schema's grammar of names
EXPRESSIONS = {"when", "that", "until", "failed_when", "changed_when"}
LOCAL = {"loop_var", "index_var"}  # outweigh every variable of a host, as template_vars do
GIVEN = re.compile(r"template_vars=\{'([a-z_]+)':")


class Loader(yaml.SafeLoader):
    """Reads tags as what stands behind them."""


Loader.add_multi_constructor("!", lambda loader, _, node: loader.construct_scalar(node))


class Named(dict[str, Any]):
    """Filters or tests, of Ansible's and of the roles', of which only the names are read."""

    def get(self, name: str, default: Any = None) -> Any:
        return str


def documented(value: object) -> Iterator[str]:
    """Yield the variables that documentation of plugins and settings names."""
    if isinstance(value, dict):
        found = value.get("vars")
        yield from (v["name"] for v in found if "name" in v) if isinstance(found, list) else ()
        for item in value.values():
            yield from documented(item)
    elif isinstance(value, list):
        for item in value:
            yield from documented(item)


def texts_of_plugins() -> Iterator[str]:
    """Yield the documentation of every plugin of ansible-core, and its settings."""
    yield (ANSIBLE / "config" / "base.yml").read_text("utf-8")
    for path in sorted((ANSIBLE / "plugins").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                text = node.value.value
                if isinstance(text, str) and "vars:" in text and "name:" in text:
                    yield text


def of_ansible() -> set[str]:
    """Return what ansible-core reads, reserves or sets itself."""
    found = {name for text in texts_of_plugins() for name in documented(yaml.safe_load(text))}
    found |= {name for names in MAGIC_VARIABLE_MAPPING.values() for name in names}
    found |= get_reserved_names(include_private=True)
    found |= set(Templar(loader=DataLoader())._engine.environment.globals)
    source = (ANSIBLE / "vars" / "manager.py").read_text("utf-8")
    found |= set(re.findall(r"(?:variables|all_vars)\['([a-z_]+)'\]", source))
    source = (ANSIBLE / "inventory" / "host.py").read_text("utf-8")
    return found | set(re.findall(r"results\['([a-z_]+)'\]", source))


def test_what_ansible_reads_is_not_free() -> None:
    found = {name for name in of_ansible() if LEGAL.match(name)}
    assert {
        *("ansible_ssh_common_args", "ansible_become_exe", "ansible_shell_executable"),
        *("ansible_ssh_pkcs11_provider", "ansible_remote_tmp", "become", "environment", "lookup"),
        *("inventory_hostname", "playbook_dir", "group_names", "hostvars", "omit", "groups"),
    } <= found
    assert not [name for name in sorted(found) if why_not_free(name) is None]


def nodes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every entry of mappings, however deep."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key), item
            yield from nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes(item)


def set_by(value: Any) -> Iterator[str]:
    """Yield the variables that plays and tasks set."""
    for key, item in nodes(value):
        if key == "register":
            yield str(item)
        elif key in {"vars", "set_fact", "ansible.builtin.set_fact"} and isinstance(item, dict):
            yield from item


def read_by(value: Any) -> Iterator[str]:
    """Yield the templates of plays and tasks; conditions are templates without braces."""
    for key, item in nodes(value):
        for text in item if isinstance(item, list) else [item]:
            if isinstance(text, str):
                yield f"{{{{ {text} }}}}" if key in EXPRESSIONS else text


def documents() -> Iterator[Any]:
    """Yield the files of plays and roles."""
    plays = assets.collection() / "playbooks"
    for path in sorted([*plays.rglob("*.yml"), *assets.roles().rglob("*.yml")]):
        if path.parent.name not in {"meta"}:
            yield yaml.load(path.read_text("utf-8"), Loader)


def test_what_plays_and_roles_read_or_set_is_not_free() -> None:
    environment = jinja2.Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
    environment.filters, environment.tests = Named(), Named()
    texts = [path.read_text("utf-8") for path in sorted(assets.roles().rglob("*.j2"))]
    found: set[str] = set()
    local: set[str] = set()
    for document in documents():
        found |= set(set_by(document))
        local |= {item for key, item in nodes(document) if key in LOCAL}
        texts += read_by(document)
    for text in texts:
        if "{{" in text or "{%" in text:
            with warnings.catch_warnings():  # a \S of ours in a quoted pattern
                warnings.simplefilter("ignore", DeprecationWarning)
                found |= jinja2.meta.find_undeclared_variables(environment.parse(text))
    assert len(found) > 150
    found -= local.union(*map(GIVEN.findall, texts))
    free = {name for name in found if LEGAL.match(name) and why_not_free(name) is None}
    assert not free


@pytest.mark.parametrize("cluster", Workspace(ROOT).clusters())
def test_what_is_rendered_is_not_free(cluster: str) -> None:
    workspace = Workspace(ROOT)
    spec = pipeline.run(workspace.spec_path(cluster), workspace).spec
    assert spec is not None
    names = {name for own in group_variables(spec, assemble(spec)).values() for name in own}
    assert names
    assert not [name for name in sorted(names) if why_not_free(name) is None]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("ansible_port", "ssh: {port: 2222}"),
        ("ansible_user", "ssh: {user: ops}"),
        ("ansible_become", "ssh: {become: true}"),
        ("ansible_become_method", "ssh: {becomeMethod: sudo}"),
        ("ansible_python_interpreter", "ssh: {interpreter: /usr/bin/python3.11}"),
        ("ansible_ssh_common_args", "ssh: {proxyJump: ["),
        ("ansible_host", "write address"),
        ("ansible_ssh_private_key_file", "~/.ssh/config"),
        ("ansible_shell_type", "~/.ssh/config"),
        ("gpugen_pool", "a field of the spec"),
        ("nvidia_driver_version", "a field of the spec"),
        ("become", "rename it"),
    ],
)
def test_what_is_not_free_names_the_field(name: str, field: str) -> None:
    found = why_not_free(name)
    assert found is not None
    assert field in found[1]


@pytest.mark.parametrize("name", ["rack", "site_rack", "gpu_rack", "kube_version", "port_speed"])
def test_what_nobody_reads_is_free(name: str) -> None:
    assert why_not_free(name) is None


def test_tasks_are_delegated_to_the_control_host_alone() -> None:
    """A host of a spec may be called like Ansible's localhost, but never like ours."""
    found = [(key, item) for document in documents() for key, item in nodes(document)]
    delegated = {item for key, item in found if key == "delegate_to"}
    assert delegated == {CONTROL_HOST}
    assert not [item for key, item in found if key in {"local_action", "connection"}]
    assert {item for key, item in found if key == "hosts"} <= {"gpu", "control_plane"}

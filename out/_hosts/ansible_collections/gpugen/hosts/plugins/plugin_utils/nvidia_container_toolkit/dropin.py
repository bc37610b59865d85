# Copyright: the gpugen authors. Apache-2.0.
"""Text of the drop-in of containerd, in the form that its version needs."""

from __future__ import annotations

from typing import NamedTuple

from .view import BINARY, HEADER, RUNTIME

OLD, NEW = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
SECTION = f'[plugins."{OLD}"'
FULL = (
    "# containerd 1.x replaces the whole section,"
    " so this is the node's own, made anew at every run."
)


class Form(NamedTuple):
    """What decides how the drop-in reads. version: of the configuration that it declares."""

    version: int
    is_full: bool
    enable_cdi: bool
    default_runtime: bool
    systemd_cgroup: bool


def text(form: Form, section: str) -> str:
    """Return the drop-in. section: the node's own CRI section, for the full form."""
    plugin = OLD if form.version == 2 else NEW
    table = f'plugins."{plugin}".containerd.runtimes.{RUNTIME}'
    settings = f"{FULL}\n{section}\n" if form.is_full else _settings(form, plugin)
    return (
        f"{HEADER}version = {form.version}\n\n{settings}"
        f'[{table}]\n  runtime_type = "io.containerd.runc.v2"\n\n'
        f'[{table}.options]\n  BinaryName = "{BINARY}"\n'
        f"  SystemdCgroup = {str(form.systemd_cgroup).lower()}\n"
    )


def _settings(form: Form, plugin: str) -> str:
    cdi = f'[plugins."{plugin}"]\n  enable_cdi = true\n\n'
    default = f'[plugins."{plugin}".containerd]\n  default_runtime_name = "{RUNTIME}"\n\n'
    return (cdi if form.enable_cdi else "") + (default if form.default_runtime else "")


def section(dump: str, enable_cdi: bool, default_runtime: bool) -> str:
    """Return the CRI section of containerd 1.x out of a dump, less a runtime of our name.

    Line by line, because it is written again as it is: a parser would lose its form.
    """
    return "".join(_changed(line, enable_cdi, default_runtime) for line in _section(dump))


def _section(dump: str) -> list[str]:
    kept: list[str] = []
    is_inside = is_ours = False
    for line in dump.splitlines(keepends=True):
        head = line.strip(" \t\n")
        if head.startswith("["):
            if is_inside and not head.startswith(SECTION):
                break
            is_inside = is_inside or head == f"{SECTION}]"
            is_ours = _is_ours(head)
        if is_inside and not is_ours:
            kept.append(line)
    return kept


def _is_ours(head: str) -> bool:
    """Tell whether a header opens a table of the runtime nvidia, or one below it."""
    name = head.replace('"', "")
    return f".runtimes.{RUNTIME}]" in name or f".runtimes.{RUNTIME}." in name


def _changed(line: str, enable_cdi: bool, default_runtime: bool) -> str:
    key, equals, value = line.partition(" = ")
    if key.strip() == "enable_cdi" and value == "false\n" and enable_cdi:
        return f"{key}{equals}true\n"
    if key.strip() == "default_runtime_name" and default_runtime:
        return f'{key}{equals}"{RUNTIME}"\n'
    return line

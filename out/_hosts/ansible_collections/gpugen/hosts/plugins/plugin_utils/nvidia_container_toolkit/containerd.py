# Copyright: the gpugen authors. Apache-2.0.
"""containerd: what it reads, with the toolkit and without, and what of it is due."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import dropin, toml_text
from .packages import is_pending
from .view import BINARY, HEADER, RUNTIME, Host

PLUGINS = ("io.containerd.grpc.v1", "io.containerd.cri.v1")
NOTHING: Mapping[str, Any] = {"rc": 0, "out": "", "err": ""}
DEFAULT_FILE = f"{HEADER}default-runtime: {RUNTIME}\n"


class Containerd(NamedTuple):
    """What is known. root: the main file, read; bare: its effective configuration without us."""

    host: Host
    major: int
    root_text: str
    root: toml_text.Root
    bare: Mapping[str, Any]
    form: dropin.Form
    section: str

    @property
    def dump(self) -> Mapping[str, Any]:
        """The effective configuration as it is."""
        return self.host.said("dump")

    @property
    def expected(self) -> str:
        """Our drop-in as it should read."""
        return dropin.text(self.form, self.section)


def read(host: Host) -> Containerd:
    """Return what is known of containerd."""
    major, text = major_of(host), root_text(host)
    root = root_of(host, text)
    is_import = host.mode == "import"
    effective = {"rc": 0, "out": host.text(host.option("effective")), "err": ""}
    found = bare_of(host, text, root) if is_import else effective
    bare: Mapping[str, Any] = found or NOTHING
    options = toml_text.runtime(bare["out"], "runc").get("options", {})
    form = dropin.Form(
        version=int(host.own("version_declared", _version(host, root))),
        is_full=bool(host.own("is_full", is_import and major < 2)),
        enable_cdi=bool(host.option("enable_cdi")),
        default_runtime=bool(host.option("default_runtime")),
        systemd_cgroup=bool(options.get("SystemdCgroup", False)),
    )
    section = dropin.section(bare["out"], form.enable_cdi, form.default_runtime)
    return Containerd(host, major, text, root, bare, form, section)


def _version(host: Host, root: toml_text.Root) -> int:
    return root.version if host.mode == "import" else int(host.option("dropin_version"))


def major_of(host: Host) -> int:
    """Return containerd's major version, 0 where it does not run here."""
    found = re.search(r"\sv?(\d+)[.]", host.said("containerd")["out"])
    return int(found[1]) if found else 0


def root_text(host: Host) -> str:
    """Return the main file, or what it must say at least."""
    if host.file(host.option("root")):
        return host.text(host.option("root"))
    return f"version = {3 if major_of(host) >= 2 else 2}\n"


def neighbours(host: Host) -> list[str]:
    """Return the files of others beside ours, in their order: a later one overrides an earlier.

    Where nobody imports them they stay out: then ours alone is imported.
    """
    return [path for path in host.paths(host.glob) if path != host.option("dropin")]


def root_of(host: Host, text: str) -> toml_text.Root:
    """Return what the main file says, and how it reads with our import and without."""
    ours, others = host.option("dropin"), neighbours(host)
    return toml_text.root(text, ours if others else host.glob, [host.glob, ours], others)


def import_line(host: Host) -> str:
    """Return our import as it is written where there was none: a line of its own."""
    return f'imports = ["{host.glob}"]'


def bare_of(host: Host, text: str, root: toml_text.Root) -> Mapping[str, Any] | None:
    """Return what containerd makes of the main file without us; None where it must be asked.

    The first answer, to the file less our line, holds where our import is nothing but this line.
    """
    if major_of(host) == 0:
        return NOTHING
    line = import_line(host)
    less = [each for each in text.split("\n") if each != line]
    if host.file(host.option("root")) and less == root.without_ours.split("\n"):
        return host.said("less_line")
    return host.said("bare") if host.is_told("bare") else None


def is_imported(known: Containerd) -> bool:
    """Tell whether the main file imports ours."""
    ours = {known.host.glob, known.host.option("dropin")}
    return bool(ours & set(known.root.imports))


def is_written(known: Containerd) -> bool:
    """Tell whether our drop-in is as expected."""
    return known.host.text(known.host.option("dropin")) == known.expected


def lost(known: Containerd) -> list[str]:
    """List the settings that our drop-in takes away; only additions are allowed."""
    return toml_text.lost(known.bare["out"], known.dump["out"], RUNTIME)


def is_known(known: Containerd) -> bool:
    """Tell whether the effective configuration has our runtime."""
    options = toml_text.runtime(known.dump["out"], RUNTIME).get("options", {})
    return bool(options.get("BinaryName", "") == BINARY)


def loss(known: Containerd) -> str:
    """Say what the effective configuration lacks; empty where it is complete."""
    if missing := lost(known):
        return f"{len(missing)} settings lost, such as {', '.join(missing[:3])}"
    if is_known(known):
        return ""
    return f"the runtime is not in the effective configuration {known.dump['err']}"


def is_healthy(host: Host) -> bool:
    """Tell whether all CRI plugins of the running containerd are ok."""
    rows = [line.split() for line in host.said("plugins")["out"].splitlines()]
    rows = [row for row in rows if len(row) > 2 and row[0] in PLUGINS]
    return {row[-1] for row in rows if row[0] != PLUGINS[0] or row[1] == "cri"} == {"ok"}


def service(host: Host) -> str:
    """Return the unit that runs containerd; empty where none does."""
    return next((name for name in host.option("services") if name in host.running), "")


def unit(host: Host) -> str:
    """Return the unit to restart, also where containerd is down."""
    return service(host) or next(iter(host.option("services")), "")


def is_old(host: Host) -> bool:
    """Tell whether containerd does not run, or came up before what it should have read (CTK-19)."""
    names = [host.option(name) for name in ("root", "dropin", "default_file")]
    changes = [float(host.file(path).get("mtime", 0)) for path in names if path]
    if host.mode == "detect":
        changes.append(float(host.said("binary")["out"] or 0))
    return service(host) == "" or host.is_older(service(host), *changes)


def is_effective(host: Host) -> bool:
    """Tell whether the distribution's own configuration has the runtime."""
    return bool(toml_text.runtime(host.text(host.option("effective")), RUNTIME))


def default_text(host: Host) -> str:
    """Return the file that names the default runtime, with detect; empty where there is none."""
    return DEFAULT_FILE if host.option("default_runtime") else ""


def is_default_written(host: Host) -> bool:
    """Tell whether that file is as expected (CTK-12, DIST-04)."""
    path = host.option("default_file")
    return (host.text(path) if path else "") == default_text(host)


def is_restart_due(host: Host) -> bool:
    """Tell whether a distribution that detects the toolkit must look for it again."""
    return service(host) != "" and (is_old(host) or not is_effective(host))


def is_due(known: Containerd) -> bool:
    """Tell whether anything is to do."""
    host = known.host
    match host.mode:
        case "import":
            return complaint(known) != "" or not is_imported(known) or not is_written(known)
        case "merge":
            return not is_written(known) or not is_effective(host)
        case "detect":
            return is_restart_due(host) or not is_default_written(host)
    return False


def complaint(known: Containerd) -> str:
    """Say what is wrong with what runs, with import; empty where nothing is."""
    if words := loss(known):
        return words
    if not is_healthy(known.host):
        return "containerd's CRI plugins are not all ok; see 'ctr plugins ls'"
    if is_old(known.host):
        return (
            "containerd does not run, or is older than what it should have read (CTK-19);"
            " run the play"
        )
    return ""


def shortfalls(known: Containerd) -> list[str]:
    """Say what a converged host would not show."""
    if not is_due(known):
        return []
    if known.host.mode != "import":
        words = "containerd does not run with our runtime as it is written; run the play"
    else:
        words = complaint(known) or "our drop-in says something else; run the play"
    return [f"CTK-09: {words}"]


def part(known: Containerd) -> dict[str, Any]:
    """Return what tasks need to know."""
    host, is_full = known.host, known.form.is_full and known.host.mode == "import"
    is_ahead = host.is_check and not (is_written(known) and is_imported(known))
    return {
        "due": is_due(known),
        "has_root": bool(host.file(host.option("root"))),
        "service": service(host),
        "unit": unit(host),
        "is_imported": is_imported(known),
        "is_ahead": is_ahead,  # check mode in front of a change: what follows cannot be shown
        "is_effective": is_effective(host),
        "is_healthy": is_healthy(host),
        "is_diff_shown": not is_full,  # the node's own settings may hold logins of registries
        "dropin_mode": "0600" if is_full else "0644",
        "loss": loss(known) if host.mode == "import" else "",
        "is_old": is_old(host),
        "is_restart_due": is_restart_due(host),
        "is_default_due": not is_default_written(host) and not is_pending(host),
        "is_awaited": service(host) != "" and not is_pending(host) and not host.is_check,
        "patience": host.own("patience"),
    }

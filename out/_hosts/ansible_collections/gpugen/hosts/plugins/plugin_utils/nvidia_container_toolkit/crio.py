# Copyright: the gpugen authors. Apache-2.0.
"""CRI-O: its drop-in with our runtime, like the default one, and whether it runs with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import toml_text
from .view import BINARY, HEADER, RUNTIME, Host

TABLE = "crio.runtime.runtimes."
UNIT = "crio.service"


class Model(NamedTuple):
    """The runtime that ours is like. paths: of runtimes that are not on the path."""

    monitor: str
    annotations: list[str]
    paths: list[str]


def _merged(host: Host) -> list[str]:
    """Return CRI-O's configuration; what equals a default is printed as a comment."""
    lines = host.said("crio_config")["out"].splitlines()
    return [line[2:] if _is_default(line) else line for line in lines]


def _is_default(line: str) -> bool:
    return line.startswith("# ") and line[2:3].strip() != ""


def _texts(lines: list[str], key: str) -> Iterator[str]:
    """Yield the texts that a key is set to."""
    start = f'{key} = "'
    for line in lines:
        if line.startswith(start) and line.count('"') > 1:
            yield line.removeprefix(start).partition('"')[0]


def _list(lines: list[str], key: str) -> list[str]:
    """Return the list of texts that a key is set to first, on one line or more."""
    start = f"{key} = ["
    at = next((at for at, line in enumerate(lines) if line.startswith(start)), None)
    if at is None:
        return []
    text = "\n".join(lines[at:]).removeprefix(start).partition("]")[0]
    return [part for part in text.split('"')[1::2] if part]


def default(host: Host) -> str:
    """Return the default runtime."""
    return next(_texts(_merged(host), "default_runtime"), "crun")


def model(host: Host) -> Model:
    """Return what our runtime takes over."""
    lines, name = _merged(host), default(host)
    if name == RUNTIME:
        has_crun = any(f"[{TABLE}crun]" in line for line in lines)
        name = "crun" if has_crun else "runc"
    section = _section(lines, f"[{TABLE}{name}]")
    monitor = next(_texts(section, "monitor_path"), "")
    paths = [path for path in _texts(section, "runtime_path") if path[:1] == "/" and path != "/"]
    return Model(monitor, _list(section, "allowed_annotations"), paths)


def _section(lines: list[str], header: str) -> list[str]:
    if header not in lines:
        return []
    first = lines.index(header) + 1
    last = next((at for at in range(first, len(lines)) if lines[at].startswith("[")), len(lines))
    return lines[first:last]


def paths(host: Host) -> list[str]:
    """Return runtimes that the toolkit's own runtime must find, where CRI-O is in use."""
    return model(host).paths if host.has("crio") else []


def text(host: Host) -> str:
    """Return our drop-in (CTK-12, CTK-14)."""
    like, table = model(host), host.own("crio_table", f"[{TABLE}{RUNTIME}]")
    default_table = f'[crio.runtime]\ndefault_runtime = "{RUNTIME}"\n\n'
    monitor = f'monitor_path = "{like.monitor}"\n' if like.monitor else ""
    return (
        f"{HEADER}{default_table if host.option('default_runtime') else ''}"
        f'{table}\nruntime_path = "{BINARY}"\nruntime_type = "oci"\n{monitor}'
        f"allowed_annotations = {json.dumps(like.annotations)}\n"
    )


def is_known(host: Host) -> bool:
    """Tell whether CRI-O accepts its configuration and has our runtime in it."""
    answer = host.said("crio_config")
    data: Any = toml_text.parsed(answer["out"])
    for name in (*TABLE.rstrip(".").split("."), RUNTIME):
        data = data.get(name) if isinstance(data, dict) else None
    path = data.get("runtime_path") if isinstance(data, dict) else None
    is_default = default(host) == RUNTIME
    return (
        answer["rc"] == 0 and path == BINARY and is_default == bool(host.option("default_runtime"))
    )


def is_old(host: Host) -> bool:
    """Tell whether CRI-O does not run, or came up before its drop-in (CTK-19)."""
    changed = float(host.file(host.option("crio_dropin")).get("mtime", 0))
    return UNIT not in host.running or host.is_older(UNIT, changed)


def is_due(host: Host) -> bool:
    """Tell whether anything is to do."""
    if not host.has("crio"):
        return False
    is_written = host.text(host.option("crio_dropin")) == text(host)
    return not is_written or is_old(host) or not is_known(host)


def faults(host: Host) -> list[str]:
    """Say why the host is refused."""
    if not host.has("crio") or not host.is_told("crio"):
        return []
    if host.said("crio")["rc"] != 0:
        return ["CTK-06: crio does not run here; install CRI-O first"]
    if host.said("crio_config")["rc"] != 0:
        words = host.said("crio_config")["err"][-600:].strip()
        return [f"CTK-14: CRI-O refuses its configuration: {words}"]
    return []


def part(host: Host) -> dict[str, Any]:
    """Return what tasks need to know."""
    if not host.has("crio"):
        return {"due": False}
    complaint = (
        ""
        if is_known(host)
        else "CTK-14: our runtime is not in CRI-O's merged configuration "
        f"{host.said('crio_config')['err'][-600:]}"
    )
    return {
        "due": is_due(host),
        "text": text(host),
        "is_old": is_old(host),
        "runs": UNIT in host.running,
        "complaint": complaint,
    }

# Copyright: the gpugen authors. Apache-2.0.
"""A host of the control plane that is just as its spec says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import texts
from .host import UNKNOWN, files_of

PLAIN: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
    "spec": {"containers": [{"name": "kube-scheduler", "command": ["kube-scheduler"]}]},
}


def described(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a host whose scheduler runs with our file."""
    files, text = files_of(wanted), texts.configuration(wanted, {})
    pod = texts.to_yaml(texts.with_file(PLAIN, files.config, text))
    flag = pod if wanted["kube_scheduler_mode"] == "static-pod" else texts.setting(wanted)
    found = {files.config: text, files.patch: texts.patch(wanted), files.flag: flag}
    runs = {
        "pid": 1,
        "flags": {"config": files.config},
        "program": "/proc/1/exe",
        "version": f"{wanted['kube_scheduler_version']}.0",
        "missing": "",
        "has_kubeconfig": True,
    }
    return {
        "files": {path: {"text": found[path], "mtime": 0} for path in files.watched},
        "globs": {path: [path] for path in files.folders},
        "schedulers": {"own": {**UNKNOWN, **runs}},
    }

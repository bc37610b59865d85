# Copyright: the gpugen authors. Apache-2.0.
"""What a host has of its scheduler: what is asked, and what the answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..common import seen as answers
from ..common.packages import without
from . import texts

Seen = Mapping[str, Any]
Wanted = Mapping[str, Any]
IMAGE_FOLDER = "/run/gpugen-kube-scheduler"
IMAGE_PROGRAM = f"{IMAGE_FOLDER}/usr/local/bin/kube-scheduler"
UNKNOWN: dict[str, Any] = {  # plugins/module_utils/scheduler.py tells what these mean
    "pid": 0,
    "flags": {},
    "program": "",
    "version": "",
    "missing": "no main kube-scheduler runs",
    "clashes": [],
    "has_kubeconfig": False,
    "is_stale": False,
}


class Files(NamedTuple):
    """Where a host has what is ours, or names it; empty where it has none."""

    config: str
    flag: str
    patch: str
    folders: list[str]  # that are made where they are missing
    own_folder: str
    drop_ins: str
    watched: list[str]


class Host(NamedTuple):
    """How the scheduler of a host runs, beside what it should have."""

    files: Files
    now: Mapping[str, Any]
    text: str  # expected
    flag_text: str  # expected
    patch_text: str  # expected
    found: str
    flag_found: str
    manifest: dict[str, Any]  # of a static pod
    missing_folders: list[str]
    is_named: bool
    file_due: bool
    flag_due: bool
    patch_due: bool
    restart_due: bool
    lost_file: bool  # the flag names a file that is gone, or is not ours any more

    @property
    def named(self) -> str:
        """The configuration that the scheduler runs with."""
        return str(self.now["flags"].get("config", ""))

    @property
    def due(self) -> bool:
        """Whether anything is to be changed."""
        return self.file_due or self.flag_due or self.patch_due or self.restart_due


def questions(wanted: Wanted, seen: Seen) -> dict[str, Any]:
    """Ask how the scheduler runs; that it reads the configuration where it would be written."""
    files = files_of(wanted)
    asked: dict[str, Any] = {
        "files": files.watched,
        "globs": [*files.folders, f"{files.drop_ins}/*", IMAGE_PROGRAM],
        "schedulers": {"own": ask(wanted)},
        "commands": {},
    }
    if seen and wanted["state"] == "present":
        asked["commands"] = _reading(read(seen, wanted), wanted)
    return asked


def ask(wanted: Wanted, **more: Any) -> dict[str, Any]:
    """Return the question how the scheduler runs; wait: seconds until it has to be healthy."""
    is_drop_in = wanted["kube_scheduler_mode"] == "drop-in"
    folder = str(PurePosixPath(wanted["kube_scheduler_flag_file"]).parent)
    return {
        "unit": wanted["kube_scheduler_unit"],
        "in_process": wanted["kube_scheduler_in_process"],
        "file": wanted["kube_scheduler_file"],
        "kubeconfig": kubeconfig(wanted),
        "own": wanted["kube_scheduler_flag_file"] if is_drop_in else "",
        "others": [f"{folder}/*.yaml", folder.removesuffix(".d")] if is_drop_in else [],
        "kubectl": wanted["kube_scheduler_kubectl"],
        "wait": wanted.get("__kube_scheduler_wait", 0),
        **more,
    }


def kubeconfig(wanted: Wanted) -> str:
    """Return the file by which the scheduler is to reach the API server, without its flags."""
    return str(wanted["kube_scheduler_configuration"]["clientConnection"]["kubeconfig"])


def files_of(wanted: Wanted) -> Files:
    """Return the files of a host by what its spec says."""
    mode, config = wanted["kube_scheduler_mode"], wanted["kube_scheduler_file"]
    flag, patches = wanted["kube_scheduler_flag_file"], wanted["kube_scheduler_patch_folder"]
    folder, drop_ins = PurePosixPath(config).parent, str(PurePosixPath(flag).parent)
    own = str(folder) if folder.name == "gpugen" else ""
    patch = f"{patches}/kube-scheduler+json.json" if patches else ""
    folders = [
        own,
        patches if mode == "static-pod" else "",
        drop_ins if mode == "drop-in" else "",
    ]
    watched = [config, patch, "" if mode == "reported" else flag]
    return Files(
        config=config,
        flag=flag,
        patch=patch,
        folders=[path for path in folders if path],
        own_folder=own,
        drop_ins=drop_ins,
        watched=[path for path in watched if path],
    )


def now(seen: Seen) -> dict[str, Any]:
    """Return how the scheduler runs."""
    return {**UNKNOWN, **seen.get("schedulers", {}).get("own", {})}


def read(seen: Seen, wanted: Wanted) -> Host:
    """Return how the scheduler runs, beside what it should have."""
    mode, files, found = wanted["kube_scheduler_mode"], files_of(wanted), now(seen)
    text = texts.configuration(wanted, found["flags"])
    flag_found = answers.text(seen, files.flag)
    own = texts.manifest(flag_found) if mode == "static-pod" else {}
    made = texts.with_file(own, files.config, text) if mode == "static-pod" else {}
    flag_text = {
        "static-pod": texts.to_yaml(made),
        "drop-in": texts.setting(wanted),
        "reported": "",
    }[mode]
    flag_due = own != made or (mode == "drop-in" and flag_found != flag_text)
    patch_text = texts.patch(wanted) if mode == "static-pod" else ""
    is_named = mode != "reported" or found["flags"].get("config") == files.config
    file_due = answers.text(seen, files.config) != text
    has_restart = bool(wanted["kube_scheduler_unit"]) and is_named
    return Host(
        files=files,
        now=found,
        text=text,
        flag_text=flag_text,
        patch_text=patch_text,
        found=answers.text(seen, files.config),
        flag_found=flag_found,
        manifest=own,
        missing_folders=without(files.folders, _paths(seen)),
        is_named=is_named,
        file_due=file_due,
        flag_due=flag_due,
        patch_due=bool(files.patch) and answers.text(seen, files.patch) != patch_text,
        # A restart is due where a file of ours is newer than the unit that has read it (GEN-10).
        restart_due=has_restart and (file_due or flag_due or found["is_stale"]),
        lost_file=files.config in flag_found and file_due,
    )


def _paths(seen: Seen) -> list[str]:
    return [path for paths in seen.get("globs", {}).values() for path in paths]


def _reading(own: Host, wanted: Wanted) -> dict[str, Any]:
    """Let the program of the scheduler that runs, or of its image, read the configuration.

    From its standard input, before it is written (DIST-13).
    """
    has_image = wanted.get("__kube_scheduler_has_image", False)
    program = IMAGE_PROGRAM if has_image else own.now["program"]
    able = has_image or (program and own.now["has_kubeconfig"])
    if not able or not (own.file_due or own.flag_due):
        return {}
    gates = own.now["flags"].get("feature-gates")
    argv = [program, "--config=/dev/stdin", "--secure-port=0", "--write-config-to=/dev/null"]
    argv += [] if gates is None else [f"--feature-gates={gates}"]
    return {"reading": {"argv": argv, "stdin": own.text}}

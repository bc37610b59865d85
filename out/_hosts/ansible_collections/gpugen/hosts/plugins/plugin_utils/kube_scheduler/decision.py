# Copyright: the gpugen authors. Apache-2.0.
"""What is due on a host of the control plane, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..common import seen as answers
from . import texts
from .host import IMAGE_FOLDER, IMAGE_PROGRAM, Host, Seen, Wanted, ask, kubeconfig, read

PLAIN = re.compile(r"[IW]\d{4} ")  # a line of the log that tells of no error
ERROR = re.compile(r'[EF]\d{4} .*? err="(.*)"')


def decide(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Decide which files and which restart are due, and what a failure restores."""
    own = read(seen, wanted)
    present = wanted["state"] == "present"
    words = wanted["kube_scheduler_interrupts"]
    interrupts = [words] if present and own.restart_due and words else []
    faults = _faults(own, seen, wanted, interrupts) if present else _kept(own, wanted)
    return {
        "faults": list(faults),
        "shortfalls": list(_shortfalls(own, wanted)) if present else [],
        "interrupts": interrupts,
        "reboot_due": False,
        **(_steps(own, wanted) if present else NO_STEPS),
        **_rollback(own, seen, wanted),
        **_removal(own, seen, wanted, present),
        "is_named": own.is_named,
        "is_mounted": bool(answers.found(seen, IMAGE_PROGRAM)),
        **_image(wanted),
        "asks": _asks(own, wanted),
    }


NO_STEPS: dict[str, Any] = {
    "due": False,
    "folders": [],
    "files": [],
    "restart_due": False,
    "wait_due": False,
    "image_due": False,
}


def _steps(own: Host, wanted: Wanted) -> dict[str, Any]:
    """Return what converge does."""
    files = [
        (own.file_due, own.files.config, own.text, "0644"),
        (own.patch_due, own.files.patch, own.patch_text, "0644"),
        (own.flag_due, own.files.flag, own.flag_text, "0600"),
    ]
    # Check mode makes no folders, so it cannot show files in them.
    hidden = own.missing_folders if wanted["check_mode"] else []
    return {
        "due": own.due,
        "folders": own.missing_folders if own.due else [],
        "files": [
            {"path": path, "content": text, "mode": mode}
            for is_due, path, text, mode in files
            if is_due and path.rpartition("/")[0] not in hidden
        ],
        "restart_due": own.restart_due,
        "wait_due": own.is_named and (own.file_due or own.flag_due or own.restart_due),
        "image_due": bool(wanted["kube_scheduler_in_process"]) and own.file_due,
    }


def _asks(own: Host, wanted: Wanted) -> dict[str, Any]:
    """Return what is waited for after the change, after a rollback, and after the removal."""
    mode, patience = wanted["kube_scheduler_mode"], wanted["kube_scheduler_patience"]
    newest = own.files.flag if mode == "static-pod" else own.files.config
    return {
        "changed": ask(wanted, wait=patience, config=own.files.config, after=[newest]),
        "restored": ask(wanted, wait=patience, config=own.named, after=[]),
        "removed": ask(wanted, wait=patience, config="", after=[]),
    }


def _rollback(own: Host, seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Return what was there before the change, and what was not (GEN-11)."""
    restored = [
        (own.flag_due and bool(own.flag_found), own.files.flag, own.flag_found, "0600"),
        (bool(own.found), own.files.config, own.found, "0644"),
    ]
    new = [path for path in own.files.watched if not answers.exists(seen, path)]
    folders = [] if wanted["kube_scheduler_mode"] == "reported" else own.missing_folders
    return {
        "restored": [
            {"path": path, "content": text, "mode": mode}
            for is_old, path, text, mode in restored
            if own.due and is_old
        ],
        "new_files": [*new, *folders] if own.due else [],
    }


def _removal(own: Host, seen: Seen, wanted: Wanted, present: bool) -> dict[str, Any]:
    """Return what the removal of the role restores, and what it removes."""
    mode, files = wanted["kube_scheduler_mode"], own.files
    is_pod, is_drop_in = mode == "static-pod", mode == "drop-in"
    bare = texts.bare(own.manifest, files.config) if is_pod else {}
    is_alone = answers.found(seen, f"{files.drop_ins}/*") == [files.flag]
    flag_held = own.manifest != bare if is_pod else is_drop_in and bool(own.flag_found)
    folder = [files.drop_ins] if is_drop_in and is_alone else []
    own_folder = [files.own_folder] if files.own_folder else []
    return {
        "flag_held": not present and flag_held,
        "is_static_pod": is_pod,
        "bare": texts.to_yaml(bare) if not present and is_pod else "",
        "leftovers": [files.config, *own_folder, *folder],
    }


def _image(wanted: Wanted) -> dict[str, Any]:
    """Return what mounts the image that brings the program; its store knows a digest alone."""
    name, at, digest = str(wanted["kube_scheduler_image"]).partition("@")
    path, slash, last = name.rpartition("/")
    image = f"{path}{slash}{last.partition(':')[0]}@{digest}" if at else name
    program = wanted["kube_scheduler_in_process"]
    runtime, store = [program, "crictl"], [program, "ctr", "--namespace=k8s.io"]
    return {
        "image_folder": IMAGE_FOLDER,
        "pull": [*runtime, "pull", image],
        "mount": [*store, "images", "mount", image, IMAGE_FOLDER],
        "unmount": [*store, "images", "unmount", "--rm", IMAGE_FOLDER],
    }


def _kept(own: Host, wanted: Wanted) -> Iterator[str]:
    """Return why a file of ours must not be removed."""
    if wanted["kube_scheduler_mode"] == "reported" and own.named == own.files.config:
        yield (
            f"GEN-12: remove {wanted['kube_scheduler_lines']} from {own.files.flag} and restart"
            f" {wanted['kube_scheduler_unit']}, then run this again"
        )


def _faults(own: Host, seen: Seen, wanted: Wanted, interrupts: list[str]) -> Iterator[str]:
    """Return every reason to leave the scheduler alone."""
    yield from _of_running(own, wanted)
    yield from _of_settings(own, wanted)
    may = wanted.get("__kube_scheduler_may_interrupt", False) or wanted["check_mode"]
    if interrupts and not may:
        yield (
            f"DRV-15: {'; '.join(interrupts)}; pass -e gpugen_allow_disruption=true,"
            " or set rollout.allowDisruption"
        )
    if answers.command(seen, "reading")["rc"] and "reading" in seen.get("commands", {}):
        yield f"DIST-13: {_unread(own, seen, wanted)}"


def _of_running(own: Host, wanted: Wanted) -> Iterator[str]:
    """Return what is wrong with the scheduler as it runs, before anything was changed."""
    now, version = own.now, wanted["kube_scheduler_version"]
    is_pod = wanted["kube_scheduler_mode"] == "static-pod"
    if not (now["pid"] or own.lost_file) or (is_pod and not own.manifest):
        yield (
            "GEN-09: no main scheduler runs here by"
            f" {wanted['kube_scheduler_unit'] or own.files.flag}; is this a host of the control"
            " plane (controlPlane.hosts)? Its scheduler must run before it is changed"
        )
    # A scheduler that cannot run because our file is gone is healed, not refused (GEN-10).
    if now["pid"] and now["missing"] and not now["is_stale"] and not own.lost_file:
        yield (
            "GEN-11: the scheduler is not healthy, before anything was changed:"
            f" {now['missing']}; repair it first"
        )
    if now["version"] and ".".join(now["version"].split(".")[:2]) != version:
        yield (
            f"GEN-09: found kube-scheduler {now['version']}, expected {version}"
            " (kubernetes.version in the spec); correct the spec,"
            " or finish the upgrade of this host"
        )


def _of_settings(own: Host, wanted: Wanted) -> Iterator[str]:
    """Return what of the host's own settings does not go with a file."""
    if not own.now["has_kubeconfig"]:
        path = own.now["flags"].get("kubeconfig", kubeconfig(wanted))
        yield f"DIST-10: found no {path}, by which the scheduler is to reach the API server"
    if lost := [name for name in texts.LOST if name in own.now["flags"]]:
        yield (
            f"DIST-10: found the flags {', '.join(lost)}, which have no effect beside a file and"
            f" which this role does not carry over; remove them from {own.files.flag} first"
        )
    if own.named not in ("", own.files.config):
        yield (
            f"GEN-12: the scheduler already runs with {own.named} of somebody else; put the"
            " profiles together there, or remove that flag"
        )
    if own.now["clashes"]:
        yield (
            f"GEN-12: {', '.join(own.now['clashes'])} would replace our flag, or bring another"
            " --config; write kube-scheduler-arg+ there, without config="
        )


def _unread(own: Host, seen: Seen, wanted: Wanted) -> str:
    """Return why a program has not read the configuration."""
    errors = answers.command(seen, "reading")["err"].splitlines()
    lines = [line for line in errors if line and not PLAIN.match(line)]
    last = lines[-1] if lines else "no answer"
    match = ERROR.fullmatch(last)
    words = match[1] if match else last
    if program := wanted["kube_scheduler_in_process"]:
        return (
            f"a wrong file would end the whole {program} server, and the program of"
            f" {wanted['kube_scheduler_image']} has not read this one: {words}"
        )
    return (
        f"kube-scheduler {own.now['version']} of this host does not read the configuration: {words}"
    )


def _shortfalls(own: Host, wanted: Wanted) -> Iterator[str]:
    """Return what is not as it should be (DIST-10, DIST-11)."""
    unit, lines = wanted["kube_scheduler_unit"], wanted["kube_scheduler_lines"]
    flag = own.files.flag
    if own.file_due:
        yield f"DIST-10: {own.files.config} is not what the spec describes"
    if own.flag_due:
        yield f"DIST-10: {flag} does not name it any more; did an upgrade write it anew?"
    if not wanted["kube_scheduler_in_process"] and own.named != own.files.config:
        more = f"; add to {flag}: {lines}, then restart {unit}" if lines else ""
        yield f"DIST-10: the scheduler runs without it{more}"
    if own.now["is_stale"] and own.is_named:
        yield f"GEN-10: {unit} was started before the files were written"
    if own.now["missing"]:
        yield f"DIST-11: {own.now['missing']}"

# Copyright: the gpugen authors. Apache-2.0.
"""Every reason to refuse a host, reported at once, before the first write."""

from __future__ import annotations

from . import crio, docker, locks, packages
from .containerd import Containerd
from .view import LEFTOVER, LOCKS, Host


def faults(known: Containerd) -> list[str]:
    """Say why the host's runtimes cannot learn of the toolkit."""
    host = known.host
    by_mode = {"detect": _of_detect, "merge": _of_merge}
    of_mode = by_mode.get(str(host.option("mode")))
    return [
        *_of_host(host),
        *(of_mode(host) if of_mode else []),
        *(_of_import(known) if host.mode == "import" and host.is_told("containerd") else []),
        *crio.faults(host),
        *docker.faults(host),
    ]


def _of_host(host: Host) -> list[str]:
    found = []
    old, path = packages.old(host), LOCKS
    if old and host.said("kubelet")["out"] and not host.option("can_drain"):
        found.append(
            f"CTK-04: {', '.join(old)} of a former toolkit must leave, the kubelet runs, and"
            " nothing drains the node (nvidia_container_toolkit_can_drain); state"
            " access.kubeconfigContext, or drain it, stop the kubelet, run again"
        )
    if rivals := locks.rivals(host.text(path)):
        found.append(
            f"CTK-03: {path} locks the toolkit too ({', '.join(rivals)});"
            " remove these lines, the role locks by itself"
        )
    if described := host.said("rivals")["out"].splitlines():
        found.append(
            f"CTK-18: {', '.join(described)} describes nvidia.com/gpu a second time, which makes"
            " all its names invalid; remove it, the spec in /var/run/cdi is made at each boot"
        )
    return found


def _of_detect(host: Host) -> list[str]:
    found = []
    if host.paths(LEFTOVER):
        found.append(
            f"DIST-04: {LEFTOVER} is left from a removed GPU Operator and would be found before"
            " the packages; remove it"
        )
    if templates := host.said("templates")["out"].splitlines():
        found.append(
            f"DIST-03: {', '.join(templates)} holds a table of runtime nvidia, which the"
            " distribution makes itself; twice, containerd does not start: remove it there"
        )
    if host.option("default_runtime") and not host.option("default_file"):
        found.append(
            "CTK-12: the distribution takes a default runtime from a file of its own, which must"
            " be named (nvidia_container_toolkit_default_file)"
        )
    return found


def _of_merge(host: Host) -> list[str]:
    found = []
    if host.option("dropin_version") not in {2, 3}:
        found.append(
            "DIST-06: merge needs the version that the distribution takes"
            " (nvidia_container_toolkit_dropin_version)"
        )
    effective = host.option("effective")
    if effective in host.seen.get("files", {}) and not host.text(effective):
        found.append(
            f"CTK-06: {effective} does not exist yet; start the distribution's worker first"
        )
    return found


def _of_import(known: Containerd) -> list[str]:
    host, path, version = known.host, known.host.option("root"), known.root.version
    found = []
    if known.major == 0:
        program = host.own("containerd")
        found.append(f"CTK-06: {program} does not run here; install containerd first")
    if version < 2 and not known.root.fault:
        found.append(
            f"CTK-08: {path} has version {version}; run 'containerd config migrate' and put its"
            " output there"
        )
    if known.major == 1 and version > 2:
        found.append(
            f"CTK-07: {path} has version {version}, which containerd 1.x does not read;"
            " write it as version 2"
        )
    return found + _of_main_file(known)


def _of_main_file(known: Containerd) -> list[str]:
    path, found = known.host.option("root"), []
    if known.root.fault:
        found.append(f"CTK-10: {path} {known.root.fault}")
    if relative := [each for each in known.root.imports if not each.startswith("/")]:
        found.append(
            f"CTK-10: {path} imports {', '.join(relative)} by a relative path; write it absolute"
        )
    if known.bare["rc"] != 0 and not known.root.fault:
        found.append(f"CTK-08: containerd refuses {path}: {known.bare['err'].strip()}")
    has_cdi = "enable_cdi = " in known.section or not known.form.is_full
    if known.form.enable_cdi and not has_cdi:
        found.append(
            "CTK-13: this containerd knows no CDI, which the device list strategy needs; 1.7 is"
            " the first that does"
        )
    return found

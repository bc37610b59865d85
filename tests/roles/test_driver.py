"""What the driver's role decides about hosts in many states, by values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.wanted import wanted as every

DRIVER = load("nvidia_driver")
KERNEL = "6.8.0-87-generic"
SECURE_BOOT = (
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
    {"text": "\x06\0\0\0\x01", "mtime": 1.0},
)
RECORD = "/var/lib/misc/gpugen-nvidia-driver.json"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (x)\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Tue Nov 18 15:09:37 UTC 2025\n"
LOADED = "/proc/driver/nvidia/version"
NEW, OLD = "580.142", "580.105.08"
INSTALLER = {"url": "https://mirror.lab.example/x.run", "sha256": "0" * 64}
WANTS = {
    "nvidia_driver_version": NEW,
    "nvidia_driver_packages": ["nvidia-open"],
    "nvidia_driver_expected_gpus": 2,
}
DRAINS = {"nvidia_driver_can_drain": True}


OFFERED = f" nvidia-open | {NEW}-1 | x\n"


def file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 1.0}


def at(version: str, *names: str) -> dict[str, Any]:
    return {name: {"version": f"{version}-1", "held": True} for name in names}


def bound(*drivers: str) -> str:
    """Return what the kernel says of a board of InfiniBand and of GPUs, bound or not."""
    gpus = (
        (f"DRIVER={driver}\n" if driver else "")
        + "PCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SUBSYS_ID=10DE:16C1\n"
        + f"PCI_SLOT_NAME=0000:{n}8:00.0\n"
        + "MODALIAS=pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00\n"
        for n, driver in enumerate(drivers, 1)
    )
    other = "DRIVER=vfio-pci\nPCI_CLASS=20700\nPCI_ID=15B3:1021\nPCI_SLOT_NAME=0000:09:00.0\n"
    return other + "".join(gpus)


def module(name: str) -> dict[str, Any]:
    return {"globs": {f"/sys/module/{name}": [f"/sys/module/{name}"]}}


def probe(**parts: Any) -> dict[str, Any]:
    """Return what the probe finds on a fresh host. parts: merged into each kind of answer."""
    unit = {"LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled"}
    outputs = {
        **dict.fromkeys(("kubelet", "smi", "switches", "dkms", "old_images", "unit"), ""),
        "key_of_shim": "",
        "key_of_dkms": "",
        "pci": bound("nvidia", "nvidia"),
        "kernel": f"{KERNEL}\n",
        "df": "Avail\n90000\n900\n",
        "offers": OFFERED,
        **parts.get("out", {}),
    }
    files = {
        **dict.fromkeys((LOADED, RECORD, SECURE_BOOT[0])),
        "/etc/modprobe.d/gpugen-nvidia.conf": None,
        "/etc/modules-load.d/gpugen-nvlink5.conf": None,
        "/etc/apt/preferences.d/gpugen-nvidia-driver": None,
    }
    return {
        "host": {
            "os_release": "ID=ubuntu\n",
            "kernel": KERNEL,
            "pkg_mgr": parts.get("manager", "apt"),
        },
        "users": parts.get("users", {}),
        "urls": parts.get("urls", {}),
        "files": {**files, **parts.get("files", {})},
        "globs": {"/boot/init*": ["/boot/initrd.img-1"], **parts.get("globs", {})},
        "packages": dict(parts.get("packages", {})),
        "units": {"nvidia-persistenced.service": unit, **parts.get("units", {})},
        "commands": {
            name: {"rc": 0 if text or name != "smi" else 9, "out": text, "err": ""}
            for name, text in outputs.items()
        },
    }


RUNS_OLD = {
    "files": {LOADED: file(OPEN.format(OLD))},
    "packages": at(OLD, "nvidia-open"),
    "out": {"smi": f"{OLD}, Enabled\n{OLD}, Enabled\n"},
}
RUNS_NEW = {
    "files": {LOADED: file(OPEN.format(NEW))},
    "packages": at(NEW, "nvidia-open"),
    "out": {"smi": f"{NEW}, Enabled\n{NEW}, Enabled\n"},
}
APPS = {
    "users": {"gpus": [{"pid": 7, "name": "python3"}]},
    "out": {**RUNS_OLD["out"], "apps": "42\n"},
}
AGENTS = {"gpus": [{"pid": 7, "name": "nvidia-persiste"}]}
METHOD = "nvidia_driver_method"
KUBELET = {"out": {**RUNS_OLD["out"], "kubelet": "socket"}}
ARCHIVE = {METHOD: "distro", "nvidia_driver_packages": ["nvidia-headless-580-server-open"]}
BUILT = {**ARCHIVE, METHOD: "precompiled", "nvidia_driver_secure_boot": "signed"}
BY_INSTALLER = {METHOD: "runfile", "nvidia_driver_runfile": INSTALLER}
OURS = {RECORD: file(json.dumps({"method": "runfile", "version": OLD}))}
UNINSTALLER = {"globs": {"/usr/bin/nvidia-uninstall": ["/usr/bin/nvidia-uninstall"]}}

# state -> what the probe finds, variables, beginnings of the faults
STATES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "fresh": ({}, {}, []),
    "unbound": ({"out": {"pci": bound("", "")}}, {}, []),
    "nouveau": ({"out": {"pci": bound("nouveau", "nouveau")}, **module("nouveau")}, {}, []),
    "nova": ({"out": {"pci": bound("NovaCore", "NovaCore")}, **module("nova_core")}, {}, []),
    "nova-in-the-kernel": (
        {"out": {"pci": bound("NovaCore", "")}},
        {},
        ["DRV-09: GPUs are bound to another driver (NovaCore 0000:18:00.0);"],
    ),
    "given-to-guests": (
        {"out": {"pci": bound("nvidia", "vfio-pci")}},
        {},
        ["DRV-09: GPUs are bound to another driver (vfio-pci 0000:28:00.0);"],
    ),
    "given-to-guests-by-an-image": (
        {"out": {"pci": bound("vfio-pci", "vfio-pci")}},
        {METHOD: "none"},
        ["DRV-09: GPUs are bound to another driver (vfio-pci 0000:18:00.0, vfio-pci 0000:28:00.0)"],
    ),
    "no-version": ({}, {"nvidia_driver_version": "580"}, ["DRV-02: vendor needs an exact"]),
    "option": (
        {},
        {"nvidia_driver_module_options": {"NVreg_x": 'a "b'}},
        ["DRV-10: a module option is not of the form"],
    ),
    "dgx": ({"globs": {"/etc/dgx-release": ["x"]}}, {}, ["PRE-03: the host runs DGX OS"]),
    "secure-boot": (
        {"files": dict([SECURE_BOOT])},
        {},
        ["DRV-11: Secure Boot is on, and the spec"],
    ),
    "secure-boot-dkms": (
        {"files": dict([SECURE_BOOT])},
        {"nvidia_driver_secure_boot": "signed"},
        ["DRV-11: Secure Boot is on, and modules that DKMS builds are not signed"],
    ),
    "secure-boot-signed": ({"files": dict([SECURE_BOOT])}, BUILT, []),
    "secure-boot-key": ({"files": dict([SECURE_BOOT])}, {"nvidia_driver_secure_boot": "mok"}, []),
    "installer-of-others": (UNINSTALLER, {}, ["DRV-24: a driver of the .run installer is present"]),
    "installer-again": ({**UNINSTALLER, "files": OURS}, BY_INSTALLER, []),
    "installer-nameless": ({}, {METHOD: "runfile"}, ["DRV-22: runfile needs the installer's"]),
    "installer-gone": (
        {"urls": {INSTALLER["url"]: {"status": 404, "msg": "Not Found"}}},
        BY_INSTALLER,
        ["DRV-26: https://mirror.lab.example/x.run cannot be had: Not Found"],
    ),
    "installer-beside-packages": (
        {"packages": at(NEW, "nvidia-open")},
        BY_INSTALLER,
        ["DRV-24: driver packages of a repository are installed (nvidia-open)"],
    ),
    "other-method": (
        {"files": {RECORD: file('{"method": "distro", "version": "580.95.05"}')}},
        {},
        ["DRV-24: this driver was installed by method distro"],
    ),
    "archive-beside-vendor": (
        {"packages": at("535.161.08", "nvidia-driver-535-server")},
        {},
        ["DRV-24: driver packages of the distribution's archive are installed"],
    ),
    "vendor-beside-archive": (
        {"packages": at(OLD, "nvidia-open")},
        {**ARCHIVE, "nvidia_driver_packages": ["nvidia-open"]},
        ["DRV-24: driver packages of the vendor's repository are installed (nvidia-open)"],
    ),
    "nobody's": (
        {"files": {LOADED: file(CLOSED.format(OLD))}},
        {},
        ["DRV-24: driver 580.105.08 is loaded, but no package owns it"],
    ),
    "container": (
        {"globs": {"/run/nvidia/driver/usr": ["x"]}},
        {},
        ["DRV-25: a driver container owns this node"],
    ),
    "pinned": (
        {"packages": at(OLD, "nvidia-driver-pinning-580")},
        {},
        ["DRV-03: nvidia-driver-pinning-580 pins the driver too"],
    ),
    "full": (
        {"out": {"df": "Avail\n100\n10\n"}},
        {},
        ["PRE-03: 100 MiB free below /, expected 5120", "PRE-03: 10 MiB free below /boot"],
    ),
    "full-and-done": ({**RUNS_NEW, "out": {**RUNS_NEW["out"], "df": "A\n1\n1\n"}}, {}, []),
    "not-offered": (
        {**RUNS_OLD, "out": {**RUNS_OLD["out"], "offers": " nvidia-open | 580.200-1 | x\n"}},
        {},
        ["DRV-26: the configured repositories do not offer 580.142 of nvidia-open; they offer"],
    ),
    "not-named-yet": (
        {**RUNS_OLD, "out": {**RUNS_OLD["out"], "offers": ""}},
        {"gpu_prerequisites_repositories": [{"name": "own"}]},
        [],
    ),
    "node": ({**RUNS_OLD, **KUBELET}, {}, ["DRV-15: the installed driver is not 580.142"]),
    "node-that-drains": ({**RUNS_OLD, **KUBELET}, DRAINS, []),
    "busy": (
        {**RUNS_OLD, **APPS},
        {},
        ["DRV-13: processes 42 compute on the GPUs, and processes 7 have /dev/nvidia* open"],
    ),
    "busy-waits": (
        {**RUNS_OLD, **APPS},
        {"nvidia_driver_in_use": "wait"},
        [],
    ),
    "busy-node": (
        {**RUNS_OLD, **APPS, "out": {**APPS["out"], "kubelet": "socket"}},
        DRAINS,
        [],
    ),
    "agents": ({**RUNS_OLD, "users": AGENTS}, {}, []),
    "image": ({"globs": {"/etc/dgx-release": ["x"]}, **UNINSTALLER}, {METHOD: "none"}, []),
}
# state -> why the host must be empty first, and whether it must reboot
WORK = {
    "fresh": ([], False),
    "full-and-done": ([], False),
    "agents": (["driver 580.105.08 -> 580.142"], True),
    "image": ([], False),
}

KEY = "/var/lib/dkms/mok.pub"
DKMS = f"nvidia/{NEW}, {KERNEL}, x86_64: installed\n"
ENROLLED = {"key_of_shim": "", "key_of_dkms": f"{KEY} is already enrolled\n"}
# The new set is installed and built, and the former module is loaded.
INSTALLED = {
    **RUNS_NEW,
    "files": RUNS_OLD["files"],
    "out": {"smi": "Driver/library version mismatch", "dkms": DKMS},
}
SECURE = {
    **INSTALLED,
    "files": {**INSTALLED["files"], **dict([SECURE_BOOT])},
    "packages": {**INSTALLED["packages"], "mokutil": {"version": "0.6.0-2", "held": False}},
}
ENABLED = {"LoadState": "loaded", "ActiveState": "inactive", "UnitFileState": "enabled"}
MIG = {"units": {"nvidia-mig-manager.service": ENABLED}}
RELOAD = {"nvidia_driver_activation": "reload"}
MOK = {**RELOAD, "nvidia_driver_secure_boot": "mok"}
# what the probe finds, variables, whether modules are reloaded
RELOADS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "asked-for": (INSTALLED, RELOAD, True),
    "by-default": (INSTALLED, {}, False),
    "check-mode": (INSTALLED, {**RELOAD, "check_mode": True}, False),
    "as-wanted": (RUNS_NEW, RELOAD, False),
    "not-installed-yet": (RUNS_OLD, RELOAD, False),
    "nothing-loaded": ({**INSTALLED, "files": {}}, RELOAD, False),
    "not-built": ({**INSTALLED, "out": {"dkms": f"nvidia/{NEW}: added\n"}}, RELOAD, False),
    "nouveau": (
        {**INSTALLED, "globs": {"/sys/module/nouveau": ["/sys/module/nouveau"]}},
        RELOAD,
        False,
    ),
    "new-kernel": (INSTALLED, {**RELOAD, "__nvidia_driver_awaits_kernel": True}, False),
    "after-a-reboot": (INSTALLED, {**RELOAD, "__nvidia_driver_may_reload": False}, False),
    "key-waits": ({**SECURE, "globs": {KEY: [KEY]}}, MOK, False),
    "key-enrolled": (
        {**SECURE, "globs": {KEY: [KEY]}, "out": {**INSTALLED["out"], **ENROLLED}},
        MOK,
        True,
    ),
    "mig-follows": ({**INSTALLED, **MIG}, RELOAD, True),
    "mig-stays-behind": (
        {**INSTALLED, **MIG},
        {**RELOAD, "__nvidia_driver_mig_follows": False},
        False,
    ),
    "verified-only": (INSTALLED, {**RELOAD, METHOD: "none"}, False),
}
NOTE = "/var/lib/misc/gpugen-nvidia-driver-stopped.json"


def wanted(own: dict[str, Any]) -> dict[str, Any]:
    """Return all variables of a host whose lists of packages are fresh."""
    return {**every(), **WANTS, "__nvidia_driver_lists_are_fresh": True, **own}


def decided(found: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the decision about a host, which is data."""
    decision: dict[str, Any] = DRIVER.decide(probe(**found), wanted(own))
    assert json.loads(json.dumps(decision)) == decision
    return decision


@pytest.mark.parametrize("state", STATES)
def test_a_host_is_refused_for_the_right_reason(state: str) -> None:
    """DRV-02, 03, 10, 11, 13, 14, 15, 24, 25, 26 and PRE-03, each with and without its reason."""
    found, own, expected = STATES[state]
    faults = decided(found, own)["faults"]
    assert len(faults) == len(expected), faults
    for fault, start in zip(faults, expected, strict=True):
        assert fault.startswith(start), fault


@pytest.mark.parametrize("state", WORK)
def test_what_must_be_empty_first(state: str) -> None:
    """DRV-15, DRV-16."""
    decision = decided(*STATES[state][:2])
    assert (decision["interrupts"], decision["reboot_due"]) == WORK[state]


def test_a_good_driver_passes() -> None:
    """DRV-21."""
    assert decided(*STATES["full-and-done"][:2])["shortfalls"] == []
    told = decided(*STATES["agents"][:2])["shortfalls"]
    assert told[0] == "DRV-16: reboot due: driver 580.105.08 is loaded"


@pytest.mark.parametrize("state", RELOADS)
def test_modules_are_reloaded_where_a_boot_would_bring_no_more(state: str) -> None:
    """DRV-17: not by default, and not where nouveau, a kernel or a key asks for a boot."""
    found, own, is_due = RELOADS[state]
    decision = decided(found, own)
    assert decision["reload_due"] is is_due
    assert decision["reboot_due"] is (state not in {"as-wanted", "nothing-loaded", "verified-only"})


def test_a_failed_reload_leaves_a_reboot_due() -> None:
    """DRV-17: also where nothing is loaded any more."""
    own = {"__nvidia_driver_reload_failed": True}
    assert decided({**INSTALLED, "files": {}}, own)["reboot_due"] is True


def test_what_was_stopped_is_started_by_whichever_run_comes_next() -> None:
    """DRV-17, GEN-10: the note of an interrupted run is all that differs from a finished host."""
    noted = {NOTE: file(json.dumps({"units": ["nvidia-dcgm.service"]}))}
    interrupted = {**RUNS_NEW, "files": {**RUNS_NEW["files"], **noted}}
    assert decided(RUNS_NEW, {})["start_due"] is False
    assert decided(interrupted, {})["start_due"] is True


def test_what_runs_is_noted_beside_what_an_interrupted_run_stopped() -> None:
    """DRV-17: the driver's own services and those that hold the GPUs beside them."""
    noted = {NOTE: file(json.dumps({"units": ["nvidia-dcgm.service"]}))}
    units = {"nvidia-dcgm.service": {"LoadState": "loaded", "ActiveState": "inactive"}}
    found = {**INSTALLED, "files": {**INSTALLED["files"], **noted}, "units": units}
    note = decided(found, {})["units"]["note"]
    expected = ["nvidia-dcgm.service", "nvidia-persistenced.service"]
    assert json.loads(note["content"])["units"] == expected


LEAN = {
    "nvidia_driver_packages": ["nvidia-headless-580-open", "libnvidia-encode-580"],
    "nvidia_driver_complete_packages": ["nvidia-open-580"],
}
SETS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "complete": ({"packages": at(NEW, "nvidia-open-580")}, LEAN, []),
    "small": ({"packages": at(NEW, *LEAN["nvidia_driver_packages"])}, LEAN, []),
    "half": ({"packages": at(NEW, "libnvidia-encode-580")}, LEAN, ["nvidia-headless-580-open"]),
    "complete-of-another": (
        {"packages": at(OLD, "nvidia-open-580")},
        LEAN,
        ["nvidia-open-580", *LEAN["nvidia_driver_packages"]],
    ),
    "without-fabric": (
        {"packages": at(NEW, "nvidia-open-580"), "out": {"switches": "switch"}},
        {**LEAN, "nvidia_driver_fabric_packages": ["nvidia-fabricmanager"]},
        ["nvidia-fabricmanager"],
    ),
}


@pytest.mark.parametrize("state", SETS)
def test_a_host_with_the_complete_set_at_its_version_keeps_it(state: str) -> None:
    """DRV-04: a release that installs less takes nothing away, and adds nothing."""
    found, own, missing = SETS[state]
    decision = decided(found, own)
    assert decision["packages_due"] is bool(missing)
    told = f"DRV-02: not all of the driver is installed at {NEW}: {', '.join(missing)}"
    assert (told in decision["shortfalls"]) is bool(missing)


@pytest.mark.parametrize("is_lean", [False, True])
def test_recommended_packages_come_unless_the_release_keeps_them_away(*, is_lean: bool) -> None:
    own = {"gpu_prerequisites_install_recommends": False} if is_lean else {}
    assert ("--no-install-recommends" in decided({}, own)["packages"]["change"]) is is_lean

"""What the driver's role asks, and how it does what is due, by values: apt, dnf, the installer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.wanted import wanted as every

DRIVER, LOCKS = load("nvidia_driver"), load("nvidia_driver.locks")
NEW, OLD = "580.142", "580.105.08"
KERNEL = "6.8.0-87-generic"
EL_KERNEL = "5.14.0-503.14.1.el9_5.x86_64"
PIN = "/etc/apt/preferences.d/gpugen-nvidia-driver"
LOCK_FILE = "/etc/dnf/plugins/versionlock.list"
STREAM_FILE = "/etc/dnf/modules.d/nvidia-driver.module"
RECORD = "/var/lib/misc/gpugen-nvidia-driver.json"
LOADED = "/proc/driver/nvidia/version"
RUNFILE = {
    "nvidia_driver_method": "runfile",
    "nvidia_driver_runfile": {"url": "https://mirror.lab.example/x.run", "sha256": "0" * 64},
}
DEBIANS = {
    "gpu_prerequisites_os": "debian-12",
    "nvidia_driver_method": "distro",
    "nvidia_driver_packages": ["nvidia-driver"],
}
STREAM = {"nvidia_driver_stream": "nvidia-driver:580-open"}


def wanted(**own: Any) -> dict[str, Any]:
    known = {
        "nvidia_driver_version": NEW,
        "nvidia_driver_packages": ["nvidia-open"],
        "nvidia_driver_expected_gpus": 2,
    }
    return {**every(), **known, **own}


def file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 1.0}


def said(out: str, rc: int = 0, err: str = "") -> dict[str, Any]:
    return {"rc": rc, "out": out, "err": err}


def loaded(version: str) -> dict[str, Any]:
    text = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build\n"
    return {LOADED: file(text)}


def host(manager: str = "apt", **parts: Any) -> dict[str, Any]:
    """Return the answers of a host that runs. parts: kinds of answers, commands by their output."""
    kernel = EL_KERNEL if manager == "dnf" else KERNEL
    commands = {name: said(out) for name, out in parts.pop("out", {}).items()}
    seen = {
        "host": {"os_release": "ID=x\n", "kernel": kernel, "pkg_mgr": manager},
        "commands": {"kernel": said(f"{kernel}\n"), **commands, **parts.pop("commands", {})},
    }
    return {**seen, **parts}


def package(version: str, *, held: bool = True) -> dict[str, Any]:
    return {"version": version, "held": held}


OLD_ONE = {"packages": {"nvidia-open": package(f"{OLD}-1")}, "files": loaded(OLD)}


def test_a_host_as_described_is_asked_once_and_left_alone() -> None:
    """GEN-04: whatever the method, and on either family."""
    variants: tuple[dict[str, Any], ...] = (
        {},
        {"nvidia_driver_method": "none"},
        RUNFILE,
        {"nvidia_driver_module_options": {"NVreg_b": 1, "NVreg_A": "x"}},
        {"nvidia_driver_nvlink5_packages": ["nvlsm"], "nvidia_driver_fabric_packages": ["fm"]},
        {"gpu_prerequisites_os": "rocky-9", **STREAM},
        {"gpu_prerequisites_os": "rocky-10"},
        DEBIANS,
    )
    for own in variants:
        variables = wanted(**own)
        seen = DRIVER.described(variables)
        decision = DRIVER.decide(seen, variables)
        quiet = {key: decision[key] for key in ("faults", "shortfalls", "interrupts")}
        assert quiet == {"faults": [], "shortfalls": [], "interrupts": []}, (own, decision)
        assert not decision["due"], (own, decision)
        assert not decision["reboot_due"]
        assert DRIVER.questions(variables, seen) == DRIVER.questions(variables, {})


def test_another_version_of_what_is_described_is_told_without_a_probe() -> None:
    old = DRIVER.described(wanted(nvidia_driver_version=OLD))
    decision = DRIVER.decide(old, wanted())
    assert decision["interrupts"] == [f"driver {OLD} -> {NEW}"]
    assert decision["due"]
    assert decision["packages_due"]


def test_nothing_known_is_a_fresh_host() -> None:
    decision = DRIVER.decide({}, wanted())
    assert decision["faults"] == []
    assert decision["interrupts"] == []
    assert decision["due"]
    removed = DRIVER.decide({}, wanted(state="absent"))
    assert (removed["due"], removed["faults"], removed["removal"]) == (False, [], {})


def test_offers_and_users_are_asked_in_front_of_a_change_only() -> None:
    """DRV-14, DRV-26."""
    first = DRIVER.questions(wanted(), {})
    assert "offers" not in first["commands"]
    assert first["users"] == {}
    asked = DRIVER.questions(wanted(), host(**OLD_ONE))
    assert asked["commands"]["offers"] == ["apt-cache", "madison", "nvidia-open"]
    assert asked["users"] == {"gpus": ["/dev/nvidia*"]}
    assert "apps" in asked["commands"]
    fresh = DRIVER.questions(wanted(), host())
    assert "offers" in fresh["commands"]
    assert fresh["users"] == {}
    only_verified = DRIVER.questions(wanted(nvidia_driver_method="none"), host(**OLD_ONE))
    assert only_verified["commands"].keys() == {"kernel", "kubelet", "pci", "smi"}


def test_switches_are_looked_for_where_the_packages_are_stated() -> None:
    """DRV-08: on PCI, behind InfiniBand where they are of NVLink 5."""
    assert "switches" not in DRIVER.questions(wanted(), {})["commands"]
    own = {"nvidia_driver_fabric_packages": ["fm"]}
    on_pci = DRIVER.questions(wanted(**own), {})["commands"]["switches"]
    assert "PCI_CLASS=680[0-9A-F]{2}\\nPCI_ID=10DE:" in on_pci
    own["nvidia_driver_nvlink5_packages"] = ["nvlsm"]
    assert "SW_MNG" in DRIVER.questions(wanted(**own), {})["commands"]["switches"]


OFFER = f"nvidia-open | {NEW}-1 | x\nnvidia-open | {NEW}-1 | y\nnvidia-open | {OLD}-1 | x\n"


def test_apt_simulates_once_the_pin_is_written() -> None:
    """DRV-03: the simulation goes by the pin."""
    offered = host(**OLD_ONE, out={"offers": OFFER})
    assert "simulation" not in DRIVER.questions(wanted(), offered)["commands"]
    lock = DRIVER.decide(offered, wanted())["lock"]
    assert (lock["file"]["path"], lock["hold"]) == (PIN, [])
    offered["files"] = {**offered["files"], PIN: file(lock["file"]["content"])}
    simulation = DRIVER.questions(wanted(), offered)["commands"]["simulation"]
    assert simulation[-3:] == ["--simulate", "install", f"nvidia-open={NEW}-*"]
    not_offered = {**offered, "commands": {**offered["commands"], "offers": said("")}}
    assert "simulation" not in DRIVER.questions(wanted(), not_offered)["commands"]


PLAN = f"""\
Inst nvidia-open [{OLD}-1] ({NEW}-1 x [amd64])
Inst nvidia-firmware ({NEW}-1 x [amd64])
Inst linux-image-6.8.0-90-generic (6.8.0-90 x [amd64])
Remv nvidia-settings [{OLD}-1]
Conf nvidia-open ({NEW}-1 x [amd64])
"""


def test_one_transaction_brings_the_set_and_takes_the_rest_along() -> None:
    """DRV-22, DRV-23: what follows to the version, what goes, and what will be new."""
    packages = {
        **OLD_ONE["packages"],
        "libcuda1": package(f"{OLD}-1"),
        "nvidia-settings": package(f"{OLD}-1"),
        "nvidia-container-toolkit": package("580.1-1"),
    }
    offers = OFFER + f"libcuda1 | {NEW}-1 | x\n"
    seen = host(packages=packages, files=loaded(OLD), out={"offers": offers, "simulation": PLAN})
    decision = DRIVER.decide(seen, wanted())
    own = decision["packages"]
    install = [f"nvidia-open={NEW}-*", f"libcuda1={NEW}-*", "nvidia-settings-"]
    assert own["change"][-4:] == ["install", *install]
    assert own["fetch"][-5:] == ["--download-only", "install", *install]
    assert (own["fault"], own["refused"]) == ("", "")
    assert json.loads(own["record"])["installed"] == ["nvidia-firmware"]
    assert own["former"] == {"files": [], "missing": [PIN]}
    assert own["report"].endswith("; all are offered")
    assert decision["manager"] == "apt"
    assert decision["unfinished"].endswith("purge what is left of the former driver")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (
            said("Remv bash [1]\nPurg nvidia-container-toolkit [1]\n"),
            "DRV-22: apt would remove bash, ",
        ),
        (said("", 100, "E: Unable to correct problems\n"), "E: Unable to correct problems"),
    ],
)
def test_a_transaction_that_cannot_be_is_refused(answer: dict[str, Any], fault: str) -> None:
    seen = host(**OLD_ONE, commands={"offers": said(OFFER), "simulation": answer})
    assert DRIVER.decide(seen, wanted())["packages"]["fault"].startswith(fault)


def test_old_lists_are_refreshed_before_it_is_said_what_they_offer() -> None:
    """DRV-26."""
    seen = host(**OLD_ONE, out={"offers": ""})
    decision = DRIVER.decide(seen, wanted())
    assert decision["lists_due"]
    assert decision["faults"] == []
    assert decision["refresh"][:3] == ["apt-get", "-qq", "update"]
    fresh = DRIVER.decide(seen, wanted(__nvidia_driver_lists_are_fresh=True))
    assert not fresh["lists_due"]
    assert fresh["faults"] == [fresh["packages"]["refused"]]
    checked = DRIVER.decide(seen, wanted(check_mode=True))
    assert not checked["lists_due"]
    assert "not checked, no configured repository offers" in checked["packages"]["report"]
    assert (checked["users_due"], checked["verify_due"]) == (False, False)


def test_modules_of_the_system_follow_kernel_and_flavour() -> None:
    """DRV-11."""
    own = {
        "nvidia_driver_method": "precompiled",
        "nvidia_driver_module_packages": ["linux-modules-nvidia-{kernel}", "linux-m-{flavour}"],
    }
    images = ("linux-image-generic", f"linux-image-{KERNEL}", "linux-image-unsigned-x", "bash")
    seen = host(packages={name: package("6.8") for name in images}, out={"offers": ""})
    every = DRIVER.questions(wanted(**own), seen)["commands"]["offers"][2:]
    assert every == ["nvidia-open", f"linux-modules-nvidia-{KERNEL}", "linux-m-generic"]


def test_tools_of_debian_have_versions_of_their_own() -> None:
    seen = {**host(), "host": {"os_release": "ID=debian\n", "kernel": KERNEL, "pkg_mgr": "apt"}}
    pin = DRIVER.decide(seen, wanted(nvidia_driver_method="distro"))["lock"]["file"]["content"]
    first, second = pin.split("\n\n")
    assert "nvidia-persistenced" not in first
    assert second.endswith("Pin: version 580.*\nPin-Priority: 1001\n")


def test_held_packages_are_held_again() -> None:
    """DRV-04."""
    variables = wanted()
    seen = DRIVER.described(variables)
    seen["packages"]["nvidia-open"] = package(f"{NEW}-1", held=False)
    decision = DRIVER.decide(seen, variables)
    assert decision["lock_due"]
    assert decision["lock"]["hold"] == ["apt-mark", "hold", "nvidia-open"]


EL_OFFERS = f"""\
nvidia-open|3:{NEW}-1.el9
nvidia-open|3:{OLD}-1.el9
libnvidia-ml|3:{NEW}-1.el9
dkms|0:3.0-1.el9
"""
KERNELS = {"kernel-core": package("5.14.0-503.14.1.el9_5"), "kernel-srpm-macros": package("1-1")}


def el(**parts: Any) -> dict[str, Any]:
    packages = {"nvidia-open": package(f"3:{OLD}-1.el9"), **KERNELS, **parts.pop("packages", {})}
    return host("dnf", packages=packages, **{"files": loaded(OLD), **parts})


def test_dnf_locks_and_switches_before_its_transaction() -> None:
    """DRV-05, DRV-06: the whole set with its epoch, and the kernel that modules were built for."""
    seen = el(out={"offers": EL_OFFERS, "stream": "info"})
    decision = DRIVER.decide(seen, wanted(**STREAM))
    own, lock = decision["packages"], decision["lock"]
    assert own["change"] == ["dnf", "-q", "-y", "--allowerasing", "install", f"nvidia-open-3:{NEW}"]
    assert own["fetch"][4:6] == ["--downloadonly", "install"]
    assert own["simulation"]["name"] == [f"nvidia-open-3:{NEW}"]
    assert own["former"] == {"files": [], "missing": [LOCK_FILE, STREAM_FILE]}
    assert LOCKS.found(lock["file"]["content"]) == [
        "kernel-core-0:5.14.0-503.14.1.el9_5.*",
        f"libnvidia-ml-3:{NEW}-*",
        f"nvidia-open-3:{NEW}-*",
    ]
    assert lock["reset"] == ["dnf", "-q", "-y", "module", "reset", "nvidia-driver"]
    assert lock["enable"][-2:] == ["enable", "nvidia-driver:580-open"]
    assert "--refresh" in decision["refresh"]
    free = DRIVER.decide(seen, wanted(gpu_prerequisites_allow_kernel_change=True))
    assert "kernel" not in free["lock"]["file"]["content"]


def test_dnf_tells_what_it_would_do_in_its_own_words() -> None:
    """DRV-22, DRV-23."""
    results = [
        f"Installed: nvidia-open-3:{NEW}-1.el9.x86_64",
        "Installed: libnvidia-ml-3:580.142-1.el9.x86_64",
        f"Removed: nvidia-open-3:{OLD}-1.el9.x86_64",
    ]
    seen = el(out={"offers": EL_OFFERS})
    own = DRIVER.decide(seen, wanted(__nvidia_driver_simulation={"results": results}))["packages"]
    assert json.loads(own["record"])["installed"] == ["libnvidia-ml"]
    assert own["fault"] == ""
    results.append("Removed: bash-5-1.x86_64")
    own = DRIVER.decide(seen, wanted(__nvidia_driver_simulation={"results": results}))["packages"]
    assert own["fault"] == "DRV-22: dnf would remove bash"


def test_what_dnf_cannot_have_is_told() -> None:
    """DRV-26: of the first package that is missing, or the list would be long."""
    own = wanted(**STREAM, __nvidia_driver_lists_are_fresh=True)
    commands = {"offers": said(f"nvidia-open|3:{OLD}-1.el9\n"), "stream": said("", 1)}
    decision = DRIVER.decide(el(commands=commands), own)
    missing = "nvidia-open, dkms, module stream nvidia-driver:580-open"
    assert decision["faults"][0].startswith(
        f"DRV-26: the configured repositories do not offer {NEW} of {missing};"
        f" they offer nvidia-open 3:{OLD}-1.el9 (nvidia_driver_version)"
    )
    assert decision["packages"]["refused"].endswith("needs crb on Rocky and Alma")
    asked = DRIVER.questions(own, el())["commands"]
    assert asked["offers"][:4] == ["dnf", "-q", "-y", "repoquery"]
    assert asked["stream"][-2:] == ["info", "nvidia-driver:580-open"]
    assert "simulation" not in asked


def test_modules_of_the_vendor_are_named_after_version_and_kernel() -> None:
    own = {"nvidia_driver_module_packages": ["kmod-nvidia-{version}-{kernel}"]}
    asked = DRIVER.questions(wanted(**own), el())["commands"]["offers"]
    assert f"kmod-nvidia-{NEW}-5.14.0-503.14.1" in asked


THEIRS = f"""\
# somebody's
something-0:1.0-*
!kmod-nvidia-3:{OLD}-*
nvidia-container-toolkit-0:1-*
# BEGIN gpugen cuda_toolkit
cuda-drivers-1
# END gpugen cuda_toolkit
"""


def test_locks_of_others_on_the_driver_are_refused() -> None:
    """DRV-06: not those of our own roles."""
    assert LOCKS.rivals(THEIRS) == [f"!kmod-nvidia-3:{OLD}-*"]
    seen = el(files={**loaded(OLD), LOCK_FILE: file(THEIRS)}, out={"offers": EL_OFFERS})
    (fault,) = DRIVER.decide(seen, wanted())["faults"]
    assert fault.startswith(f"DRV-06: {LOCK_FILE} locks the driver too (!kmod-nvidia-")


def test_the_block_of_locks_is_kept_at_its_place() -> None:
    """DRV-06, GEN-12: what is not ours stays as it is."""
    block = "# BEGIN gpugen nvidia_driver\na-1\n# END gpugen nvidia_driver\n"
    assert LOCKS.replaced("", ["a-1"]) == block
    assert LOCKS.replaced("x", ["a-1"]) == f"x\n{block}"
    assert LOCKS.replaced(f"x\n{block}y\n", ["b-1"]) == f"x\n{block.replace('a-1', 'b-1')}y\n"
    assert LOCKS.replaced(f"x\n{block}y\n", []) == "x\ny\n"
    assert LOCKS.replaced("x\n", []) == "x\n"
    assert LOCKS.found(f"x\n{block}y\n") == ["a-1"]
    assert LOCKS.found("# BEGIN gpugen nvidia_driver\na-1\n") == []  # without its end


@pytest.mark.parametrize(
    ("text", "is_unlocked"),
    [
        ("[nvidia-driver]\nname=nvidia-driver\nstream=580-open\nstate=enabled\n", False),
        ("[nvidia-driver]\nstream=570-open\nstate=enabled\n", True),
        ("[nvidia-driver]\nstream=580-open\nstate=disabled\n", True),
        ("no section\n", True),
    ],
)
def test_exactly_the_stream_of_branch_and_flavour_is_enabled(text: str, is_unlocked: bool) -> None:
    """DRV-05."""
    variables = wanted(gpu_prerequisites_os="rocky-9", **STREAM)
    seen = DRIVER.described(variables)
    seen["files"][STREAM_FILE] = file(text)
    decision = DRIVER.decide(seen, variables)
    assert any(text.startswith("DRV-06: ") for text in decision["shortfalls"]) is is_unlocked
    assert decision["lock_due"] is is_unlocked


def test_dnf_removes_what_this_version_does_not_have() -> None:
    """DRV-22."""
    packages = {"nvidia-open": package(f"3:{NEW}-1.el9"), "nvidia-x": package(f"3:{OLD}-1.el9")}
    decision = DRIVER.decide(el(packages=packages), wanted())
    assert decision["leftovers"] == ["nvidia-x"]
    assert decision["unfinished"].endswith("remove what is left of the former driver")
    assert DRIVER.decide(el(), wanted())["leftovers"] == []


def test_the_installer_needs_dkms_and_a_folder_of_its_own() -> None:
    """DRV-22, DRV-24."""
    variables = wanted(**RUNFILE)
    asked = DRIVER.questions(variables, host())
    assert asked["commands"]["simulation"][-3:] == ["--simulate", "install", "dkms"]
    assert asked["urls"] == [RUNFILE["nvidia_driver_runfile"]["url"]]
    own = DRIVER.decide(host(out={"simulation": "Inst dkms (3 x)\n"}), variables)["installer"]
    assert own["builder_due"]
    assert own["builder"][-2:] == ["install", "dkms"]
    assert json.loads(own["record"])["installed"] == ["dkms"]
    assert json.loads(own["begun"]) | {"method": "runfile", "version": ""} == json.loads(
        own["begun"]
    )
    assert own["argv"][1:] == ["--silent", "--dkms", "--kernel-module-type=open"]
    built = DRIVER.decide(host(packages={"dkms": package("3-1")}), variables)
    assert not built["installer"]["builder_due"]
    by_dnf = DRIVER.decide(host("dnf"), variables)["installer"]
    assert by_dnf["simulation"] == {"name": ["dkms"], "state": "present", "may_erase": False}
    assert "simulation" not in DRIVER.questions(variables, host("dnf"))["commands"]
    nouveau = host(globs={"/sys/module/nouveau": ["/sys/module/nouveau"]})
    assert not DRIVER.decide(nouveau, variables)["installer_due"]


@pytest.mark.parametrize(
    ("version", "modules", "option"),
    [
        ("550.163.01", "open", ["-m=kernel-open"]),
        ("550.163.01", "proprietary", []),
        ("560.28.03", "proprietary", ["--kernel-module-type=proprietary"]),
        ("", "proprietary", []),
    ],
)
def test_the_installers_flavour_is_an_option(version: str, modules: str, option: list[str]) -> None:
    own = {**RUNFILE, "nvidia_driver_version": version, "nvidia_driver_modules": modules}
    assert DRIVER.decide(host(), wanted(**own))["installer"]["argv"][3:] == option


def test_the_installer_starts_a_unit_that_it_does_not_bring() -> None:
    """DRV-19."""
    variables = wanted(**RUNFILE)
    seen = DRIVER.described(variables)
    missing = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""}
    seen["units"]["nvidia-persistenced.service"] = missing
    start = DRIVER.decide(seen, variables)["start"]
    (unit,) = start["files"]
    assert unit["path"] == "/etc/systemd/system/nvidia-persistenced.service"
    assert start["reads_units"]
    assert start["services"] == ["nvidia-persistenced.service"]


def test_persistence_is_switched_on_by_the_units_own_command() -> None:
    """DRV-19."""
    variables = wanted()
    seen = DRIVER.described(variables)
    seen["commands"]["smi"] = said(f"{NEW}, Enabled\n{NEW}, Disabled\n")
    assert DRIVER.decide(seen, variables)["start"]["persistence"] == []
    unit = "[Service]\nExecStart=/usr/bin/nvidia-persistenced --no-persistence-mode --verbose\n"
    seen["commands"]["unit"] = said(unit)
    start = DRIVER.decide(seen, variables)["start"]
    (added,) = start["persistence"]
    assert start["persistence_due"]
    command = "/usr/bin/nvidia-persistenced --persistence-mode --verbose"
    assert added["content"].endswith(f"[Service]\nExecStart=\nExecStart={command}\n")


def test_modules_that_dkms_did_not_build_are_told_with_the_end_of_the_log() -> None:
    """DRV-12: those of another kernel do not count."""
    variables = wanted()
    seen = DRIVER.described(variables)
    seen["commands"]["dkms"] = said(f"nvidia/{NEW}, other, x86_64: installed\n")
    asked = DRIVER.questions(variables, seen)["commands"]["make_log"]
    assert f"*/{NEW}/build/make.log" in asked
    seen["commands"]["make_log"] = said("error: no headers\n")
    decision = DRIVER.decide(seen, variables)
    assert decision["dkms_due"]
    assert decision["dkms"] == ["dkms", "autoinstall", "-k", "described"]
    assert decision["unbuilt"].startswith(f"DRV-12: DKMS has no module {NEW} for kernel described;")
    assert "error: no headers" in decision["unbuilt"]


def test_a_key_has_to_be_enrolled_by_somebody() -> None:
    """DRV-11."""
    variables = wanted(nvidia_driver_secure_boot="mok")
    firmware = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    seen = DRIVER.described(variables)
    seen["files"][firmware] = file("\x06\0\0\0\x01")
    seen["packages"]["mokutil"] = package("0.6-1")
    decision = DRIVER.decide(seen, variables)
    assert decision["key_due"]
    assert decision["key_request"] == "DKMS made no key; see /var/lib/dkms"
    key = "/var/lib/dkms/mok.pub"
    seen["globs"] = {key: [key]}
    assert f"the key {key} waits" in DRIVER.decide(seen, variables)["key_request"]
    seen["commands"]["key_of_dkms"] = said(f"{key} is already enrolled\n")
    assert not DRIVER.decide(seen, variables)["key_due"]


def test_images_older_than_the_options_are_built_again() -> None:
    """DRV-09, GEN-10."""
    variables = wanted()
    seen = DRIVER.described(variables)
    seen["commands"]["old_images"] = said("/boot/initrd.img-1\n")
    assert not DRIVER.decide(seen, variables)["images_due"]
    seen["globs"] = {"/boot/init*": ["/boot/initrd.img-1"]}
    decision = DRIVER.decide(seen, variables)
    assert (decision["images_due"], decision["modules"]) == (True, [])
    assert decision["rebuild"][0] == "dracut"
    seen["globs"]["/usr/sbin/update-initramfs"] = ["/usr/sbin/update-initramfs"]
    assert DRIVER.decide(seen, variables)["rebuild"][0] == "update-initramfs"


@pytest.mark.parametrize(
    ("result", "end"),
    [
        ({}, "it was broken off before its end"),
        ({"rc": 0, "out": "", "err": ""}, "it succeeded"),
        ({"rc": 2, "out": " x\n", "err": ""}, "it failed (2): x"),
        ({"rc": 2, "out": "x", "err": "y\n"}, "it failed (2): y"),
    ],
)
def test_what_an_earlier_run_left_is_told(result: dict[str, Any], end: str) -> None:
    """GEN-10."""
    variables = wanted()
    seen = DRIVER.described(variables)
    assert DRIVER.decide(seen, variables)["left"] == {}
    seen["job"] = {"request": {"argv": ["apt-get", "install"]}, "result": result, "runs": False}
    decision = DRIVER.decide(seen, variables)
    assert decision["left"]["text"].endswith(f"while it ran apt-get install; {end}")
    assert decision["due"]


NOTED = {"method": "vendor", "packages": ["nvidia-open", "libcuda1"], "installed": ["nvidia-open"]}


def test_removal_takes_what_the_record_names_and_no_more() -> None:
    """DRV-23."""
    variables = wanted(state="absent")
    files = {RECORD: file(json.dumps(NOTED)), **loaded(NEW)}
    packages = {"nvidia-open": package(f"{NEW}-1"), "libcuda1": package(f"{NEW}-1")}
    seen = host(files=files, packages=packages)
    asked = DRIVER.questions(variables, seen)
    assert set(NOTED["packages"]) <= set(asked["packages"])
    assert "simulation" not in asked["commands"]
    assert asked["users"]
    seen["patterns"] = asked["packages"]
    simulation = DRIVER.questions(variables, seen)["commands"]["simulation"]
    assert simulation[-3:] == ["--simulate", "purge", "nvidia-open"]
    seen["commands"]["simulation"] = said("Purg nvidia-open [1]\n")
    decision = DRIVER.decide(seen, variables)
    assert (decision["faults"], decision["due"]) == ([], True)
    own = decision["removal"]
    assert (own["apt"], own["dnf"], own["simulation"]) == (["nvidia-open"], [], {})
    assert own["unhold"] == ["apt-mark", "unhold", "libcuda1"]
    assert PIN in own["files"]
    assert not decision["units"]["are_noted"]
    seen["commands"]["simulation"] = said("Purg nvidia-open [1]\nPurg own [1]\n")
    (fault,) = DRIVER.decide(seen, variables)["faults"]
    assert fault.startswith("DRV-23: apt would also remove own, which")
    seen["commands"]["simulation"] = said("", 100, "E: broken\n")
    assert DRIVER.decide(seen, variables)["faults"] == ["E: broken"]


def test_removal_by_dnf_gives_locks_and_stream_back() -> None:
    """DRV-05, DRV-06, DRV-23."""
    results = ["Removed: nvidia-open-3:1-1.x86_64", "Removed: own-1-1.x86_64"]
    files = {
        RECORD: file(json.dumps(NOTED)),
        LOCK_FILE: file(LOCKS.replaced(THEIRS, ["a-1"])),
        STREAM_FILE: file("[nvidia-driver]\nstream=580-open\nstate=enabled\n"),
    }
    seen = el(files=files)
    variables = wanted(state="absent", **STREAM, __nvidia_driver_simulation={"results": results})
    assert DRIVER.questions(variables, seen)["users"] == {}
    decision = DRIVER.decide(seen, variables)
    assert decision["faults"][0].startswith("DRV-23: dnf would also remove own, which")
    own = decision["removal"]
    assert own["simulation"]["state"] == "absent"
    assert own["locks"][0]["content"] == THEIRS
    assert own["stream"][-2:] == ["reset", "nvidia-driver"]
    assert own["unhold"] == []


def test_removal_of_what_the_installer_brought() -> None:
    """DRV-23: by its own tool; there is no package to ask for."""
    variables = wanted(state="absent", **RUNFILE)
    seen = host(files={RECORD: file(json.dumps({"method": "runfile"}))})
    decision = DRIVER.decide(seen, variables)
    assert decision["removal"]["uninstaller"] == ["/usr/bin/nvidia-uninstall", "--silent"]
    assert decision["faults"] == []
    assert DRIVER.questions(variables, host())["users"] == {}


def test_flags_may_come_as_text() -> None:
    """Variables of the command line are text."""
    seen = host(**OLD_ONE, out={"offers": OFFER})
    for value, is_lean in (("false", True), ("no", True), ("true", False), (None, False)):
        own = wanted(gpu_prerequisites_install_recommends=value)
        assert (
            "--no-install-recommends" in DRIVER.decide(seen, own)["packages"]["fetch"]
        ) is is_lean

"""What the role of prerequisites decides, by values: PRE-01 to PRE-07, DRV-06, DRV-23, GEN-16."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support import ROOT

role: Any = load("gpu_prerequisites")
engine: Any = load("engine")
KEY = (ROOT / "tests" / "data" / "keys" / "packages.asc").read_text(encoding="utf-8")
FINGERPRINT = "FC89AF4178C3C8F9C767F9E28D970BAFFD4E85AD"
KERNEL, EL_KERNEL = "6.1.0-1-amd64", "5.14.0-503.14.1.el9_5"
RECORD = "/var/lib/misc/gpugen-gpu-prerequisites.json"
UPDATES = "/etc/apt/apt.conf.d/52gpugen-unattended-upgrades"
AUTOMATIC = "/etc/dnf/automatic.conf"
SOURCE = "/etc/apt/sources.list.d/gpugen-{}.sources"
REPO = "/etc/yum.repos.d/gpugen-{}.repo"
PLUGIN = "python3-dnf-plugin-versionlock"
OWN = {
    "name": "nvidia",
    "uri": "http://mirror.lab.example/debian12/",
    "key": "keys/lab.asc",
    "fingerprint": FINGERPRINT,
    "signed_packages": True,
    "signed_metadata": False,
}
PATH = "/plays/files/keys/lab.asc"
COMMON = {
    "gpu_prerequisites_architecture": "amd64",
    "gpu_prerequisites_gpu_count": 2,
    "gpu_prerequisites_gpu_devices": ["20B0"],
    "gpu_prerequisites_headers": True,
    "gpu_prerequisites_header_packages": ["kernel-devel-matched", "kernel-headers"],
    "gpu_prerequisites_allow_kernel_change": False,
    "gpu_prerequisites_hold_kernel_updates": False,
    "gpu_prerequisites_install_recommends": None,
    "gpu_prerequisites_repositories": [OWN],
    "gpu_prerequisites_key_folder": "",
    "state": "present",
    "check_mode": False,
    "playbook_dir": "/plays",
    "inventory_hostname": "one",
}
DEBIAN, NINE = "debian-12", "rhel-9"
CHANGES = {"allow_kernel_change": True}


def wanted(system: str = DEBIAN, **own: Any) -> dict[str, Any]:
    """Return variables; own: those of the role without its name, or others as they are."""
    stated = {
        f"gpu_prerequisites_{key}" if f"gpu_prerequisites_{key}" in COMMON else key: value
        for key, value in own.items()
    }
    return {**COMMON, "gpu_prerequisites_os": system, **stated}


def file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 1.0}


def said(out: str, rc: int = 0, err: str = "") -> dict[str, Any]:
    return {"rc": rc, "out": out, "err": err}


def seen(system: str = DEBIAN, **parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a host as the spec says, with other parts."""
    found = role.described(wanted(system))
    kernel = f"{EL_KERNEL}.x86_64" if system == NINE else KERNEL
    installed = "".join(
        f"{name}|{EL_KERNEL}\n" for name in ("kernel-devel", "kernel-devel-matched", "kernel-core")
    )
    found["host"] |= {"kernel": kernel, "now": 1.0}
    found["files"] |= {"/etc/debian_version": file("12.9\n"), RECORD: None}
    found["packages"] = (
        {PLUGIN: {"version": "1", "held": False}}
        if system == NINE
        else dict.fromkeys((f"linux-headers-{KERNEL}", f"linux-image-{KERNEL}"), {"version": "1"})
    )
    found["commands"] |= {
        "kernel": said(f"{kernel}\n"),
        "kernels": said(f"{installed}kernel-headers|{EL_KERNEL}\n"),
    }
    found["control"] = {"files": {PATH: base64.b64encode(KEY.encode()).decode()}}
    key = (
        "/etc/pki/rpm-gpg/RPM-GPG-KEY-gpugen-nvidia"
        if system == NINE
        else "/etc/apt/keyrings/gpugen-nvidia.asc"
    )
    found["files"][key] = file(KEY)
    for name, part in parts.items():
        found[name] = {**found[name], **part}
    return found


def without(found: dict[str, Any], *names: str) -> dict[str, Any]:
    left = {name: own for name, own in found["packages"].items() if name not in names}
    return {**found, "packages": left}


@pytest.mark.parametrize("system", [DEBIAN, NINE, "alma-10", "amzn-2023", "ubuntu-24.04"])
def test_a_host_that_is_as_described_needs_nothing(system: str) -> None:
    for own in ({}, {"repositories": []}, {"headers": False}, {"architecture": "arm64"}):
        decision = role.decide(role.described(wanted(system, **own)), wanted(system, **own))
        assert (decision["faults"], decision["shortfalls"], decision["due"]) == ([], [], False)


@pytest.mark.parametrize("system", [DEBIAN, NINE])
def test_a_host_that_was_read_and_is_as_expected_needs_nothing(system: str) -> None:
    decision = role.decide(seen(system), wanted(system))
    assert (decision["faults"], decision["shortfalls"], decision["due"]) == ([], [], False)
    assert decision["facts"]["gpus"] == 2
    json.dumps(decision)


def test_another_spec_for_a_described_host_is_due() -> None:
    before = role.described(wanted())
    other = {**OWN, "fingerprint": "0" * 40}
    decision = role.decide(before, wanted(repositories=[other]))
    assert decision["key_files"] == [{"src": PATH, "path": "/etc/apt/keyrings/gpugen-nvidia.asc"}]
    assert role.decide(before, wanted(hold_kernel_updates=True))["files"][0]["path"] == UPDATES
    gone = role.decide(before, wanted(repositories=[]))
    assert gone["stale"] == [SOURCE.format("nvidia"), "/etc/apt/keyrings/gpugen-nvidia.asc"]


@pytest.mark.parametrize("system", [DEBIAN, NINE])
def test_nothing_known_of_a_host_is_a_fresh_one(system: str) -> None:
    decision = role.decide({}, wanted(system))
    assert decision["faults"] == []
    assert decision["due"] is True
    assert decision["files_due"] is True


GPU = "PCI_CLASS=30200\nPCI_ID=10DE:{}\nPCI_SUBSYS_ID=10DE:1\n"
OTHER = "PCI_CLASS=20700\nPCI_ID=15B3:1021\n"
SYSTEMD = {"host": {**role.described(wanted())["host"], "systemd": False}}
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no-gpu": (
        {"commands": {"pci": said(OTHER)}},
        {"__gpu_prerequisites_sysfs": "/srv/sys"},
        [
            "PRE-01: no NVIDIA GPU below /srv/sys/bus/pci/devices",
            "PRE-02: 0 GPUs in PCI, expected 2 (gpu_prerequisites_gpu_count); repair",
        ],
    ),
    "none-expected": ({"commands": {"pci": said(OTHER)}}, {"gpu_count": 0}, []),
    "another-model": (
        {"commands": {"pci": said(GPU.format("2330") + OTHER + GPU.format("2330"))}},
        {},
        ["PRE-02: GPUs with device id 2330, expected 20B0 (gpu_prerequisites_gpu_devices);"],
    ),
    "any-model": ({"commands": {"pci": said(GPU.format("2330") * 2)}}, {"gpu_devices": []}, []),
    "another-system": (
        {"host": {"os_release": "ID=debian\nVERSION_ID=13\n"}, "files": {"/etc/debian_version": None}},
        {},
        ["PRE-03: the system is debian-13, expected debian-12 (gpu_prerequisites_os)"],
    ),
    "another-family": (
        {"host": {"pkg_mgr": "unknown"}},
        {},
        ["PRE-03: the system is debian-12.9, expected debian-12"],
    ),
    "another-processor": (
        {"host": {"architecture": "aarch64"}},
        {},
        ["PRE-03: the processor is aarch64, expected amd64 (gpu_prerequisites_architecture)"],
    ),
    "any-processor": ({"host": {"architecture": "aarch64"}}, {"architecture": ""}, []),
    "no-systemd": (
        {"host": {"systemd": False}, "files": {"/proc/1/comm": file("openrc\n")}},
        {},
        ["PRE-03: services are run by openrc, expected systemd"],
    ),
    "container": (
        {"globs": {"/run/systemd/container": ["/run/systemd/container"]}},
        {},
        ["PRE-03: the host is a container"],
    ),
    "container-of-the-lab": (
        {"globs": {"/run/systemd/container": ["/run/systemd/container"], "/x": []}},
        {"__gpu_prerequisites_container_marker": "/x"},
        [],
    ),
    "wsl": (
        {"host": {"kernel": "6.6.1-Microsoft-standard"}},
        {},
        ["PRE-03: the host is WSL; its driver belongs to Windows"],
    ),
    "rival": (
        {"commands": {"sources": said(f"{SOURCE.format('nvidia')}\n/etc/apt/sources.list\n")}},
        {},
        ["PRE-07: /etc/apt/sources.list configures the same repository, and two that differ"],
    ),
    "no-key-file": (
        {"control": {"files": {PATH: None}}},
        {},
        [f"PRE-07: {PATH} cannot be read (gpu_prerequisites_repositories)"],
    ),
    "no-key": (
        {"control": {"files": {PATH: base64.b64encode(b"x").decode()}}},
        {},
        [f"PRE-07: {PATH} is no single public key: no OpenPGP packet (gpu_prere"],
    ),
    "another-key": (
        {},
        {"repositories": [{**OWN, "fingerprint": "0" * 40}]},
        [f"PRE-07: keys/lab.asc holds key {FINGERPRINT}, expected {'0' * 40} (gpu_prere"],
    ),
    "key-in-groups": (
        {},
        {"repositories": [{**OWN, "fingerprint": f"{FINGERPRINT[:20]}  {FINGERPRINT[20:]}".lower()}]},
        [],
    ),
    "unsigned": (
        {},
        {"repositories": [{**OWN, "signed_packages": False}]},
        ["PRE-07: neither packages nor index are signed in nvidia (gpu_prere"],
    ),
}


@pytest.mark.parametrize("state", FAULTS)
def test_a_host_is_refused_for_the_right_reason(state: str) -> None:
    """GEN-09: all at once; and nothing more is asked of a host that is refused."""
    parts, own, expected = FAULTS[state]
    decision = role.decide(seen(**parts), wanted(**own))
    assert len(decision["faults"]) == len(expected), decision["faults"]
    for text, start in zip(decision["faults"], expected, strict=True):
        assert text.startswith(start), text
    assert decision["shortfalls"][: len(expected)] == decision["faults"]
    assert decision["packages_fault"] == "; ".join(decision["faults"])


def test_dnf_needs_its_bindings_and_armored_keys() -> None:
    found = seen(NINE, host={"has_dnf": False, "python": "/usr/bin/python3.12"})
    assert role.decide(found, wanted(NINE))["faults"] == [
        "PRE-03: the Python /usr/bin/python3.12 has no bindings of dnf; install python3-dnf"
    ]
    binary = base64.b64encode(load("openpgp_key").dearmor(KEY.encode())).decode()
    found = seen(NINE, control={"files": {PATH: binary}})
    (fault,) = role.decide(found, wanted(NINE))["faults"]
    assert fault.startswith("PRE-03: the key of a repository is binary, and dnf reads armored")


def ask(found: Mapping[str, Any], own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Let the role ask a host; return what it asked in each round."""
    rounds = []

    def on_host(questions: dict[str, Any]) -> dict[str, Any]:
        rounds.append(questions)
        commands = {name.split(" ")[1]: name for name in questions.get("commands", {})}
        return {
            "host": found["host"],
            **{
                kind: {each: found[kind].get(each, ()) for each in questions.get(kind, ())}
                for kind in ("files", "globs")
            },
            "packages": {
                name: state
                for name, state in found["packages"].items()
                if engine.matches(name, questions.get("packages", ()))
            },
            "commands": {
                name: found["commands"].get(word, said("")) for word, name in commands.items()
            },
        }

    def on_control(questions: dict[str, Any]) -> dict[str, Any]:
        return {"files": {path: found["control"]["files"].get(path) for path in questions["files"]}}

    own_role = {"gpu_prerequisites": role}
    engine.decide(own_role, own, on_host, on_control)
    return rounds


@pytest.mark.parametrize("system", [DEBIAN, NINE])
def test_a_host_as_expected_is_asked_once(system: str) -> None:
    found = seen(system, files=dict.fromkeys((RECORD, AUTOMATIC)))
    rounds = ask(found, wanted(system))
    assert len(rounds) == 1
    names = {name.split(" ")[1] for name in rounds[0]["commands"]}
    assert names == {"kernel", "pci", "sources"} | ({"kernels"} if system == NINE else set())
    none = wanted(system, repositories=[])
    assert "gpu_prerequisites sources" not in ask(found, none)[0]["commands"]


def policy(*names: str) -> str:
    return "".join(f"{name}:\n  Installed: (none)\n  Candidate: 6.1-1\n" for name in names)


def test_missing_headers_are_looked_up_and_simulated_before_they_come() -> None:
    offered = policy(f"linux-headers-{KERNEL}")
    found = seen(commands={"headers": said(offered), "install": said("Inst x (1 r)\n")})
    found = without(found, f"linux-headers-{KERNEL}")
    rounds = [
        [name.split(" ")[1] for name in each.get("commands", {})]
        for each in ask(found, wanted(install_recommends=False))
    ]
    assert rounds[1:] == [["headers"], ["install"]]
    refused = wanted(gpu_count=3)
    assert len(ask(found, refused)) == 1


def test_headers_of_the_kernel_and_of_its_updates() -> None:
    """PRE-04, PRE-05: of every flavour, in one transaction."""
    names = ("linux-image-amd64", "linux-image-unsigned-x", "linux-image-amd64-dbg")
    offered = policy(f"linux-headers-{KERNEL}", "linux-headers-amd64")
    simulated = (
        f"Inst linux-headers-{KERNEL} (6.1-1 r)\nInst gcc-12 (12 r)\n"
        "Inst linux-image-6.9.0-1 (6.9 r)\nInst libc6 [1] (2 r)\n"
    )
    found = seen(
        packages=dict.fromkeys(names, {"version": "1"}),
        files={RECORD: file('{"managedBy": "gpugen", "packages": ["old"]}')},
        commands={"headers": said(offered), "install": said(simulated)},
    )
    found = without(found, f"linux-headers-{KERNEL}")
    decision = role.decide(found, wanted(install_recommends=False))
    expected = [f"linux-headers-{KERNEL}", "linux-headers-amd64"]
    assert decision["missing"] == decision["expected"] == expected
    assert decision["transaction"][-4:] == ["install", "--no-install-recommends", *expected]
    assert (decision["packages_due"], decision["refresh_due"]) == (True, False)
    assert decision["packages_fault"] == ""
    assert json.loads(decision["record"]["content"])["packages"] == [
        *("gcc-12", f"linux-headers-{KERNEL}", "old")
    ]
    assert decision["shortfalls"] == [f"PRE-04: headers are missing: {', '.join(expected)}"]
    assert role.decide(found, wanted(headers=False))["packages_due"] is False


@pytest.mark.parametrize(
    ("commands", "fault"),
    [
        ({"headers": said("")}, f"PRE-05: kernel {KERNEL} has no headers in the configured"),
        ({"headers": said("", 100, "E: lists\n")}, "PRE-05: apt cannot look up linux-headers-"),
        (
            {
                "headers": said(policy(f"linux-headers-{KERNEL}")),
                "install": said("Remv gcc [1]\nPurg make [1]\n"),
            },
            "PRE-04: apt would remove gcc, make",
        ),
        (
            {
                "headers": said(policy(f"linux-headers-{KERNEL}")),
                "install": said("E: broken\n", 100),
            },
            f"PRE-04: apt cannot install linux-headers-{KERNEL}: E: broken",
        ),
    ],
    ids=["gone", "no-lists", "removes", "broken"],
)
def test_why_headers_are_not_installed(commands: dict[str, Any], fault: str) -> None:
    found = without(seen(commands=commands), f"linux-headers-{KERNEL}")
    decision = role.decide(found, wanted())
    assert decision["packages_fault"].startswith(fault)
    assert decision["faults"] == []
    assert (decision["interrupts"], decision["reboot_due"]) == ([], False)


def test_a_kernel_without_headers_makes_way_where_the_spec_allows_it() -> None:
    """PRE-05: and a reboot is due once the newer one is installed."""
    names = dict.fromkeys(("linux-image-amd64",), {"version": "1"})
    offered = policy("linux-headers-amd64")
    found = without(
        seen(packages=names, commands={"headers": said(offered)}), f"linux-headers-{KERNEL}"
    )
    decision = role.decide(found, wanted(**CHANGES))
    assert decision["expected"] == ["linux-image-amd64", "linux-headers-amd64"]
    assert decision["interrupts"] == [
        f"kernel {KERNEL} has no headers and makes way for a newer one"
    ]
    assert decision["reboot_due"] is False
    newer = dict.fromkeys(
        ("linux-image-6.9.0-1-amd64", "linux-headers-6.9.0-1-amd64"), {"version": "1"}
    )
    found["packages"] |= newer
    assert role.decide(found, wanted(**CHANGES))["reboot_due"] is True
    assert role.decide(found, wanted(**CHANGES, headers=False))["interrupts"] == []
    before = {**found, "commands": {**found["commands"], "headers": said(offered)}}
    del before["commands"]["headers"]
    assert role.decide(before, wanted(**CHANGES))["interrupts"] == []


def kernels(*rows: str) -> dict[str, Any]:
    return {"kernels": said("".join(f"{row}\n" for row in rows))}


@pytest.mark.parametrize(
    ("kernel", "rows", "missing"),
    [
        (
            f"{EL_KERNEL}.x86_64",
            [f"kernel-core|{EL_KERNEL}"],
            [f"kernel-devel-{EL_KERNEL}", f"kernel-devel-matched-{EL_KERNEL}", "kernel-headers"],
        ),
        (
            f"{EL_KERNEL}.aarch64+64k",
            [f"kernel-64k-devel|{EL_KERNEL}", "kernel-headers|1-1"],
            [f"kernel-64k-devel-matched-{EL_KERNEL}"],
        ),
        (
            "6.12.1-1.amzn2023.x86_64",
            ["kernel6.12|6.12.1-1.amzn2023", "kernel-livepatch|6.12.1-1.amzn2023"],
            [
                "kernel6.12-devel-6.12.1-1.amzn2023",
                "kernel6.12-devel-matched-6.12.1-1.amzn2023",
                "kernel6.12-headers",
            ],
        ),
        ("6.12.1-own", ["kernel-headers|1"], ["kernel-devel-6.12.1-own"]),
    ],
    ids=["plain", "flavour", "amazon", "no-processor"],
)
def test_headers_by_dnf(kernel: str, rows: list[str], missing: list[str]) -> None:
    found = seen(NINE, commands={"kernel": said(kernel), **kernels(*rows)})
    names = ["kernel-headers"] if kernel.endswith("own") else COMMON[
        "gpu_prerequisites_header_packages"
    ]
    decision = role.decide(found, wanted(NINE, header_packages=names))
    assert decision["missing"] == missing
    assert decision["transaction"] == []


def test_a_transaction_of_dnf_is_decided_by_its_results() -> None:
    offers = f"kernel-devel|{EL_KERNEL}\nkernel-devel-matched|{EL_KERNEL}\nkernel-headers|9-9\n"
    found = seen(NINE, commands={**kernels(f"kernel-core|{EL_KERNEL}"), "headers": said(offers)})
    own = wanted(NINE)
    decision = role.decide(found, own)
    assert len(decision["expected"]) == 3
    assert (decision["dnf_state"], decision["dnf_without"]) == ("present", [])
    results = [
        f"Installed: kernel-devel-{EL_KERNEL}.x86_64",
        "Installed: own-2-1.noarch",
        "Removed: own-1-1.noarch",
    ]
    decision = role.decide(found, {**own, "__gpu_prerequisites_results": results})
    assert json.loads(decision["record"]["content"])["packages"] == ["kernel-devel"]
    assert decision["packages_fault"] == ""
    results.append("Removed: foreign-1-1.noarch")
    decision = role.decide(found, {**own, "__gpu_prerequisites_results": results})
    assert decision["packages_fault"] == "PRE-04: dnf would remove foreign"


def test_a_kernel_of_dnf_makes_way_past_our_own_lock() -> None:
    rows = [f"kernel-core|{EL_KERNEL}", "kernel-core|5.14.0-600", "kernel-devel|5.14.0-600"]
    found = seen(NINE, commands={**kernels(*rows), "headers": said("kernel-headers|9-9\n")})
    decision = role.decide(found, wanted(NINE, **CHANGES))
    assert decision["expected"] == ["kernel", "kernel-devel-matched", "kernel-headers"]
    assert (decision["dnf_state"], decision["dnf_without"]) == ("latest", ["versionlock"])
    assert decision["reboot_due"] is True


def test_what_honors_locks_comes_before_headers() -> None:
    """DRV-06; check mode reports the headers alone."""
    found = without(seen(NINE, commands=kernels(f"kernel-core|{EL_KERNEL}")), PLUGIN)
    decision = role.decide(found, wanted(NINE))
    assert (decision["plugin_due"], decision["expected"]) == (True, [PLUGIN])
    assert len(ask(found, wanted(NINE))) == 1
    decision = role.decide(found, wanted(NINE, check_mode=True))
    assert (decision["plugin_due"], decision["packages_due"]) == (False, True)
    assert PLUGIN not in decision["missing"]
    assert decision["shortfalls"][-1].startswith("PRE-06: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[base]\nx = 1\n", "[base]\nexcludepkgs = {}\nx = 1\n"),
        ("[commands]\nx = 1", "[commands]\nx = 1\nexcludepkgs = {}\n"),
        ("[base]\nexcludepkgs=own*, nvidia*\n", "[base]\nexcludepkgs = own* {}\n"),
    ],
    ids=["none", "no-section", "theirs"],
)
def test_exclusions_from_automatic_updates_of_dnf(text: str, expected: str) -> None:
    """PRE-06: what others exclude stays excluded, and comes back alone."""
    names = "nvidia* kmod-nvidia* libnvidia* libnvsdm* cuda-drivers*"
    found = seen(NINE, files={AUTOMATIC: file(text)})
    (own,) = role.decide(found, wanted(NINE))["files"]
    assert own == {"path": AUTOMATIC, "content": expected.format(names)}
    after = seen(NINE, files={AUTOMATIC: file(own["content"])})
    assert role.decide(after, wanted(NINE))["files"] == []
    (held,) = role.decide(after, wanted(NINE, hold_kernel_updates=True))["files"]
    assert " kernel*\n" in held["content"]
    (left,) = role.decide(after, wanted(NINE, state="absent"))["files"]
    theirs = "excludepkgs = own*\n" if "own*" in text else ""
    assert left["content"] == expected.replace("excludepkgs = {}\n", "").replace(" {}", "")
    assert theirs in left["content"]


def test_exclusions_from_updates_of_apt() -> None:
    found = seen(files={UPDATES: None})
    (own,) = role.decide(found, wanted(hold_kernel_updates=True))["files"]
    assert '  "nvidia-";\n' in own["content"]
    assert '  "linux-image-";\n' in own["content"]
    assert own["validate"].startswith("/usr/bin/apt-config")


def test_files_of_repositories() -> None:
    """PRE-07, GEN-16: each with a key of its own; what the spec no longer states goes."""
    stale = SOURCE.format("nvidia-container-toolkit")
    found = seen(files={SOURCE.format("nvidia"): None, stale: file("x")})
    decision = role.decide(found, wanted())
    (own,) = decision["files"]
    assert own["content"].endswith(
        "URIs: http://mirror.lab.example/debian12/\nSuites: /\n"
        "Signed-By: /etc/apt/keyrings/gpugen-nvidia.asc\n"
    )
    assert (decision["stale"], decision["key_files"]) == ([stale], [])
    assert decision["folders"] == ["/etc/apt/keyrings"]
    found = seen(NINE, files={REPO.format("nvidia"): None})
    (own,) = role.decide(found, wanted(NINE, repositories=[{**OWN, "signed_metadata": True}]))[
        "files"
    ]
    assert "\ngpgcheck=1\nrepo_gpgcheck=1\n" in own["content"]
    assert role.decide(found, wanted(NINE))["folders"] == []


def test_a_binary_key_has_its_own_name() -> None:
    binary = base64.b64encode(load("openpgp_key").dearmor(KEY.encode())).decode()
    decision = role.decide(seen(control={"files": {PATH: binary}}), wanted())
    assert decision["key_files"] == [{"src": PATH, "path": "/etc/apt/keyrings/gpugen-nvidia.gpg"}]


RECORDED = {RECORD: file('{"managedBy": "gpugen", "packages": ["gcc-12", "gone"]}')}


def test_removal_takes_what_the_role_installed_and_nothing_else() -> None:
    """DRV-23."""
    found = seen(
        files=RECORDED,
        packages={"gcc-12": {"version": "12", "held": False}},
        commands={"removal": said("Purg gcc-12 [12]\n")},
    )
    own = wanted(state="absent")
    assert "gpu_prerequisites removal" in ask(found, own)[-1]["commands"]
    decision = role.decide(found, own)
    assert (decision["expected"], decision["faults"]) == (["gcc-12"], [])
    assert {RECORD, UPDATES, SOURCE.format("nvidia")} <= set(decision["stale"])
    found["commands"]["removal"] = said("Remv theirs [1]\nPurg gcc-12 [12]\n")
    assert role.decide(found, own)["faults"] == [
        "DRV-23: apt would also remove theirs, which this role did not install; remove them first"
    ]
    found["commands"]["removal"] = said("", 100, "E: held\n")
    assert role.decide(found, own)["faults"] == ["DRV-23: apt cannot remove gcc-12: E: held"]


def test_removal_by_dnf_is_decided_by_its_results() -> None:
    own = wanted(NINE, state="absent")
    decision = role.decide(seen(NINE, files=RECORDED), own)
    assert (decision["expected"], decision["by_dnf"]) == (["gcc-12", "gone"], True)
    results = ["Removed: gcc-12-12-1.x86_64", "Removed: theirs-1-1.x86_64"]
    found = role.decide(seen(NINE, files=RECORDED), {**own, "__gpu_prerequisites_results": results})
    assert found["faults"][0].startswith("DRV-23: dnf would also remove theirs, which")
    assert len(ask(seen(NINE, files=RECORDED), own)) == 2


def test_nothing_is_left_to_remove_of_a_bare_host() -> None:
    decision = role.decide({"host": seen()["host"]}, wanted(state="absent"))
    assert (decision["due"], decision["expected"], decision["stale"]) == (False, [], [])

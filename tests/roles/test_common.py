"""What decisions of several roles read alike: the system, packages, the probe's answers."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.hosts.decisions import load

host: Any = load("common.host")
packages: Any = load("common.packages")
seen: Any = load("common.seen")

POLICY = """\
linux-headers-6.1.0-1-amd64:
  Installed: (none)
  Candidate: 6.1.4-1
  Version table:
     6.1.4-1 500
        500 http://deb.example/debian bookworm/main amd64 Packages
linux-headers-gone:
  Installed: (none)
  Candidate: (none)
  Version table:
"""
SIMULATION = """\
Remv nvidia-driver [535-1]
Purg libold [1] []
Inst cuda-nvcc-13-0 (13.0.48-1 NVIDIA:13 [amd64])
Inst libc6 [2.36-9] (2.36-10 Debian:12 [amd64])
Inst broken
Conf cuda-nvcc-13-0 (13.0.48-1 NVIDIA:13 [amd64])
"""
RESULTS = [
    "Installed: cuda-nvcc-13-0-13.0.48-1.x86_64",
    "Installed: kernel-devel-5.14.0-503.el9.x86_64",
    "Removed: kernel-devel-5.14.0-400.el9.x86_64",
    "Removed: own-1:2-3.noarch",
    "Removed: odd",
    "Cache fresh",
]
MADISON = """\
 nvidia-open | 580.142-1 | http://mirror.example/ Packages
 nvidia-open | 580.142-1 | http://mirror.example/other Packages
 libx |  | none
N: a remark
"""


def on(release: str, debian: str = "") -> dict[str, Any]:
    files = {host.DEBIAN_VERSION: {"text": debian, "mtime": 1.0}} if debian else {}
    return {"host": {"os_release": release, "pkg_mgr": "apt"}, "files": files}


@pytest.mark.parametrize(
    ("release", "debian", "names"),
    [
        ('ID=ubuntu\nVERSION_ID="24.04"\n', "trixie/sid\n", ["ubuntu-24.04", "ubuntu-24"]),
        ('ID=debian\nVERSION_ID="12"\n', "12.9\n", ["debian-12.9", "debian-12"]),
        ('ID=debian\nVERSION_ID="12"\n', "", ["debian-12", "debian-12"]),
        ("ID=debian\n", "forky/sid\n", ["debian-", "debian-"]),
        ('ID="rhel"\nVERSION_ID="9.5"\n', "", ["rhel-9.5", "rhel-9"]),
        ('ID="almalinux"\nVERSION_ID="9.5"\n', "", ["alma-9.5", "alma-9"]),
        ('ID="rocky"\nVERSION_ID="10.0"\n', "", ["rocky-10.0", "rocky-10"]),
        ('ID="amzn"\nVERSION_ID="2023"\n', "", ["amzn-2023", "amzn-2023"]),
        ('# x=1\nID="ol"\nNAME=\nODD="\nVERSION_ID=9.5\n', "", ["oraclelinux-9.5", "oraclelinux-9"]),
        ("", "", ["unknown-", "unknown-"]),
    ],
)
def test_names_of_a_system(release: str, debian: str, names: list[str]) -> None:
    assert host.systems(on(release, debian)) == names


def test_the_package_manager_is_the_hosts_or_the_expected_systems() -> None:
    assert host.package_manager({}) == "apt"
    assert host.package_manager({}, "ubuntu-24.04") == "apt"
    assert [host.package_manager({}, f"{name}-9") for name in ("rhel", "rocky")] == ["dnf"] * 2
    assert host.package_manager({"host": {"pkg_mgr": "dnf"}}, "debian-12") == "dnf"
    assert host.package_manager({"host": {"pkg_mgr": "unknown"}}, "rhel-9") == "apt"


def test_questions_of_package_managers() -> None:
    assert packages.refresh("apt")[:3] == ["apt-get", "-qq", "update"]
    assert packages.refresh("dnf") == packages.DNF_REFRESH
    assert packages.offers_of("apt", ["x"]) == ["apt-cache", "madison", "x"]
    assert packages.offers_of("dnf", ["x"])[-3:] == ["--queryformat", packages.FORMAT, "x"]


def test_what_repositories_offer() -> None:
    assert packages.offered(MADISON) == [("nvidia-open", "580.142-1")]
    assert packages.offered("kernel-devel | 0:5.14-1.el9\n") == [("kernel-devel", "0:5.14-1.el9")]
    assert packages.candidates(POLICY) == {"linux-headers-6.1.0-1-amd64": "6.1.4-1"}


def test_what_a_simulated_transaction_does() -> None:
    assert packages.apt_new(SIMULATION) == {"cuda-nvcc-13-0": "13.0.48-1"}
    assert packages.apt_changed(SIMULATION) == ["libc6"]
    assert packages.apt_removed(SIMULATION) == ["nvidia-driver", "libold"]
    assert packages.dnf_installed(RESULTS)["kernel-devel"] == "5.14.0-503.el9.x86_64"
    assert packages.dnf_new(RESULTS) == {"cuda-nvcc-13-0": "13.0.48-1.x86_64"}
    assert packages.dnf_removed(RESULTS) == ["own"]


def test_names_without_others() -> None:
    assert packages.without(["b", "a", "b", "c"], ["c"]) == ["b", "a"]


def test_answers_that_are_there_and_not() -> None:
    stamp = "Sat 2026-11-21 10:00:00 UTC"
    found = {
        "host": {"kernel": "6.1"},
        "files": {"/x": {"text": '{"a": 1}', "mtime": 7.9}, "/y": None},
        "globs": {"/z*": ["/z1"]},
        "packages": {"p": {"version": "1", "held": True}},
        "commands": {"c": {"rc": 0, "out": "o"}},
        "units": {
            "u": {
                "ActiveState": "active",
                "UnitFileState": "enabled",
                "ActiveEnterTimestamp": stamp,
            }
        },
    }
    assert (seen.text(found, "/x"), seen.text(found, "/y")) == ('{"a": 1}', "")
    assert (seen.exists(found, "/x"), seen.exists(found, "/y")) == (True, False)
    assert (seen.mtime(found, "/x"), seen.mtime({}, "/x")) == (7, 0)
    assert (seen.record(found, "/x"), seen.record({}, "/x")) == ({"a": 1}, {})
    assert (seen.found(found, "/z*"), seen.found({}, "/z*")) == (["/z1"], [])
    assert seen.packages(found) == {"p": "1"}
    assert seen.command(found, "c") == {"rc": 0, "out": "o", "err": ""}
    assert seen.command({}, "c")["rc"] == 127
    assert seen.unit({}, "u") == seen.NO_UNIT
    assert (seen.runs(found, "u"), seen.is_enabled(found, "u")) == (True, True)
    assert (seen.started(found, "u"), seen.started({}, "u")) == (1795255200, 0)
    assert (seen.host(found, "kernel"), seen.host({}, "kernel")) == ("6.1", "")

"""What the role of CUDA toolkits decides, by values: CUD-01 to CUD-05."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts.decisions import load

role: Any = load("cuda_toolkit")
RECORD = "/var/lib/misc/gpugen-cuda-toolkit.json"
PREFERENCES = "/etc/apt/preferences.d/gpugen-cuda-toolkit"
PROFILE = "/etc/profile.d/gpugen-cuda.sh"
LOCKS = "/etc/dnf/plugins/versionlock.list"
LOADED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Tue Nov 18 15:09:37 UTC 2025\n"
DEBIAN, NINE = "debian-12", "rhel-9"
TWO = {
    "cuda_toolkit_packages": ["cuda-toolkit-12-9", "cuda-toolkit-13-0"],
    "cuda_toolkit_driver_floor": "580",
    "cuda_toolkit_default": "12.9",
    "cuda_toolkit_profile": True,
    "cuda_toolkit_cudnn": "9.12.0",
    "cuda_toolkit_cudnn_package": "cudnn9-cuda-12",
}
NONE = {
    **dict.fromkeys(TWO, ""),
    "cuda_toolkit_packages": [],
    "cuda_toolkit_profile": False,
}


def wanted(system: str = DEBIAN, **own: Any) -> dict[str, Any]:
    stated = {f"cuda_toolkit_{key}" if key in SHORT else key: value for key, value in own.items()}
    return {**TWO, "state": "present", "gpu_prerequisites_os": system, **stated}


SHORT = {key.removeprefix("cuda_toolkit_") for key in TWO}
ONE = {
    **{"packages": ["cuda-toolkit-13-0"], "default": "", "profile": False},
    **{"cudnn": "9.13.0", "cudnn_package": "cudnn9-cuda-13"},
}


def said(out: str) -> dict[str, Any]:
    return {"rc": 0, "out": out, "err": ""}


def file(text: str) -> dict[str, Any]:
    return {"text": text, "mtime": 1.0}


def seen(system: str = DEBIAN, **parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a host as the spec says, with other parts."""
    found: dict[str, Any] = role.described(wanted(system))
    for name, part in parts.items():
        found[name] = {**found[name], **part}
    return found


def bare(system: str = DEBIAN, **parts: Any) -> dict[str, Any]:
    manager = "dnf" if system == NINE else "apt"
    return {"host": {"pkg_mgr": manager}, **parts}


@pytest.mark.parametrize("system", [DEBIAN, NINE])
@pytest.mark.parametrize("own", [{}, ONE, {"cudnn": "", "cudnn_package": ""}, {"default": ""}])
def test_a_host_that_is_as_described_needs_nothing(system: str, own: dict[str, Any]) -> None:
    variables = wanted(system, **own)
    decision = role.decide(role.described(variables), variables)
    assert (decision["faults"], decision["shortfalls"], decision["due"]) == ([], [], False)
    assert (decision["files"], decision["stale"], decision["interrupts"]) == ([], [], [])
    json.dumps(decision)


def test_a_host_without_toolkits_is_left_alone() -> None:
    decision = role.decide(bare(), {**wanted(), **NONE})
    assert decision["due"] is False
    assert role.decide({}, wanted())["due"] is True


FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "another-package": (
        {},
        {"packages": ["cuda-13-0", "cuda-toolkit-13-0"]},
        ["CUD-01: cuda-13-0 is no package of one toolkit alone"],
    ),
    "cuda": (
        {"packages": {"cuda": {"version": "13", "held": False}}},
        {},
        ["CUD-01: the package cuda is installed, which brings a driver of its own"],
    ),
    "old-driver": (
        {"files": {"/p/driver/nvidia/version": file(LOADED.format("570.26"))}},
        {"__cuda_toolkit_procfs": "/p"},
        ["CUD-02: driver 570.26 is loaded, and cuda-toolkit-12-9, cuda-toolkit-13-0 runs on 580"],
    ),
    "new-driver": (
        {"files": {"/proc/driver/nvidia/version": file(LOADED.format("580.105.08"))}},
        {},
        [],
    ),
    "no-version": ({"files": {"/proc/driver/nvidia/version": file("NVRM version: x\n")}}, {}, []),
    "others-link": (
        {"commands": {"chosen": said("/opt/cuda\n")}},
        {},
        ["CUD-03: /usr/local/cuda is not of the system's alternatives"],
    ),
    "others-link-left-alone": ({"commands": {"chosen": said("/opt/cuda\n")}}, {"default": ""}, []),
    "cudnn": ({}, {"cudnn": "9.12"}, ["CUD-04: cuDNN takes an exact version"]),
    "package-of-cudnn": ({}, {"cudnn_package": "libcudnn9"}, ["CUD-04: cuDNN takes an exact"]),
}


@pytest.mark.parametrize("state", FAULTS)
def test_a_host_is_refused_for_the_right_reason(state: str) -> None:
    parts, own, expected = FAULTS[state]
    faults = role.decide(seen(**parts), wanted(**own))["faults"]
    assert len(faults) == len(expected), faults
    for text, start in zip(faults, expected, strict=True):
        assert text.startswith(start), text


def test_questions_about_offers_come_only_where_something_is_missing() -> None:
    assert "offers" not in role.questions(wanted(), {})["commands"]
    assert "offers" not in role.questions(wanted(), seen())["commands"]
    missing = role.questions(wanted(), bare())["commands"]["offers"]
    assert missing[:2] == ["apt-cache", "madison"]
    assert "offers" not in role.questions(wanted(), bare(NINE))["commands"]
    assert "offers" not in role.questions(wanted(cudnn="9"), bare())["commands"]


OFFERS = """\
 cuda-toolkit-12-9 | 12.9.1-1 | http://mirror.example/ Packages
 cuda-toolkit-13-0 | 13.0.1-1 | http://mirror.example/ Packages
 cudnn9-cuda-12 | 9.14.0.64-1 | http://mirror.example/ Packages
 cudnn9-cuda-12 | 9.12.0.46-1 | http://mirror.example/ Packages
"""


def test_what_is_missing_is_installed_in_the_managers_words() -> None:
    decision = role.decide(bare(commands={"offers": said(OFFERS)}), wanted(check_mode=True))
    names = "cuda-toolkit-12-9, cuda-toolkit-13-0, cudnn9-cuda-12=9.12.0.*"
    assert ", ".join(decision["names"]) == names
    assert decision["preview"] == f"would install {names}; all are offered"
    assert (decision["offers_fault"], decision["install_due"]) == ("", True)
    assert (decision["is_verified"], decision["files_due"]) == (False, False)
    assert [text[:6] for text in decision["shortfalls"]] == ["CUD-01", "CUD-03", "CUD-04"]
    by_dnf = role.decide(bare(NINE), wanted(NINE))
    assert by_dnf["names"][-1] == "cudnn9-cuda-12-9.12.0*"
    assert (by_dnf["refresh_due"], by_dnf["early"]) == (False, [])


@pytest.mark.parametrize(
    ("offers", "lost", "found"),
    [
        ("", "cuda-toolkit-12-9, cuda-toolkit-13-0, cudnn9-cuda-12", "none of them"),
        (
            OFFERS.replace(" cudnn9-cuda-12 | 9.12.0.46-1 | http://mirror.example/ Packages\n", ""),
            "cudnn9-cuda-12 9.12.0",
            "cuda-toolkit-12-9 12.9.1-1, cuda-toolkit-13-0 13.0.1-1, cudnn9-cuda-12 9.14.0.64-1",
        ),
    ],
    ids=["nothing", "another-cudnn"],
)
def test_what_nobody_offers_is_refused(offers: str, lost: str, found: str) -> None:
    """CUD-01, CUD-04: after the lists were read anew."""
    decision = role.decide(bare(commands={"offers": said(offers)}), wanted())
    assert decision["refresh_due"] is True
    assert decision["offers_fault"].startswith(
        f"CUD-01: the configured repositories do not offer {lost}; they offer {found} ("
    )
    assert f"not checked, no configured repository offers {lost}" in decision["preview"]
    assert role.decide(bare(), wanted(check_mode=True))["refresh_due"] is False


APT = """\
Inst cuda-nvcc-13-0 (13.0.48-1 NVIDIA [amd64])
Inst cuda-toolkit-config-common (13.0.48-1 NVIDIA [amd64])
"""
TRANSACTIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "apt": (DEBIAN, {"stdout": APT}, ""),
    "apt-driver": (
        DEBIAN,
        {"stdout": f"{APT}Inst cuda-drivers (580 x)\nInst libnvidia-gl [1] (2 x)\n"},
        "would install cuda-drivers, libnvidia-gl and remove nothing; toolkits come beside",
    ),
    "apt-removes": (
        DEBIAN,
        {"stdout": "Remv gcc [1]\nRemv libcudnn9-cuda-12 [9]\n"},
        "would install no part of the driver and remove gcc; toolkits",
    ),
    "dnf": (NINE, {"results": ["Installed: cuda-nvcc-13-0-13.0.48-1.x86_64"]}, ""),
    "dnf-driver": (
        NINE,
        {"results": ["Installed: cuda-drivers-580-1.x86_64", "Removed: gcc-1-1.x86_64"]},
        "would install cuda-drivers and remove gcc; toolkits",
    ),
}


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_transaction_touches_no_driver(name: str) -> None:
    """CUD-01."""
    system, simulated, fault = TRANSACTIONS[name]
    own = {**wanted(system), "__cuda_toolkit_simulation": simulated}
    decision = role.decide(bare(system), own)
    assert fault in decision["transaction_fault"]
    assert bool(fault) is bool(decision["transaction_fault"])
    (record,) = decision["planned"]
    if name in {"apt", "dnf"}:
        version = "13.0.48-1" + (".x86_64" if system == NINE else "")
        assert json.loads(record["content"])["packages"]["cuda-nvcc-13-0"] == version


CAME = {
    "cuda-toolkit-config-common": "13.0.48-1",
    "cuda-toolkit-12-9": "12.9.1-1",
    "cuda-nvcc-12-9": "12.9.86-1",
    "cuda-toolkit-13-0": "13.0.1-1",
    "cudnn9-cuda-12": "9.12.0.46-1",
    "libcudnn9-cuda-12": "9.12.0.46-1",
    "cudnn9-cuda-13": "9.13.0.50-1",
}


def recorded(default: str = "12.9", **packages: str) -> dict[str, Any]:
    text = json.dumps({"managedBy": "gpugen", "default": default, "packages": packages or CAME})
    return file(text)


def test_what_left_the_spec_goes_and_the_rest_stays_pinned() -> None:
    """CUD-03, CUD-04: by the version in a name; what is shared stays."""
    found = bare(
        files={RECORD: recorded(), PREFERENCES: file("x"), PROFILE: file("x")},
        packages={name: {"version": own, "held": False} for name, own in CAME.items()},
    )
    decision = role.decide(found, wanted(**ONE))
    gone = ["cuda-nvcc-12-9", "cuda-toolkit-12-9", "cudnn9-cuda-12", "libcudnn9-cuda-12"]
    assert decision["retired"] == gone
    assert decision["forgotten"] == ["/usr/local/cuda-12.9"]
    assert decision["links"] == [["update-alternatives", "--auto", "cuda"]]
    texts = {own["path"]: own["content"] for own in decision["files"]}
    assert "Package: cudnn9-cuda-13 libcudnn9*-cuda-13\nPin: version 9.13.0.*\n" in texts[PREFERENCES]
    assert "Package: cuda-toolkit-13-0\nPin: version 13.0.1-1\n" in texts[PREFERENCES]
    assert decision["stale"] == [PROFILE]
    assert decision["before"]["files"] == [{"path": PREFERENCES, "content": "x"}]
    simulated = {"stdout": "".join(f"Purg {name} [1]\n" for name in [*gone, "theirs"])}
    decision = role.decide(found, {**wanted(**ONE), "__cuda_toolkit_simulation": simulated})
    assert decision["removal_fault"] == (
        f"CUD-03: theirs would go with {', '.join(gone)}, and this role did not install it; "
        "remove it yourself first"
    )


def test_everything_goes_where_nothing_is_expected() -> None:
    """CUD-05."""
    found = bare(files={RECORD: recorded(), PREFERENCES: file("x"), PROFILE: file("x")})
    decision = role.decide(found, wanted(state="absent"))
    assert decision["retired"] == sorted(CAME)
    assert decision["removal_fault"] == ""
    assert decision["stale"] == [RECORD, PREFERENCES, PROFILE]
    assert (decision["state"], decision["is_verified"]) == ("absent", False)
    assert decision["before"]["stale"] == []
    assert role.decide(bare(), wanted())["before"]["stale"] == [PREFERENCES]


def test_locks_are_a_block_of_the_file_that_dnf_reads() -> None:
    """CUD-03, CUD-04: others' lines stay, and a failed transaction restores ours."""
    theirs = "# somebody's\nsomething-0:1.0-*\n"
    held = {"cuda-toolkit-13-0": "13.0.1-1.x86_64", "cuda-epoch": "1:2-3.noarch"}
    found = bare(NINE, files={RECORD: recorded("", **held), LOCKS: file(theirs)})
    own = wanted(NINE, **{**ONE, "cudnn": "", "cudnn_package": ""})
    (lock,) = [each for each in role.decide(found, own)["files"] if each["path"] == LOCKS]
    assert lock["content"] == (
        f"{theirs}# BEGIN gpugen cuda_toolkit\ncuda-epoch-1:2-3.noarch\n"
        "cuda-toolkit-13-0-0:13.0.1-1.x86_64\n# END gpugen cuda_toolkit\n"
    )
    found["files"][LOCKS] = file(lock["content"] + "more\n")
    decision = role.decide(found, own)
    assert LOCKS not in [each["path"] for each in decision["files"]]
    assert decision["early"] == [{"path": LOCKS, "content": f"{theirs}more\n"}]
    assert decision["before"]["files"] == [{"path": LOCKS, "content": lock["content"] + "more\n"}]
    assert role.decide(bare(NINE), own)["before"] == {"files": [], "stale": []}


@pytest.mark.parametrize("known", ["", "/usr/local/cuda-12.9 - priority 129\n"])
def test_the_default_is_chosen_through_alternatives(known: str) -> None:
    """CUD-03: made known first where alternatives do not know it."""
    found = seen(commands={"link": said("/usr/local/cuda-13.0\n"), "known": said(known)})
    decision = role.decide(found, wanted())
    choose = ["update-alternatives", "--set", "cuda", "/usr/local/cuda-12.9"]
    assert decision["links"][-1] == choose
    assert len(decision["links"]) == (1 if known else 2)
    assert decision["shortfalls"] == [
        "CUD-03: /usr/local/cuda leads to /usr/local/cuda-13.0, expected /usr/local/cuda-12.9 "
        "(cuda_toolkit_default)"
    ]


def test_another_cudnn_is_told() -> None:
    """CUD-04: 9.12.0 is no 9.12.01."""
    other = {"cudnn9-cuda-12": {"version": "9.12.01-1", "held": False}}
    decision = role.decide(seen(packages=other), wanted())
    assert decision["shortfalls"] == [
        "CUD-04: cudnn9-cuda-12 is 9.12.01-1, expected 9.12.0 (cuda_toolkit_cudnn)"
    ]
    same = {"cudnn9-cuda-12": {"version": "0:9.12.0-1", "held": False}}
    assert role.decide(seen(packages=same), wanted())["shortfalls"] == []


def test_packages_that_stay_though_nothing_is_expected_are_told() -> None:
    """CUD-05: what the role keeps of its own."""
    found = bare(files={RECORD: recorded("", **{"libcudnn9-cuda-12": "9"})})
    own = wanted(packages=[], default="", profile=False)
    assert role.decide(found, own)["shortfalls"][-1].startswith("CUD-05: packages that this role")

"""The driver's sets through apt's own solver, over the stand-ins of the vendor's repositories.

Nothing is installed: apt simulates, by the pin, the transaction and the options of the role.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpugen.components.hosts.driver import COMPONENT
from gpugen.hosts.decisions import load
from support import required
from support.lab.nodes import deb, standins, ubuntu_standins
from support.specs import resolved

pytestmark = pytest.mark.validated_by("apt")

PINNED = load("nvidia_driver.names").APT
LEAN = "--no-install-recommends"
DISPLAY = ("xserver", "nvidia-settings", "nvidia-prime", "nvidia-xconfig", "screen-resolution")
ROAD = ("535.309.01", "550.163.01", "570.195.03", "570.211.01", "575.64.05", "580.178.04")
BEYOND = ("595.58.03", "590.48.01", "580.105.08", "570.195.03")  # up over the cliff, and back
Installed = Mapping[str, str]  # package -> version


class Apt:
    """One repository and a host of which only dpkg's status exists."""

    def __init__(self, folder: Path, packages: Iterator[deb.Package]) -> None:
        self.folder = folder
        deb.write_repository(folder / "repo", packages, "amd64")
        for name in ("state/lists/partial", "cache/archives/partial", "preferences"):
            (folder / name).mkdir(parents=True)
        source = f"deb [trusted=yes arch=amd64] file:{folder}/repo ./\n"
        (folder / "sources.list").write_text(source, encoding="utf-8")
        text = (folder / "repo" / "Packages").read_text(encoding="utf-8")
        own = re.sub(r"(?m)^(Filename|Size|SHA256):.*\n", "", text).split("\n\n")
        self.stanzas = {key(stanza): stanza.strip() for stanza in own}
        (folder / "status").write_text("")
        self.run("update")

    def run(self, *arguments: str) -> str:
        here = self.folder
        places = {
            "Dir::State": here / "state",
            "Dir::State::status": here / "status",
            "Dir::Cache": here / "cache",
            "Dir::Etc::sourcelist": here / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferencesparts": here / "preferences",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "root",
        }
        options = [f"-o{name}={value}" for name, value in places.items()]
        command = ["apt-get", *options, "-qq", "--yes", "--allow-downgrades", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def install(self, found: Installed, names: list[str], version: str, *more: str) -> Installed:
        """Return what the role's one transaction would leave."""
        stanzas = [self.stanzas[each] for each in found.items()]
        status = "\n\n".join(f"{each}\nStatus: install ok installed" for each in stanzas)
        (self.folder / "status").write_text(f"{status}\n" if stanzas else "")
        pin = f"Package: {' '.join(PINNED)}\nPin: version {version}-*\nPin-Priority: 1001\n"
        (self.folder / "preferences" / "pin").write_text(pin)
        offered = {name for name, own in self.stanzas if own.startswith(f"{version}-")}
        strays = [n for n in driver(found) if not found[n].startswith(f"{version}-")]
        comes = dict.fromkeys([*names, *(name for name in strays if name in offered)])
        goes = [f"{name}-" for name in strays if name not in offered]
        wanted = [f"{name}={version}-*" for name in comes]
        plan = self.run("--simulate", *more, "install", *wanted, *goes)
        gone = set(re.findall(r"(?m)^(?:Remv|Purg) (\S+)", plan))
        new = dict(re.findall(r"(?m)^Inst (\S+) (?:\[\S+\] )?\((\S+)", plan))
        return {**{name: own for name, own in found.items() if name not in gone}, **new}


def key(stanza: str) -> tuple[str, str]:
    fields = dict(line.split(": ", 1) for line in stanza.strip().splitlines())
    return fields["Package"], fields["Version"]


def driver(found: Installed) -> list[str]:
    """Return what has a driver's version."""
    return [name for name, version in found.items() if re.match(r"[0-9]{3}[.][0-9.]+-", version)]


def display(found: Installed) -> list[str]:
    return [name for name in found if name.startswith(DISPLAY)]


def names(system: str, version: str, release: str = "2026.12", **more: Any) -> list[str]:
    """Return what gpugen has a host install."""
    stated = {"version": version, **more}
    keys = {f"/hostDefaults/driver/{name}": value for name, value in stated.items()}
    spec = resolved({"/release": release, "/hostDefaults/os": system, **keys})
    (own,) = COMPONENT.contribute(spec, {}).host_variables.values()
    return [*own["nvidia_driver_packages"], *own["nvidia_driver_fabric_packages"]]


@pytest.fixture(scope="module")
def apts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Apt]:
    """Return a repository for each system."""
    if shutil.which("apt-get") is None:
        required.missing("apt-get, whose solver checks the sets of packages, is missing")
    builder = deb.Package("dkms", "3.0.10-8")
    ubuntu = (each for each in (builder, *ubuntu_standins.packages()))
    return {
        "ubuntu-24.04": Apt(tmp_path_factory.mktemp("ubuntu"), ubuntu),
        "debian-12": Apt(tmp_path_factory.mktemp("debian"), standins.packages()),
    }


def test_every_branch_follows_every_other_on_ubuntu(apts: dict[str, Apt]) -> None:
    """DRV-02, DRV-22: one version, nothing left of the former, no display, NVENC and NVDEC."""
    found: Installed = {}
    for version in (*ROAD, *BEYOND):
        modules = {"kernelModules": "open"}
        wanted = names("ubuntu-24.04", version, **modules)
        found = apts["ubuntu-24.04"].install(found, wanted, version, LEAN)
        assert set(wanted) <= found.keys(), version
        assert {name for name in driver(found) if not found[name].startswith(version)} == set()
        assert display(found) == [], version
        assert len([name for name in found if "encode" in name or "decode" in name]) == 2
        assert len([name for name in found if "-dkms" in name and "no-dkms" not in name]) == 1


@pytest.mark.parametrize("version", ["570.195.03", "580.178.04", "595.58.03"])
def test_graphics_adds_gl_and_no_display(apts: dict[str, Apt], version: str) -> None:
    wanted = names("ubuntu-24.04", version, graphics=True)
    found = apts["ubuntu-24.04"].install({}, wanted, version, LEAN)
    assert len([name for name in found if name.startswith("libnvidia-gl")]) == 1
    assert display(found) == []


def test_the_complete_set_follows_and_makes_way_for_another_branch(apts: dict[str, Apt]) -> None:
    apt, system = apts["ubuntu-24.04"], "ubuntu-24.04"
    found = apt.install({}, names(system, "570.195.03", "2026.11"), "570.195.03")
    assert "xserver-xorg-core" in found
    assert "nvidia-settings" in found  # recommended
    newer = apt.install(found, names(system, "570.211.01"), "570.211.01", LEAN)
    assert newer["nvidia-driver-570-open"].startswith("570.211.01-")
    other = apt.install(newer, names(system, "580.178.04"), "580.178.04", LEAN)
    assert [name for name in driver(other) if not other[name].startswith("580.178.04-")] == []
    assert not any("xserver-xorg-video" in name for name in other)


@pytest.mark.parametrize("release", ["2026.11", "2026.12"])
def test_debian(apts: dict[str, Apt], release: str) -> None:
    is_lean = release == "2026.12"
    more = [LEAN] if is_lean else []
    found = apts["debian-12"].install({}, names("debian-12", "580.142", release), "580.142", *more)
    assert ("nvidia-open" in found) is (not is_lean)
    assert bool(display(found)) is (not is_lean)
    assert {"nvidia-driver-cuda", "nvidia-kernel-open-dkms", "libnvidia-encode1"} <= found.keys()

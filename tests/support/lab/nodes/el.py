"""Nodes that are dressed as Enterprise Linux: dnf, rpm, os-release, kernels, module streams."""

from __future__ import annotations

from pathlib import Path

from support.lab.nodes import base, deb, rpm
from support.lab.nodes.el_standins import KERNEL, MODULE, system, vendor
from support.lab.nodes.node import Node
from support.lab.nodes.standins import text

EL9, EL10 = "rocky-9", "rocky-10"
RELEASES = {EL9: "9.5", EL10: "10.0"}
FOLDERS = {EL9: "rhel9/x86_64", EL10: "rhel10/x86_64"}
OWN = "os"  # folder of what the distribution offers
PACKAGES = ("createrepo-c", "dnf", "dnf-plugins-core", "rpm")
FILES = {
    "etc/rpm/macros": "%_dbpath /var/lib/rpm\n",
    "etc/dnf/dnf.conf": (
        "[main]\ngpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\n"
        "best=True\nskip_if_unavailable=False\n"
    ),
    "etc/dnf/plugins/local.conf": "[main]\nenabled=0\n",
    "etc/dnf/plugins/copr.conf": "[main]\nenabled=0\n",
    "etc/dnf/plugins/debuginfo-install.conf": "[main]\nenabled=0\n",
}
UNAME = f"""\
#!/bin/sh
# Stand-in: the kernel that runs is the distribution's.
[ "$*" = -r ] && exec echo {KERNEL}
exec /bin/uname "$@"
"""
DEBIAN_TOOLS = (  # by which a host tells its family
    *("usr/bin/apt-cache", "usr/bin/apt-get", "usr/bin/dpkg", "usr/bin/dpkg-query"),
    "etc/debian_version",
)
KIND = base.Kind("el", PACKAGES, FILES, DEBIAN_TOOLS)


def tree() -> Path:
    """Return the base tree of these nodes, made if it is not in the cache."""
    return base.tree(KIND)


def files(system_id: str, address: str) -> dict[str, str]:
    """Return what makes a node of the tree this system. address: of the lab's repositories."""
    release = RELEASES[system_id]
    major = release.partition(".")[0]
    return {
        "usr/lib/os-release": (
            f'NAME="Rocky Linux"\nVERSION="{release} (Blue Onyx)"\nID="rocky"\n'
            f'ID_LIKE="rhel centos fedora"\nVERSION_ID="{release}"\n'
            f'PLATFORM_ID="platform:el{major}"\nPRETTY_NAME="Rocky Linux {release} (Blue Onyx)"\n'
        ),
        "etc/redhat-release": f"Rocky Linux release {release} (Blue Onyx)\n",
        "etc/dnf/dnf.conf": f"{FILES['etc/dnf/dnf.conf']}module_platform_id=platform:el{major}\n",
        "etc/dnf/vars/releasever": f"{major}\n",
        "etc/yum.repos.d/rocky.repo": (
            f"[appstream]\nname=AppStream\nbaseurl={address}/{OWN}\ngpgcheck=0\n"
        ),
        f"etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-{major}": "stand-in\n",
        f"boot/initramfs-{KERNEL}.img": "",
        "boot/initramfs-0-rescue.img": "",
        f"usr/lib/modules/{KERNEL}/vmlinuz": "",
        "usr/local/bin/uname": UNAME,
        "usr/sbin/dracut": text("dracut"),
    }


def write_repositories(folder: Path, key: deb.Key) -> None:
    """Write the repositories of the vendor, with streams for EL 9 alone, and the system's own."""
    wanted = list(vendor())
    rpm.write_repositories(
        folder,
        {OWN: system(), **dict.fromkeys(FOLDERS.values(), wanted)},
        {FOLDERS[EL9]: rpm.module_documents(MODULE, wanted, "x86_64")},
        tree(),
        key,
        "x86_64",
    )


def versions(node: Node) -> dict[str, str]:
    """Return the vendor's installed packages: name -> EVR, behind ``=`` if it is locked to that."""
    show = ["rpm", "-qa", "--queryformat=%{NAME}|%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n"]
    rows = [line.split("|") for line in node.run(*show).splitlines()]
    lines = node.read("/etc/dnf/plugins/versionlock.list").splitlines()
    locks = {line for line in lines if line and line[0] != "#"}
    return {
        name: ("=" if is_locked(name, version, locks) else "") + version
        for name, version in rows
        if "nvidia" in name or name == "nvlsm"
    }


def is_locked(name: str, version: str, locks: set[str]) -> bool:
    """Tell whether a lock names this version of a package; releases may be a star."""
    epoch, _, rest = version.rpartition(":")
    full = f"{name}-{epoch or 0}:{rest}"
    return bool({full, f"{full}.*", f"{full.rpartition('-')[0]}-*"} & locks)

# Copyright: the gpugen authors. Apache-2.0.
"""Reads what the probe tells of the operating system."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

DEBIAN_VERSION = "/etc/debian_version"  # of Debian with its point release, which os-release omits
NAMES = {"almalinux": "alma", "ol": "oraclelinux"}  # ids of os-release by other words


def os_release(seen: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of os-release; empty where nothing is known of the host."""
    found = {}
    for line in str(seen.get("host", {}).get("os_release", "")).splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and not name.startswith("#"):
            found[name] = _plain(value)
    return found


def systems(seen: Mapping[str, Any]) -> list[str]:
    """Return the names that a spec may have for the system: ubuntu-24.04, ubuntu-24.

    The first is the exact one; of Debian, where DEBIAN_VERSION was asked, with its point release.
    """
    release = os_release(seen)
    word = release.get("ID", "unknown")
    version = release.get("VERSION_ID", "")
    exact = _debian(seen) if word == "debian" else ""
    name = NAMES.get(word, word)
    return [f"{name}-{exact or version}", f"{name}-{version.partition('.')[0]}"]


def package_manager(seen: Mapping[str, Any], expected: str = "") -> str:
    """Return apt or dnf; of a host that was not read, the one of the expected system (rhel-9)."""
    known = seen.get("host", {}).get("pkg_mgr")
    if known is None:
        is_dnf = expected.startswith(("rhel-", "rocky-", "alma-", "amzn-"))
        return "dnf" if is_dnf else "apt"
    return "dnf" if known == "dnf" else "apt"


def _debian(seen: Mapping[str, Any]) -> str:
    text = (seen.get("files", {}).get(DEBIAN_VERSION) or {"text": ""})["text"].strip()
    return text if text[:1].isdigit() else ""


def _plain(value: str) -> str:
    try:
        words = shlex.split(value)
    except ValueError:
        return value
    return words[0] if words else ""

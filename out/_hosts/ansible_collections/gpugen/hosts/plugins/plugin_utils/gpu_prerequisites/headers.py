# Copyright: the gpugen authors. Apache-2.0.
"""Headers of the running kernel, and those that follow its updates (PRE-04, PRE-05)."""

from __future__ import annotations

from typing import NamedTuple

from ..common.packages import candidates, without
from .host import Host

IMAGE, APT_HEADERS = "linux-image-", "linux-headers-"
NO_FLAVOURS = ("unsigned", "extra", "uc")  # images that are no flavour of their own
ARCHITECTURES = (".x86_64", ".aarch64")


class Headers(NamedTuple):
    """What is there and what is missing of headers, in the package manager's words."""

    own: str  # package of the running kernel's headers
    missing: list[str]
    newest: list[str]  # a newer kernel of the flavour and its headers
    offered: set[str]  # names, and names with versions, that the repositories offer
    newer_kernels: list[str]  # that are installed with their headers and do not run

    @property
    def unavailable(self) -> list[str]:
        """Return what is missing and no repository offers."""
        return [name for name in self.missing if name not in self.offered]

    def expected(self, *, may_change_kernel: bool) -> list[str]:
        """Return the packages to install; none where they are not offered."""
        if self.own in self.unavailable:
            return self.newest if may_change_kernel else []
        return [] if self.unavailable else self.missing


def headers(host: Host) -> Headers:
    """Return what is there and missing of headers."""
    return _of_dnf(host) if host.manager == "dnf" else _of_apt(host)


def answer(host: Host) -> dict[str, object] | None:
    """Return what the repositories answered about missing headers; None before they were asked."""
    found: dict[str, object] | None = host.seen.get("commands", {}).get("headers")
    return found


def question(host: Host, missing: list[str]) -> list[str]:
    """Return the command that looks up headers."""
    if host.manager == "apt":
        return ["apt-cache", "policy", *missing]
    shape = "%{name}|%{version}-%{release}"
    return ["dnf", "-q", "-y", "repoquery", "--queryformat", shape, *missing]


def _offers(host: Host) -> str:
    return str((answer(host) or {"out": ""})["out"])


def _of_apt(host: Host) -> Headers:
    flavours = _flavours(host.packages)
    names = [*([host.kernel] if host.kernel else []), *flavours]
    own = APT_HEADERS + host.kernel
    versions = [_numbered(host.packages, prefix) for prefix in (IMAGE, APT_HEADERS)]
    return Headers(
        own,
        without([APT_HEADERS + name for name in names], host.packages),
        [prefix + name for prefix in (IMAGE, APT_HEADERS) for name in flavours],
        set(candidates(_offers(host))),
        [name for name in versions[0] if name in versions[1] and name != host.kernel],
    )


def _flavours(packages: list[str]) -> list[str]:
    """Return the kernels that follow updates: amd64 of linux-image-amd64."""
    names = (name.removeprefix(IMAGE) for name in packages if name.startswith(IMAGE))
    words = (name for name in names if "a" <= name[:1] <= "z" and "-dbg" not in name)
    return sorted(name for name in words if not name.startswith(NO_FLAVOURS))


def _numbered(packages: list[str], prefix: str) -> list[str]:
    names = (name.removeprefix(prefix) for name in packages if name.startswith(prefix))
    return [name for name in names if "0" <= name[:1] <= "9"]


class Kernel(NamedTuple):
    """The running kernel of the Enterprise Linux family."""

    release: str  # 5.14.0-503.14.1.el9_5 of 5.14.0-503.14.1.el9_5.x86_64+64k
    stem: str  # kernel; kernel6.12 for the newer ones of Amazon Linux
    package: str  # kernel, or kernel-64k


def kernel(host: Host) -> Kernel:
    """Return the running kernel, by what is installed of its release."""
    base, _dummy, flavour = host.kernel.partition("+")
    known = [end for end in ARCHITECTURES if base.endswith(end)]
    release = base.removesuffix(known[0]) if known else host.kernel
    rows = (line.partition("|") for line in host.installed)
    stems = [name for name, _dummy, version in rows if version == release and _is_stem(name)]
    stem = stems[0] if stems else "kernel"
    return Kernel(release, stem, f"{stem}-{flavour}" if flavour else stem)


def _is_stem(name: str) -> bool:
    """Tell whether a package is a kernel with a version in its name: kernel6.12."""
    end = name.removeprefix("kernel")
    return name != end and len(end) > 1 and end[0] != "." and _is_version(end)


def _is_version(text: str) -> bool:
    return all(sign in "0123456789." for sign in text)


def _of_dnf(host: Host) -> Headers:
    own = kernel(host)
    devel = f"{own.package}-devel|{own.release}"
    names = [_name(own, name) for name in host.own("header_packages") or ()]
    there = [line.partition("|")[0] for line in host.installed]
    lost = without(names, there)
    missing = [devel.replace("|", "-")] if devel not in host.installed else []
    missing += [name if name.endswith("-headers") else f"{name}-{own.release}" for name in lost]
    offers = _offers(host).splitlines()
    return Headers(
        devel.replace("|", "-"),
        list(dict.fromkeys(missing)) if host.kernel else [],
        [own.package, *names],
        {line.replace("|", "-") for line in offers} | {line.partition("|")[0] for line in offers},
        _newer(host.installed, own.release),
    )


def _name(own: Kernel, name: str) -> str:
    """Return what a name of the spec's list means here: kernel-64k-devel of kernel-devel.

    All are of the running kernel but the headers of the C library.
    """
    if name.startswith("kernel-devel"):
        return own.package + name.removeprefix("kernel")
    return own.stem + name.removeprefix("kernel") if name.startswith("kernel-") else name


def _newer(installed: list[str], release: str) -> list[str]:
    rows = [
        (name, version) for name, _dummy, version in (line.partition("|") for line in installed)
    ]
    kernels = {version for name, version in rows if _is_kernel(name)}
    devel = [v for name, v in rows if name.startswith("kernel") and name.endswith("-devel")]
    return [version for version in dict.fromkeys(devel) if version in kernels - {release}]


def _is_kernel(name: str) -> bool:
    end = name.removeprefix("kernel")
    return name.startswith("kernel") and (end.endswith("-core") or _is_version(end))

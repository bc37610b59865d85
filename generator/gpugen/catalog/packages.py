"""The package repositories of a pool's hosts: addresses and keys, the vendor's by the catalogue."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from gpugen.catalog import reading
from gpugen.model.driver import DriverMethod, Repository
from gpugen.model.finding import ROOT, Pointer
from gpugen.model.platform import OperatingSystem
from gpugen.model.spec import NodePool

CUDA, TOOLKIT = "nvidia", "nvidia-container-toolkit"  # in file names on the host
NOTHING: Mapping[str, Any] = {}


class PackageSource(NamedTuple):
    """A repository as a host configures it, and the key that signs it.

    uri: ends in a slash; empty: the vendor has none for this system. fingerprint: empty where
    nobody confirmed it. key_url: where the vendor publishes the key; empty for all others.
    """

    name: str
    uri: str
    key_file: str  # below the repository's root
    fingerprint: str
    at: Pointer
    key_url: str = ""
    confidence: str = ""
    signs_packages: bool = True
    signs_metadata: bool = False  # as far as dnf is to demand it; apt always does


def package_sources(pool: NodePool) -> tuple[PackageSource, ...]:
    """Return the repositories that the spec states for a pool."""
    host, stated = pool.host, pool.host.repositories
    driver = stated.both or stated.driver
    found = [] if driver is None else [_cuda(host.os, host.architecture, driver)]
    if stated.container_toolkit is not None:
        found.append(_toolkit(host.os, host.architecture, stated.container_toolkit))
    return tuple(found)


def vendor_sources(system: OperatingSystem, architecture: str) -> tuple[PackageSource, ...]:
    """Return the vendor's own repositories for a system."""
    own = Repository(ROOT)
    return _cuda(system, architecture, own), _toolkit(system, architecture, own)


def needs_driver_source(pool: NodePool) -> bool:
    """Tell whether hosts take anything from a CUDA repository: driver, DCGM or CUDA."""
    host = pool.host
    by_vendor = host.driver.method is DriverMethod.VENDOR
    by_stream = host.driver.method is DriverMethod.PRECOMPILED and host.os.is_dnf
    has_dcgm = host.dcgm is not None and bool(host.dcgm.version)
    return by_vendor or by_stream or has_dcgm or host.cuda_toolkit is not None


def _cuda(system: OperatingSystem, architecture: str, own: Repository) -> PackageSource:
    """Return a repository in the layout of the vendor's: <address>/<system>/<architecture>/.

    Source: NVIDIA driver installation guide; the directory names are the catalogue's.
    """
    table = _packages()["cudaRepository"]
    row = system.cuda_repository
    folder = row.folder if row else ""
    directory = f"{folder}/{table['architectures'][architecture]}/"
    if not own.is_vendor:
        return _of_others(CUDA, f"{own.base_url}/{directory}", own)
    key = table["keys"].get(row.key if row else "", NOTHING)
    file, uri = key.get("file", ""), f"{table['baseURL']}/{directory}" if folder else ""
    return PackageSource(
        name=CUDA,
        uri=uri,
        key_file=f"keys/nvidia-cuda-{key.get('id', 'unknown').lower()}.asc",
        fingerprint=key.get("fingerprint", ""),
        at=own.at,
        key_url=f"{uri}{file}" if file else "",
        confidence=key.get("confidence", ""),
        signs_packages=table["rpm"]["signsPackages"],
    )


def _toolkit(system: OperatingSystem, architecture: str, own: Repository) -> PackageSource:
    """Return a repository in the layout of the vendor's: one for all systems of a family."""
    table = _packages()["containerToolkit"]
    layout = table["repository"]
    family = "dnf" if system.is_dnf else "apt"
    directory = f"{layout['architectures'][family][architecture]}/"
    if not own.is_vendor:
        return _of_others(TOOLKIT, f"{own.base_url}/{directory}", own)
    return PackageSource(
        name=TOOLKIT,
        uri=f"{layout['baseURL']}/{directory}",
        key_file=f"keys/{TOOLKIT}-{table['keyId']}.asc",
        fingerprint=table["keyFingerprint"],
        at=own.at,
        key_url=table["deb"]["key"],
        confidence=table["confidence"],
        signs_packages=layout["rpm"]["signsPackages"],
        signs_metadata=layout["rpm"]["signsMetadata"],
    )


def _of_others(name: str, uri: str, own: Repository) -> PackageSource:
    """Return somebody's own repository; a mirror of unsigned packages is told by its index."""
    return PackageSource(
        name,
        uri,
        own.key_file,
        own.fingerprint,
        own.at,
        signs_packages=name == CUDA or not own.signs_metadata,
        signs_metadata=own.signs_metadata,
    )


def fetch_command(source: PackageSource) -> str:
    """Return the one line of shell that fetches a vendor's key and keeps it only if it is right."""
    file, url = shlex.quote(source.key_file), shlex.quote(source.key_url)
    check = f"gpg --show-keys --with-colons {file} | grep -qx 'fpr:::::::::{source.fingerprint}:'"
    fetch = f"curl -fsSL --proto '=https' --create-dirs -o {file} {url}"
    return f"{fetch} && {check} || {{ rm -f {file}; false; }}"


@cache
def _packages() -> dict[str, Any]:
    return reading.table("packages")

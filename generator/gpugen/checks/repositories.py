"""Checks of package repositories: stated, signed by a known key, and by which transport."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.catalog.packages import needs_driver_source, package_sources
from gpugen.checks import POOL, Problem, check
from gpugen.hosts.places import DEFAULTS, host_setting
from gpugen.model.driver import DriverMethod, Repository
from gpugen.model.finding import Pointer, Severity
from gpugen.model.spec import ClusterSpec, NodePool

FORMS = ("driver", "containerToolkit")
KNOWN = "repositories: vendor"
OWN = (
    "{baseURL: https://packages.example, keyFile: keys/packages.asc, fingerprint: <40 hex digits>}"
)


@check("repositories-missing", "CTK-02", "DRV-26", "PRE-07", severity=Severity.WARNING, at_key=True)
def missing(spec: ClusterSpec) -> Iterator[Problem]:
    """The spec states no package repository.

    The play then uses whatever the hosts' own package sources have, whoever signed it, and stops on
    a host whose sources do not have the version.
    """
    for pool in spec.pools:
        missing = _missing(pool)
        if missing:
            yield Problem(
                at=_place(spec, pool),
                message=f"no package repository for {' and '.join(missing)}; the hosts of pool"
                f" {POOL} must have it configured already",
                hint=_lines(pool, missing),
                pool=pool.name,
            )


def _missing(pool: NodePool) -> list[str]:
    """Name what has no package repository."""
    stated = pool.host.repositories
    if stated.both is not None:
        return []
    driver = ["the driver"] if stated.driver is None and needs_driver_source(pool) else []
    return driver + ([] if stated.container_toolkit else ["the container toolkit"])


def _place(spec: ClusterSpec, pool: NodePool) -> Pointer:
    """Return where repositories belong: under hostDefaults, unless the pool has its own."""
    stated = pool.host.repositories
    if stated.driver is None and stated.container_toolkit is None:
        return DEFAULTS if DEFAULTS in spec.stated else pool.at
    return host_setting(spec, pool, "repositories")


def _lines(pool: NodePool, missing: list[str]) -> str:
    """Return what to write: the vendor's repository where its key is known."""
    if pool.host.repositories.driver is not None:
        return "add containerToolkit: vendor beside driver, or a repository such as that of driver"
    if pool.host.repositories.container_toolkit is not None:
        return "add driver: vendor beside containerToolkit, or your own repository"
    if pool.host.driver.method is DriverMethod.VENDOR or len(missing) > 1:
        return f"write hostDefaults: {{{KNOWN}}}, or for a mirror repositories: {OWN}"
    return "write hostDefaults: {repositories: {containerToolkit: vendor}}, or your own mirror"


@check("repository-key-unknown", "PRE-07")
def key_unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """The fingerprint of the vendor's signing key for this operating system is not known.

    A fetched key proves nothing without a fingerprint to compare it with. Source:
    cudaRepository.keys of the catalogue's packages.
    """
    for pool in spec.pools:
        system = pool.host.os
        for source in package_sources(pool):
            if not source.fingerprint and system.is_supported:
                yield Problem(
                    at=source.at,
                    message=f"the fingerprint of the vendor's signing key for {system.id} is not"
                    " known",
                    hint="get it from the vendor by a trusted way, and write driver: {baseURL:"
                    f" {source.uri.rsplit('/', 3)[0]}, keyFile: {source.key_file},"
                    " fingerprint: ...}; keep containerToolkit: vendor",
                    pool=pool.name,
                )


@check("repository-plain-http", "PRE-07", severity=Severity.WARNING)
def plain_http(spec: ClusterSpec) -> Iterator[Problem]:
    """Without TLS, others on the network see what is installed and can hold back newer packages.

    Signatures protect against foreign packages, not against old ones; dnf verifies the index only
    with signedMetadata.
    """
    for own in _stated(spec):
        if own.base_url.startswith("http://"):
            yield Problem(
                at=own.at / "baseURL",
                message=f"{own.base_url} is reached without TLS",
                hint="write https://, or at least signedMetadata: true if the mirror has no TLS"
                " shows dnf whether its index is genuine",
            )


@check("repository-setting-without-effect")
def without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """apt always requires a signed index, so the setting has no effect there."""
    used = {own for pool in spec.pools if pool.host.os.is_dnf for own in _of(pool)}
    for own in _stated(spec):
        if own.signs_metadata and own not in used:
            yield Problem(
                at=own.at / "signedMetadata",
                message="signedMetadata has no effect: no pool that uses dnf installs packages"
                " from there",
                hint="remove it",
            )


@check("repositories-two-forms")
def two_forms(spec: ClusterSpec) -> Iterator[Problem]:
    """State either one repository for everything, or one per part."""
    for pool in spec.pools:
        place = host_setting(spec, pool, "repositories")
        stated = spec.stated.keys(place)
        forms = [key for key in FORMS if key in stated]
        single = set(stated) - set(FORMS)
        if forms and single:
            yield Problem(
                at=place / forms[0],
                message=f"{forms[0]} and {sorted(single)[0]} exclude each other:"
                f" {sorted(single)[0]} is for both parts",
                hint=f"move {', '.join(sorted(single))} below driver or containerToolkit",
                pool=pool.name,
            )


def _of(pool: NodePool) -> list[Repository]:
    stated = pool.host.repositories
    return [own for own in (stated.both, stated.driver, stated.container_toolkit) if own]


def _stated(spec: ClusterSpec) -> list[Repository]:
    return list(dict.fromkeys(own for pool in spec.pools for own in _of(pool)))

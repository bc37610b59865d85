"""Checks of where packages come from: stated, signed by a known key, and by which transport."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.catalog.packages import is_dnf, needs_driver_source, package_sources
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
    """Nothing in the spec says where packages come from.

    The play then takes what the hosts' own sources offer, whoever signed it, and refuses a host
    whose sources lack a version.
    """
    for pool in spec.pools:
        lacking = _lacking(pool)
        if lacking:
            yield Problem(
                at=_place(spec, pool),
                message=f"no repository is stated for {' and '.join(lacking)}; the hosts of pool"
                f" {POOL} must have sources of their own",
                hint=_lines(pool, lacking),
                pool=pool.name,
            )


def _lacking(pool: NodePool) -> list[str]:
    """Name what has no stated source."""
    stated = pool.host.repositories
    if stated.both is not None:
        return []
    driver = ["the driver"] if stated.driver is None and needs_driver_source(pool) else []
    return driver + ([] if stated.container_toolkit else ["the container toolkit"])


def _place(spec: ClusterSpec, pool: NodePool) -> Pointer:
    """Return where the lines belong: to the defaults, unless the pool has some of its own."""
    stated = pool.host.repositories
    if stated.driver is None and stated.container_toolkit is None:
        return DEFAULTS if DEFAULTS in spec.stated else pool.at
    return host_setting(spec, pool, "repositories")


def _lines(pool: NodePool, lacking: list[str]) -> str:
    """Return what to write; the vendor's own where its key is known."""
    if pool.host.repositories.driver is not None:
        return "write containerToolkit: vendor beside driver:, or a repository as driver: has it"
    if pool.host.repositories.container_toolkit is not None:
        return "write driver: vendor beside containerToolkit:, or a repository of your own"
    if pool.host.driver.method is DriverMethod.VENDOR or len(lacking) > 1:
        return f"write hostDefaults: {{{KNOWN}}}, or for a mirror repositories: {OWN}"
    return "write hostDefaults: {repositories: {containerToolkit: vendor}}, or a mirror there"


@check("repository-key-unknown", "PRE-07")
def key_unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """The vendor signs packages for this system by a key whose fingerprint nobody confirmed.

    A key that was fetched without a fingerprint to compare it with proves nothing. Source:
    cudaRepository.keys of the catalogue's packages.
    """
    for pool in spec.pools:
        system = pool.host.os
        for source in package_sources(pool):
            if not source.fingerprint and system.is_supported:
                yield Problem(
                    at=source.at,
                    message="no fingerprint is known of the key that signs the vendor's"
                    " packages for"
                    f" {system.id}",
                    hint="learn it from the vendor in a way that you trust, and write driver:"
                    " {baseURL:"
                    f" {source.uri.rsplit('/', 3)[0]}, keyFile: {source.key_file}, fingerprint:"
                    " ...}; containerToolkit: vendor may stay",
                    pool=pool.name,
                )


@check("repository-plain-http", "PRE-07", severity=Severity.WARNING)
def plain_http(spec: ClusterSpec) -> Iterator[Problem]:
    """Whoever is on the way sees what is installed, and can hold back newer packages.

    Signatures keep foreign packages out, not old ones; dnf checks those of the index only with
    signedMetadata.
    """
    for own in _stated(spec):
        if own.base_url.startswith("http://"):
            yield Problem(
                at=own.at / "baseURL",
                message=f"{own.base_url} is reached without TLS",
                hint="write https://; where the mirror has none, signedMetadata: true at least"
                " shows"
                " dnf whether its index is genuine",
            )


@check("repository-setting-without-effect")
def without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """apt always demands a signed index, so that the setting adds nothing to it."""
    used = {own for pool in spec.pools if is_dnf(pool.host.os) for own in _of(pool)}
    for own in _stated(spec):
        if own.signs_metadata and own not in used:
            yield Problem(
                at=own.at / "signedMetadata",
                message="signedMetadata has no effect: no pool with dnf takes packages from there",
                hint="leave it out",
            )


@check("repositories-two-forms")
def two_forms(spec: ClusterSpec) -> Iterator[Problem]:
    """One repository for everything and one for each part exclude each other."""
    for pool in spec.pools:
        place = host_setting(spec, pool, "repositories")
        stated = spec.stated.keys(place)
        forms = [key for key in FORMS if key in stated]
        single = set(stated) - set(FORMS)
        if forms and single:
            yield Problem(
                at=place / forms[0],
                message=f"{forms[0]} stands beside {sorted(single)[0]}, which is for both",
                hint=f"put {', '.join(sorted(single))} below the part that they are for",
                pool=pool.name,
            )


def _of(pool: NodePool) -> list[Repository]:
    stated = pool.host.repositories
    return [own for own in (stated.both, stated.driver, stated.container_toolkit) if own]


def _stated(spec: ClusterSpec) -> list[Repository]:
    """List every stated repository once."""
    return list(dict.fromkeys(own for pool in spec.pools for own in _of(pool)))

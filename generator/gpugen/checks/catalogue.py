"""Checks of what a cluster uses of the repository's own catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import ROOT, Pointer, Severity
from gpugen.model.spec import ClusterSpec, NodePool


@check("catalog-override-in-use", severity=Severity.WARNING)
def override_in_use(spec: ClusterSpec) -> Iterator[Problem]:
    """A row of this repository's catalog/ overrides one that ships with gpugen.

    Such a row decides what hosts install and run, and hides later corrections in gpugen. Whoever
    may change catalog/ changes clusters, so let CODEOWNERS require a review
    (docs/specs/catalog.md).
    """
    told: set[str] = set()
    for row, at in _overrides(spec):
        if row not in told:
            told.add(row)
            yield Problem(
                at=at,
                message=f"{row} comes from this repository's catalog/, which overrides gpugen's"
                " row",
                hint="review catalog/ like code, or remove the row to use gpugen's",
            )


def _overrides(spec: ClusterSpec) -> Iterator[tuple[str, Pointer]]:
    distribution = spec.kubernetes.distribution
    if spec.release.is_override:
        yield f"release {spec.release.id!r}", ROOT / "release"
    if distribution.is_override:
        yield f"distribution {distribution.id!r}", spec.kubernetes.at / "distribution"
    for pool in spec.pools:
        yield from _of_pool(pool)


def _of_pool(pool: NodePool) -> Iterator[tuple[str, Pointer]]:
    model, branch = pool.at / "gpu" / "model", pool.host.driver.branch
    if pool.gpu.is_override:
        yield f"GPU model {pool.gpu.id!r}", model
    if pool.gpu.geometry is not None and pool.gpu.geometry.is_override:
        yield f"MIG geometry {pool.gpu.geometry.id!r}", model
    if pool.host.os.is_override:
        yield f"operating system {pool.host.os.id!r}", pool.host.at / "os"
    if branch is not None and branch.is_override:
        yield f"driver branch {branch.id}", pool.host.at / "driver" / "version"

"""Checks of the names that MIG instances get: resources, labels."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.checks.mig import instance_entries, is_known
from gpugen.gpu import mig
from gpugen.gpu.devices import plugin_version
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec, MigStrategy, NodePool

LABEL_LIMIT = 63
SHARED = "-SHARED"


@check("mig-profile-not-advertised", "GG-11", at_key=True)
def not_advertised(spec: ClusterSpec) -> Iterator[Problem]:
    """This device plugin version would register the MIG instance under another name, or not at all.

    Before v0.20.0 it matches profiles by a part of their name, so 1g.5gb+me is registered as
    mig-1g.5gb, and 1c.3g.20gb as mig-3g.20gb. Only with strategy mixed: single has one name.
    Source: k8s-device-plugin v0.19.3, observed.
    """
    version = plugin_version(spec)
    for pool, entry, geometry in instance_entries(spec):
        if pool.mig.strategy is not MigStrategy.MIXED:
            continue
        for profile in entry.profiles:
            if is_known(geometry, profile) and not mig.is_advertised(profile, version):
                yield Problem(
                    at=entry.at / "profiles" / profile,
                    message=f"device plugin {version} does not register {profile!r} under its"
                    " own name",
                    hint=_instead(pool, profile),
                    pool=pool.name,
                )


def _instead(pool: NodePool, profile: str) -> str:
    """Return what to write instead of a profile that the plugin of the release misnames."""
    name = mig.parse_profile(profile)
    if name.compute < name.slices:
        return f"use whole instances ({name.gpu_instance}), or strategy: single"
    is_alike = all(tuple(entry.profiles) == (profile,) for entry in pool.mig.layout)
    single = "write strategy: single, since all GPUs have the same layout, or " if is_alike else ""
    return (
        f'{single}write components: {{device-plugin: {{version: "0.20.0"}}}}, which is not tested'
        " with this release, or use a profile without attributes"
    )


@check("mig-product-label-too-long", "GG-09", severity=Severity.WARNING)
def label_too_long(spec: ClusterSpec) -> Iterator[Problem]:
    """A label value has at most 63 characters; nodes do not get a longer one.

    Source: Kubernetes, labels and selectors; node-feature-discovery v0.18.3, pkg/nfd-master: a
    label that is not valid is ignored.
    """
    for pool in spec.pools:
        for key, value in pool.prediction.labels.items():
            if len(value) > LABEL_LIMIT:
                renamed = value.removesuffix(SHARED)
                is_cured = len(renamed) <= LABEL_LIMIT  # else rename would change nothing
                rename = f"write sharing.rename: true, which drops {SHARED}, or "
                yield Problem(
                    at=pool.at / ("sharing" if is_cured else "mig"),
                    message=f"label {key} of pool {POOL} would be {len(value)} characters long,"
                    f" so the nodes do not get it: {value}",
                    hint=f"{rename if is_cured else ''}do not select nodes by it",
                    pool=pool.name,
                )
                break

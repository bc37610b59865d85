"""Checks of MIG: profiles, placement, strategy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.gpu import mig
from gpugen.gpu.devices import geometries, plugin_version
from gpugen.model.catalog import MigGeometry
from gpugen.model.spec import ClusterSpec, MigEntry, MigStrategy, NodePool

ADVICE = 3  # layouts that a hint names
MOST_ADVICE = 64  # layouts considered for the hint


def _entries(spec: ClusterSpec) -> Iterator[tuple[NodePool, MigEntry]]:
    return ((pool, entry) for pool in spec.pools for entry in pool.mig.layout)


def instance_entries(spec: ClusterSpec) -> Iterator[tuple[NodePool, MigEntry, MigGeometry]]:
    """List the entries with instances, of GPU models that have a geometry."""
    for pool, entry in _entries(spec):
        if entry.profiles and pool.gpu.geometry is not None:
            yield pool, entry, pool.gpu.geometry


def is_known(geometry: MigGeometry, profile: str) -> bool:
    """Tell whether a GPU model has a profile, or a GPU instance for such compute instances."""
    return not isinstance(mig.gpu_instances(geometry, {profile: 1}), mig.Refusal)


@check("mig-gpu-cannot", "GG-11")
def cannot(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU model has no MIG, or its MIG profiles are not documented.

    mig-parted skips such GPUs, or fails on the node. Source: the GPU model's row in the catalogue.
    """
    for pool in spec.pools:
        if not pool.mig.layout or pool.gpu.geometry is not None:
            continue
        gpu = pool.gpu
        hint = "add its geometry to your catalogue with a source (docs/specs/catalog.md)"
        if gpu.is_mig_capable:
            message = f"the MIG profiles of {gpu.id} are not documented"
        elif gpu.is_mig_capable is None:
            message = f"whether {gpu.id} has MIG is not documented"
        else:
            message = f"{gpu.id} has no MIG"
            hint = "remove mig; use sharing to share whole GPUs"
        yield Problem(
            at=pool.mig.at / "layout",
            message=message,
            hint=hint,
            pool=pool.name,
        )


@check("mig-unknown-profile", "GG-11", at_key=True)
def unknown_profile(spec: ClusterSpec) -> Iterator[Problem]:
    """The GPU model has no such profile; mig-parted would exit 0 and create nothing.

    Source: MIG user guide v620; mig-parted v0.13.1, observed.
    """
    for pool, entry, geometry in instance_entries(spec):
        for profile in entry.profiles:
            if not is_known(geometry, profile):
                known = ", ".join(geometry.profiles)
                near = mig.nearest(geometry, {profile: entry.profiles[profile]}, limit=1)
                same = {_letters(name): name for name in geometry.profiles}
                better = same.get(_letters(profile)) or (mig.spelled(near[0]) if near else "")
                meant = f"did you mean {better}? " if better else ""
                yield Problem(
                    at=entry.at / "profiles" / profile,
                    message=f"{pool.gpu.id} has no MIG profile {profile!r}",
                    hint=f"{meant}profiles: {known}",
                    pool=pool.name,
                )


def _letters(profile: str) -> str:
    """Return a profile's letters and digits, without the prefixes of resources and layouts."""
    bare = re.sub(r"^(?:nvidia\.com/)?(?:mig[- ]|all-)?", "", profile.lower())
    return re.sub(r"[^a-z0-9]", "", bare)


@check("mig-does-not-fit", "GG-11")
def does_not_fit(spec: ClusterSpec) -> Iterator[Problem]:
    """These instances do not fit on one GPU together; the GPU would be left without any.

    Decided by placement, not by adding slices. Source: the geometry's placements in the catalogue.
    """
    for pool, entry, geometry in instance_entries(spec):
        if not all(is_known(geometry, profile) for profile in entry.profiles):
            continue
        refusal = mig.fit(geometry, entry.profiles)
        if isinstance(refusal, mig.Refusal):
            near = _advice(spec, pool, entry, geometry)
            asked = mig.spelled(entry.profiles)
            yield Problem(
                at=entry.at / "profiles",
                message=f"{asked} does not fit: {refusal.message.removeprefix(f'{asked}, but ')}",
                hint="nearest layouts that fit: "
                + "; ".join(mig.spelled(layout) for layout in near),
                pool=pool.name,
            )


def _advice(
    spec: ClusterSpec, pool: NodePool, entry: MigEntry, geometry: MigGeometry
) -> list[dict[str, int]]:
    """List the nearest layouts that fit; those first that strategy and plugin accept."""
    version, strategy = plugin_version(spec), pool.mig.strategy

    def is_taken(layout: mig.Layout) -> bool:
        if strategy is MigStrategy.SINGLE:
            return len(layout) == 1
        return strategy is MigStrategy.NONE or all(
            mig.is_advertised(profile, version) for profile in layout
        )

    near = mig.nearest(geometry, entry.profiles, limit=MOST_ADVICE)
    return ([layout for layout in near if is_taken(layout)] or near)[:ADVICE]


@check("mig-gpu-index", "GG-11")
def index(spec: ClusterSpec) -> Iterator[Problem]:
    """The node has no GPU with that index; mig-parted would ignore the rest of the entry."""
    for pool, entry in _entries(spec):
        beyond = [i for i in entry.gpus if i >= pool.gpu_count]
        if beyond:
            yield Problem(
                at=entry.at / "gpus",
                message=f"pool {POOL} has GPUs 0 to {pool.gpu_count - 1}, not {beyond[0]}",
                hint="GPU indices start at 0" + _and_missing(pool),
                pool=pool.name,
            )


@check("mig-gpu-twice", "GG-11")
def twice(spec: ClusterSpec) -> Iterator[Problem]:
    """Two entries have the same GPU; mig-parted applies both, and the last one wins."""
    for pool in spec.pools:
        seen: set[int] = set()
        for entry in pool.mig.layout:
            again = sorted(seen & set(entry.gpus))
            if again:
                yield Problem(
                    at=entry.at / "gpus",
                    message=f"GPU {again[0]} of pool {POOL} is in two entries of the MIG layout",
                    hint="list every GPU once" + _and_missing(pool),
                    pool=pool.name,
                )
            seen |= set(entry.gpus)


@check("mig-gpu-not-covered", "GG-11")
def not_covered(spec: ClusterSpec) -> Iterator[Problem]:
    """A GPU without an entry keeps the layout that it has, so its resources cannot be predicted."""
    for pool in spec.pools:
        named = [i for entry in pool.mig.layout for i in entry.gpus]
        if len(set(named)) < len(named) or max(named, default=0) >= pool.gpu_count:
            continue  # has its own finding, which also lists missing GPUs
        text = ", ".join(map(str, _missing(pool)))
        if text:
            yield Problem(
                at=pool.mig.at / "layout",
                message=f"no entry of the MIG layout has GPU {text} of pool {POOL}",
                hint=f"add {{gpus: [{text}], profiles: {{…}}}}; profiles: {{}} disables MIG on"
                " them",
                pool=pool.name,
            )


def _missing(pool: NodePool) -> list[int]:
    """List the GPUs that have no entry in a layout that names GPUs."""
    named = {i for entry in pool.mig.layout for i in entry.gpus}
    return [i for i in range(pool.gpu_count) if i not in named] if named else []


def _and_missing(pool: NodePool) -> str:
    text = ", ".join(map(str, _missing(pool)))
    return f"; no entry has GPU {text}" if text else ""


@check("mig-single-not-uniform", "GG-12")
def single(spec: ClusterSpec) -> Iterator[Problem]:
    """With strategy single every GPU must have the same single profile.

    Otherwise the device plugin exits and GPU feature discovery prints -MIG-INVALID with count 0.
    Source: k8s-device-plugin v0.19.3, internal/rm and internal/lm, observed.
    """
    for pool in spec.pools:
        if pool.mig.strategy is not MigStrategy.SINGLE or not pool.mig.has_instances:
            continue
        profiles: Counter[str] = Counter()
        for gpu in geometries(pool.gpu_count, pool.mig):
            profiles.update(gpu)
        # A GPU without an entry has its own finding.
        if len(profiles) > 1 or not all(entry.profiles for entry in pool.mig.layout):
            found = "several profiles" if len(profiles) > 1 else "GPUs with and without MIG"
            yield Problem(
                at=pool.mig.at / "strategy",
                message=f"pool {POOL} has {found}, which MIG strategy 'single' does not allow",
                hint="write strategy: mixed, or give every GPU the same profile",
                pool=pool.name,
            )


@check("mig-strategy-none-with-instances", "GG-03")
def none_with_instances(spec: ClusterSpec) -> Iterator[Problem]:
    """With strategy none the plugin advertises MIG GPUs as whole GPUs, which pods cannot use.

    Source: k8s-device-plugin v0.19.3, internal/rm.
    """
    for pool in spec.pools:
        if pool.mig.strategy is MigStrategy.NONE and pool.mig.has_instances:
            yield Problem(
                at=pool.mig.at / "strategy",
                message=f"pool {POOL} has MIG instances, but strategy 'none' advertises whole GPUs",
                hint="write strategy: mixed or single, or profiles: {} to disable MIG",
                pool=pool.name,
            )


@check("mig-without-layout", "GG-05")
def without_layout(spec: ClusterSpec) -> Iterator[Problem]:
    """Without a MIG layout no GPU is partitioned, so strategy and manager have no effect."""
    for pool in spec.pools:
        if pool.mig.layout:
            continue
        if pool.mig.at in spec.stated:
            yield Problem(
                at=pool.mig.at,
                message=f"mig of pool {POOL} has no layout, so it has no effect",
                hint="add a layout, or remove mig",
                pool=pool.name,
            )

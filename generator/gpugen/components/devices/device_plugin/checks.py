"""Checks of the device plugin."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.gpu.devices import plugin_version
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec, SharingMode
from gpugen.text.versions import is_older

LABELS_BY_API = "0.19.0"  # before, feature discovery writes a file that nothing here reads
MPS_AND_LABELS = "0.15.0"  # before, the image has neither MPS daemon nor feature discovery


@check("device-plugin-no-advertiser", "GG-14")
def no_advertiser(spec: ClusterSpec) -> Iterator[Problem]:
    """In stack device-plugin, the device plugin registers GPUs with the kubelet.

    Without it, nodes advertise no GPU resources and all GPU pods stay Pending. A node must have
    exactly one advertiser: if two register the same name, the last one wins silently. Source:
    k8s-device-plugin v0.19.3, internal/plugin/server.go, Register.
    """
    if spec.stack == "device-plugin" and "device-plugin" not in spec.options:
        yield Problem(
            at=spec.at / "components" / "device-plugin",
            message="stack 'device-plugin' without the component device-plugin advertises no GPU",
            hint="remove device-plugin: false, or set its options",
        )


@check(
    "device-plugin-version-not-judged",
    "GG-19",
    severity=Severity.WARNING,
    component="device-plugin",
)
def version_not_tested(spec: ClusterSpec) -> Iterator[Problem]:
    """Resource names, counts and labels are predicted for the release's version of the plugin.

    Another version may name MIG profiles with attributes differently, or ignore a configuration
    key. Source: k8s-device-plugin v0.20.0 against v0.19.3, internal/rm and api/config/v1.
    """
    shipped = spec.release.images["device-plugin"].tag.removeprefix("v")
    chosen = plugin_version(spec)
    if chosen != shipped and not _shortfall(spec):
        yield Problem(
            at=spec.at / "components" / "device-plugin" / "version",
            message=f"device plugin version {chosen!r} is not tested with this release",
            hint=f"remove version to use {shipped}, or verify yourself what the nodes advertise",
        )


@check("device-plugin-version-too-old", "GG-19", component="device-plugin")
def version_too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """An older image does not support what is rendered: labels or shared units never appear.

    Before v0.19.0 GPU feature discovery does not publish NodeFeatures by default; before v0.15.0
    neither it nor the MPS control daemon is in the image. Source: k8s-device-plugin CHANGELOG.md,
    v0.19.0 (#1504) and v0.15.0.
    """
    shortfall = _shortfall(spec)
    if shortfall:
        floor, what = shortfall
        yield Problem(
            at=spec.at / "components" / "device-plugin" / "version",
            message=f"device plugin version {plugin_version(spec)!r} {what}",
            hint=f"use {floor} or newer, or remove version",
        )


def _shortfall(spec: ClusterSpec) -> tuple[str, str] | None:
    """Return the first version that has what the spec needs, and what an older one does."""
    version = plugin_version(spec)
    if "gpu-feature-discovery" in spec.options and is_older(version, LABELS_BY_API):
        return LABELS_BY_API, "has a GPU feature discovery whose labels reach no node"
    has_mps = any(pool.sharing.mode is SharingMode.MPS for pool in spec.pools)
    if has_mps and is_older(version, MPS_AND_LABELS):
        return MPS_AND_LABELS, "does not support MPS"
    return None

"""Checks of the device plugin."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.gpu.devices import plugin_version
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec, SharingMode
from gpugen.text.versions import is_older

LABELS_BY_API = "0.19.0"  # before, feature discovery writes a file that nobody reads here
MPS_AND_LABELS = "0.15.0"  # before, the image has neither MPS daemon nor feature discovery


@check("device-plugin-no-advertiser", "GG-14")
def no_advertiser(spec: ClusterSpec) -> Iterator[Problem]:
    """With the stack device-plugin, the device plugin is what tells the kubelet about GPUs.

    Switched off, nodes have 0 units of every resource and all GPU pods stay Pending. Exactly one
    advertiser serves a node: two register the same name, and the last one wins silently.
    Source: k8s-device-plugin v0.19.3, internal/plugin/server.go, Register.
    """
    if spec.stack == "device-plugin" and "device-plugin" not in spec.options:
        yield Problem(
            at=spec.at / "components" / "device-plugin",
            message="stack 'device-plugin' without the component device-plugin advertises no GPU",
            hint="leave device-plugin out or set its options",
        )


@check(
    "device-plugin-version-not-judged",
    "GG-19",
    severity=Severity.WARNING,
    component="device-plugin",
)
def version_not_judged(spec: ClusterSpec) -> Iterator[Problem]:
    """Names, counts and labels are predicted as the release's version of the plugin gives them.

    Another version may name MIG profiles with attributes differently, drop a key of its
    configuration silently, or know one more.
    Source: k8s-device-plugin v0.20.0 against v0.19.3, internal/rm and api/config/v1.
    """
    shipped = spec.release.images["device-plugin"]["tag"].removeprefix("v")
    chosen = plugin_version(spec)
    if chosen != shipped and not _lacks(spec):
        yield Problem(
            at=spec.at / "components" / "device-plugin" / "version",
            message=f"version {chosen!r} of the plugin was not judged with this release",
            hint=f"leave version out for {shipped}, or compare what the nodes advertise yourself",
        )


@check("device-plugin-version-too-old", "GG-19", component="device-plugin")
def version_too_old(spec: ClusterSpec) -> Iterator[Problem]:
    """An older image lacks what is rendered for it, so labels or shared units never appear.

    Before v0.19.0 GPU feature discovery publishes no NodeFeature unless told to; before v0.15.0
    neither it nor the MPS daemon is in the image.
    Source: k8s-device-plugin CHANGELOG.md, v0.19.0 (#1504) and v0.15.0.
    """
    lacking = _lacks(spec)
    if lacking:
        floor, what = lacking
        yield Problem(
            at=spec.at / "components" / "device-plugin" / "version",
            message=f"version {plugin_version(spec)!r} of the plugin {what}",
            hint=f"take {floor} or newer, or leave version out",
        )


def _lacks(spec: ClusterSpec) -> tuple[str, str] | None:
    """Return the first version that has what the spec needs, and what an older one does."""
    version = plugin_version(spec)
    if "gpu-feature-discovery" in spec.options and is_older(version, LABELS_BY_API):
        return LABELS_BY_API, "comes with a GPU feature discovery whose labels reach no node"
    has_mps = any(pool.sharing.mode is SharingMode.MPS for pool in spec.pools)
    if has_mps and is_older(version, MPS_AND_LABELS):
        return MPS_AND_LABELS, "shares nothing by MPS"
    return None

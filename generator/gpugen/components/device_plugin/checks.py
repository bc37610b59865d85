"""Checks of the device plugin."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec


@check("device-plugin-no-advertiser", "GG-14")
def no_advertiser(spec: ClusterSpec) -> Iterator[Problem]:
    """With the stack device-plugin, the device plugin is what tells the kubelet about GPUs.

    Switched off, nodes have 0 units of every resource and all GPU pods stay Pending. Exactly one
    advertiser serves a node: two register the same name, and the last one wins silently.
    Source: k8s-device-plugin v0.19.3, internal/plugin/server.go, Register.
    """
    if spec.stack == "device-plugin" and "device-plugin" not in spec.options:
        yield (
            spec.at / "components" / "device-plugin",
            "stack 'device-plugin' without the component device-plugin advertises no GPU",
            "leave device-plugin out or set its options",
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
    chosen = spec.options["device-plugin"].get("version", shipped)
    if chosen != shipped:
        yield (
            spec.at / "components" / "device-plugin" / "version",
            f"version {chosen!r} of the plugin was not judged with this release",
            f"leave version out for {shipped}, or compare what the nodes advertise yourself",
        )

"""Checks of what concerns the cluster as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.finding import ROOT, Severity
from gpugen.model.options import Guardrails
from gpugen.model.platform import Distribution
from gpugen.model.spec import ClusterSpec
from gpugen.text.spelling import nearest


@check("kubernetes-version-end-of-life", severity=Severity.WARNING)
def kubernetes_end_of_life(spec: ClusterSpec) -> Iterator[Problem]:
    """This Kubernetes version no longer receives fixes. Source: kubernetes.io/releases."""
    support = spec.kubernetes.support
    if support.status == "end of life":
        when = f" on {support.end_of_life}" if support.end_of_life else ""
        yield Problem(
            at=spec.kubernetes.at / "version",
            message=f"Kubernetes {support.id} reached its end of life{when}",
            hint="plan an upgrade; gpugen still renders for this version",
        )


@check("distribution-not-supported", "GG-14", "DIST-14", "DIST-15", "DIST-16")
def distribution(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution configures its runtime, or its GPUs, in a way that gpugen does not render.

    Output that fits only partly would fail in the middle of a play, or advertise GPUs twice.
    Source: the distribution's row in the catalogue.
    """
    yield from not_rendered(spec.kubernetes.distribution)


def not_rendered(row: Distribution) -> Iterator[Problem]:
    """Yield the problem that nothing is rendered for a distribution."""
    if not row.is_supported:
        yield Problem(
            at=ROOT / "kubernetes" / "distribution",
            message=f"gpugen does not render for {row.id!r} yet: {row.reason}",
            hint="'gpugen catalog distributions' lists the supported ones",
        )


@check("container-runtime-not-supported", "DIST-01")
def container_runtime(spec: ClusterSpec) -> Iterator[Problem]:
    """A distribution that ships its own containerd runs pods only there.

    A container toolkit configured only for CRI-O or Docker has no effect on its pods. Source: the
    distribution's row in the catalogue.
    """
    runtime, row = spec.kubernetes.container_runtime, spec.kubernetes.distribution
    if row.is_supported and row.runtime.is_bundled and runtime != "containerd":
        yield Problem(
            at=spec.kubernetes.at / "containerRuntime",
            message=f"{row.id} ships its own containerd, so {runtime!r} runs none of its pods",
            hint="remove containerRuntime; list another runtime of the hosts under"
            " containerToolkit.furtherRuntimes",
        )


@check("device-list-strategy-without-reader", "DIST-01")
def strategy_without_reader(spec: ClusterSpec) -> Iterator[Problem]:
    """cri-dockerd passes on CDI devices of the CRI's own field, and ignores CDI annotations.

    With cdi-annotations, pods would be admitted and start, but see no GPU. Source: cri-dockerd,
    core/container_create.go; k8s-device-plugin v0.19.3, internal/plugin/server.go.
    """
    strategies = spec.device_list_strategy
    if spec.kubernetes.container_runtime == "docker" and "cdi-annotations" in strategies:
        yield Problem(
            at=spec.at / "deviceListStrategy",
            message="Docker ignores CDI annotations of pods, so deviceListStrategy"
            " 'cdi-annotations' has no effect",
            hint="write deviceListStrategy: cdi-cri, or remove it to use envvar",
        )


@check("namespaces-not-separate", "GG-13")
def namespaces(spec: ClusterSpec) -> Iterator[Problem]:
    """Agents need the Pod Security level privileged; controllers run at restricted.

    A namespace has one level. The namespaces must be gpugen's alone, because they carry its labels
    and quota.
    """
    names = spec.namespaces
    if names.agents == names.controllers:
        yield Problem(
            at=ROOT / "namespaces" / "controllers",
            message=f"agents and controllers share the namespace {names.agents!r}",
            hint="use two namespaces: one privileged, one restricted",
        )
    for key, name in (("agents", names.agents), ("controllers", names.controllers)):
        if name == "default" or name.startswith("kube-"):
            yield Problem(
                at=ROOT / "namespaces" / key,
                message=f"{name!r} belongs to Kubernetes",
                hint="use a namespace of its own, such as gpu-agents",
            )


@check("access-without-context", severity=Severity.WARNING)
def access_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """The play must reach the cluster to label nodes; without the label no agent runs there.

    Every agent selects the label gpugen/pool, which the host play sets through kubectl.
    """
    if not spec.access.kubeconfig_context:
        yield Problem(
            at=spec.access.at if spec.access.at in spec.stated else ROOT,
            message="no access.kubeconfigContext: the play cannot label nodes, so no agent will"
            " run",
            hint="write the kubectl context on the control host, such as kubeconfigContext:"
            " lab-admin",
        )


@check("access-uid-without-context")
def uid_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """clusterUID is compared through kubectl; without a context nothing is compared."""
    if spec.access.cluster_uid and not spec.access.kubeconfig_context:
        yield Problem(
            at=spec.access.at / "clusterUID",
            message="clusterUID has no effect without kubeconfigContext",
            hint="write kubeconfigContext too, or remove clusterUID",
        )


@check("images-previous-registry-without-effect")
def previous_registries(spec: ClusterSpec) -> Iterator[Problem]:
    """previousRegistries only matter to the admission policy over the agents' namespace.

    Releases before 2026.12 have no such policy, nor has a cluster with guardrails off.
    """
    at = spec.images.at / "previousRegistries"
    guardrails = spec.find(Guardrails)
    is_on = guardrails is not None and not guardrails.is_off
    is_checked = spec.release.features.agent_policy and is_on
    for i, registry in enumerate(spec.images.previous_registries):
        if not is_checked:
            yield Problem(
                at=at / i,
                message="previousRegistries has no effect: no policy checks the registry of"
                " agents' images",
                hint="remove it",
            )
        elif registry == spec.images.registry:
            yield Problem(
                at=at / i,
                message=f"{registry} is the current registry, not a previous one",
                hint="remove it",
            )


@check("images-digest-without-image", at_key=True)
def digests(spec: ClusterSpec) -> Iterator[Problem]:
    """A digest pins the image of a component that is on; elsewhere it has no effect."""
    for name in spec.images.digests:
        if name in spec.release.images and name in spec.options:
            continue
        at = spec.images.at / "digests" / name
        if name in spec.release.images:
            yield Problem(
                at=at, message=f"component {name!r} is switched off", hint="remove its digest"
            )
            continue
        near = nearest(name, spec.release.images)
        known = ", ".join(sorted(spec.release.images))
        hint = f"did you mean {near!r}?" if near else f"components with an image: {known}"
        yield Problem(at=at, message=f"no component {name!r} has an image", hint=hint)

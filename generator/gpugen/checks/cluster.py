"""Checks of what concerns the cluster as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.catalog import Distribution
from gpugen.model.finding import ROOT, Severity
from gpugen.model.spec import ClusterSpec
from gpugen.text.spelling import nearest


@check("kubernetes-version-end-of-life", severity=Severity.WARNING)
def kubernetes_end_of_life(spec: ClusterSpec) -> Iterator[Problem]:
    """The version of Kubernetes gets no fixes any more. Source: kubernetes.io/releases."""
    support = spec.kubernetes.support
    if support.status == "end of life":
        when = f" on {support.end_of_life}" if support.end_of_life else ""
        yield Problem(
            at=spec.kubernetes.at / "version",
            message=f"Kubernetes {support.id} reached its end of life{when}",
            hint="plan the upgrade; gpugen still renders for it",
        )


@check("distribution-not-supported", "GG-14", "DIST-14", "DIST-15", "DIST-16")
def distribution(spec: ClusterSpec) -> Iterator[Problem]:
    """The distribution configures its runtime, or its GPUs, in a way that gpugen does not render.

    A half-fitting output would fail in the middle of a play, or advertise GPUs twice. Source:
    the distribution's row in the catalogue.
    """
    yield from not_rendered(spec.kubernetes.distribution)


def not_rendered(row: Distribution) -> Iterator[Problem]:
    """Say that nothing is rendered for a distribution, and why."""
    if not row.is_supported:
        yield Problem(
            at=ROOT / "kubernetes" / "distribution",
            message=f"gpugen does not render for {row.id!r} yet: {row.reason}",
            hint="supported are kubeadm, k3s, rke2 and k0s; 'gpugen catalog distributions' says"
            " more",
        )


@check("container-runtime-not-supported", "DIST-01")
def container_runtime(spec: ClusterSpec) -> Iterator[Problem]:
    """A distribution that brings its own containerd runs its pods there, and nowhere else.

    A toolkit that only CRI-O or docker knows is then unknown where pods start. Source: the
    distribution's row in the catalogue.
    """
    runtime, row = spec.kubernetes.container_runtime, spec.kubernetes.distribution
    if row.is_supported and row.row["runtime"]["bundled"] and runtime != "containerd":
        yield Problem(
            at=spec.kubernetes.at / "containerRuntime",
            message=f"{row.id} brings its own containerd, so {runtime!r} runs none of its pods",
            hint="leave containerRuntime out; another runtime on the hosts is "
            "containerToolkit.furtherRuntimes",
        )


@check("device-list-strategy-without-reader", "DIST-01")
def strategy_without_reader(spec: ClusterSpec) -> Iterator[Problem]:
    """cri-dockerd hands CDI devices of the CRI's own field on, and reads no annotations for them.

    With cdi-annotations pods would be admitted, start and see no GPU. Source: cri-dockerd,
    core/container_create.go; k8s-device-plugin v0.19.3, internal/plugin/server.go.
    """
    strategies = spec.device_list_strategy
    if spec.kubernetes.container_runtime == "docker" and "cdi-annotations" in strategies:
        yield Problem(
            at=spec.at / "deviceListStrategy",
            message="docker reads no CDI annotations of pods, so deviceListStrategy"
            " 'cdi-annotations' has"
            " no effect",
            hint="write deviceListStrategy: cdi-cri, or leave it out for envvar",
        )


@check("namespaces-not-separate", "GG-13")
def namespaces(spec: ClusterSpec) -> Iterator[Problem]:
    """Agents need the Pod Security level privileged, controllers get restricted.

    One namespace has one level; and what gpugen owns must not be a namespace of others, because
    the objects in it carry our quota and our labels.
    """
    names = spec.namespaces
    if names.agents == names.controllers:
        yield Problem(
            at=ROOT / "namespaces" / "controllers",
            message=f"agents and controllers share the namespace {names.agents!r}",
            hint="give them two namespaces: one privileged, one restricted",
        )
    for key, name in (("agents", names.agents), ("controllers", names.controllers)):
        if name == "default" or name.startswith("kube-"):
            yield Problem(
                at=ROOT / "namespaces" / key,
                message=f"{name!r} belongs to Kubernetes",
                hint="take a namespace that gpugen may own, such as gpu-agents",
            )


@check("access-without-context", severity=Severity.WARNING)
def access_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """Nothing runs on a node before the play has labelled it, for which it needs the cluster.

    Every agent selects the label gpugen/pool, which the host play sets through kubectl.
    """
    if not spec.access.kubeconfig_context:
        yield Problem(
            at=spec.access.at if spec.access.at in spec.stated else ROOT,
            message="no access.kubeconfigContext: the play cannot label nodes, so no agent will"
            " run",
            hint="name the context of kubectl on the control host, such as lab-admin",
        )


@check("access-uid-without-context")
def uid_without_context(spec: ClusterSpec) -> Iterator[Problem]:
    """clusterUID is compared through kubectl; without a context nobody compares it."""
    if spec.access.cluster_uid and not spec.access.kubeconfig_context:
        yield Problem(
            at=spec.access.at / "clusterUID",
            message="clusterUID has no effect without kubeconfigContext",
            hint="name the context, or leave clusterUID out",
        )


@check("images-previous-registry-without-effect")
def previous_registries(spec: ClusterSpec) -> Iterator[Problem]:
    """Registries that are being left are let in by the policy over the agents' namespace alone.

    Releases before 2026.12 have none, nor has a cluster whose guardrails are off.
    """
    at = spec.images.at / "previousRegistries"
    is_judged = (
        spec.release.features.agent_policy
        and spec.options.get("guardrails", {"mode": "off"})["mode"] != "off"
    )
    for i, registry in enumerate(spec.images.previous_registries):
        if not is_judged:
            yield Problem(
                at=at / i,
                message="nothing asks where images of agents come from",
                hint="leave it out",
            )
        elif registry == spec.images.registry:
            yield Problem(
                at=at / i, message=f"{registry} is the registry that is in use", hint="leave it out"
            )


@check("images-digest-without-image", at_key=True)
def digests(spec: ClusterSpec) -> Iterator[Problem]:
    """A digest pins the image of a component; a name without an image pins nothing."""
    for name in spec.images.digests:
        if name in spec.release.images and name in spec.options:
            continue
        at = spec.images.at / "digests" / name
        if name in spec.release.images:
            yield Problem(
                at=at, message=f"component {name!r} is switched off", hint="leave its digest out"
            )
            continue
        near = nearest(name, spec.release.images)
        known = ", ".join(sorted(spec.release.images))
        hint = f"did you mean {near!r}?" if near else f"components with an image: {known}"
        yield Problem(at=at, message=f"no component {name!r} has an image", hint=hint)

"""Checks of what Argo CD or Flux reads."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.model.spec import ClusterSpec


@check("delivery-argocd-without-repository")
def argocd_repository(spec: ClusterSpec) -> Iterator[Problem]:
    """An Application needs the repository that it follows. Source: Argo CD v3, Application."""
    if spec.delivery.engine == "argocd" and not spec.delivery.repo_url:
        yield Problem(
            at=spec.delivery.at / "engine",
            message="the Argo CD Application has no repository to follow",
            hint="add delivery.repoURL, the address of the repository that holds out/",
        )


@check("delivery-flux-without-source")
def flux_source(spec: ClusterSpec) -> Iterator[Problem]:
    """A Flux Kustomization reads from a source object, existing or rendered by gpugen."""
    delivery = spec.delivery
    if delivery.engine == "flux" and not delivery.repo_url and delivery.flux.source_ref is None:
        yield Problem(
            at=delivery.at / "engine",
            message="the Flux Kustomizations have no source",
            hint="add delivery.flux.sourceRef, such as {kind: GitRepository, name: flux-system},"
            " or delivery.repoURL to render a source",
        )


@check("delivery-flux-address")
def flux_address(spec: ClusterSpec) -> Iterator[Problem]:
    """Flux sources do not accept the short (scp-like) form of SSH addresses.

    Source: fluxcd/source-controller v1.9, GitRepository, pattern of spec.url.
    """
    delivery = spec.delivery
    if delivery.engine == "flux" and delivery.repo_url.startswith("git@"):
        host, _, path = delivery.repo_url.partition(":")
        yield Problem(
            at=delivery.at / "repoURL",
            message=f"Flux does not accept the address {delivery.repo_url!r}",
            hint=f"write ssh://{host}/{path}",
        )


@check("delivery-without-engine", "GG-05", at_key=True)
def without_engine(spec: ClusterSpec) -> Iterator[Problem]:
    """Without an engine nothing is delivered, so the other fields have no effect."""
    stated = spec.stated.keys(spec.delivery.at)
    if stated and "engine" not in stated:
        yield Problem(
            at=spec.delivery.at,
            message=f"delivery has no engine, so {', '.join(sorted(stated))} has no effect",
            hint="write engine: argocd or engine: flux, or remove delivery",
        )


@check("delivery-without-effect", "GG-05", at_key=True)
def without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """A field of one delivery engine has no effect with another."""
    stated = spec.stated.keys(spec.delivery.at)
    engine = spec.delivery.engine
    if stated and "engine" not in stated:
        return
    used = {
        "argocd": {"engine", "repoURL", "revision", "path", "argocd"},
        "flux": {"engine", "repoURL", "revision", "path", "flux"},
        "none": {"engine"},
    }[engine]
    if engine == "flux" and spec.delivery.flux.source_ref:
        used -= {"repoURL", "revision"}
    for key in stated:
        if key not in used:
            hint = f"remove {key}, or choose another engine"
            if engine == "flux" and key in ("repoURL", "revision"):
                hint = f"remove {key}; the object of flux.sourceRef has it"
            yield Problem(
                at=spec.delivery.at / key,
                message=f"{key} has no effect with engine {engine!r}",
                hint=hint,
            )

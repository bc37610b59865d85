"""The README of the delivery objects: who applies them, and what they require."""

from __future__ import annotations

from typing import NamedTuple

from gpugen.kube import scheduling
from gpugen.model.spec import ClusterSpec
from gpugen.text import templates


class SyncReadme(NamedTuple):
    """What the templates receive; empty is what there is not."""

    source: str
    cluster: str
    path: str
    namespace: str
    project: str  # of Argo CD
    own_source: str  # address that a source of ours fetches, for Flux
    given_source: str  # name of a source of the user's
    second_scheduler: bool  # pods are sent to it, behind its Deployment
    main_scheduler: bool  # pods are sent to its profile, once a play has proved it


def readme(spec: ClusterSpec) -> str:
    """Return the text for the engine of the spec."""
    delivery = spec.delivery
    is_argocd = delivery.engine == "argocd"
    given = None if is_argocd else delivery.flux.source_ref
    names = bool(scheduling.name(spec)) and scheduling.completes(spec)
    is_second = scheduling.is_waited_for(spec)
    values = SyncReadme(
        source=spec.source,
        cluster=spec.name,
        path=delivery.path,
        namespace=delivery.argocd.namespace if is_argocd else delivery.flux.namespace,
        project=delivery.argocd.project if is_argocd else "",
        own_source="" if is_argocd or given else delivery.repo_url,
        given_source=given.name if given else "",
        second_scheduler=is_second,
        main_scheduler=names and not is_second and bool(spec.access.kubeconfig_context),
    )
    return templates.render(f"render/sync_{delivery.engine}.md.j2", values)

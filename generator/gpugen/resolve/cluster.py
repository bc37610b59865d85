"""The cluster: what it is made of, where its parts come from, and who applies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen import components
from gpugen.components import stacks
from gpugen.components.defaults import fill, read
from gpugen.model.access import Access
from gpugen.model.delivery import ArgoCd, Delivery, Flux, SourceRef
from gpugen.model.finding import ROOT
from gpugen.model.spec import ClusterSpec, Drain, Images, Kubernetes, Namespaces, Rollout
from gpugen.model.stated import Stated
from gpugen.resolve.context import Context
from gpugen.resolve.host_lines import control_plane, ssh
from gpugen.resolve.host_settings import missing_settings
from gpugen.resolve.pool import node_pool
from gpugen.resolve.schema import root_schema

# parts whose records have the keys of the spec, by field
_PLAIN: dict[str, Any] = {"namespaces": Namespaces, "drain": Drain, "rollout": Rollout}


def cluster(context: Context, source: str) -> ClusterSpec | None:
    """Return the spec, None if something that it names or needs is missing. source: its path."""
    data = fill(context.stated, root_schema(), root_schema())
    release = context.row(context.catalog.release, data["release"], ROOT / "release")
    kubernetes = _kubernetes(context, data["kubernetes"])
    strategies = data["deviceListStrategy"]
    strategies = (strategies,) if isinstance(strategies, str) else tuple(strategies)
    distribution = kubernetes.distribution if kubernetes else None
    pools = [
        node_pool(context, pool, index, distribution, strategies)
        for index, pool in enumerate(data["pools"])
    ]
    context.findings.extend(missing_settings(context.missing, context.stated))
    if release is None or kubernetes is None or context.findings:
        return None
    spec = ClusterSpec(
        name=data["name"],
        description=data["description"],
        source=source,
        release=release,
        kubernetes=kubernetes,
        access=_access(data["access"]),
        pools=tuple(pool for pool in pools if pool is not None),
        control_plane=control_plane(data["controlPlane"], context.hosts),
        stack=data["stack"],
        options={},
        images=_images(data["images"]),
        device_list_strategy=strategies,
        delivery=_delivery(data["delivery"], data["name"]),
        stated=Stated(context.stated),
        at=ROOT,
        **{name: read(kind, data[name]) for name, kind in _PLAIN.items()},
    )
    return spec._replace(options=_options(spec, data["components"]))


def _kubernetes(context: Context, data: Mapping[str, Any]) -> Kubernetes | None:
    at = ROOT / "kubernetes"
    distribution = context.row(
        context.catalog.distribution, data["distribution"], at / "distribution"
    )
    support = context.row(context.catalog.kubernetes, data["version"], at / "version")
    if distribution is None or support is None:
        return None
    return Kubernetes(
        version=data["version"],
        minor=int(data["version"].partition(".")[2]),
        support=support,
        distribution=distribution,
        container_runtime=data["containerRuntime"],
        at=at,
    )


def _options(spec: ClusterSpec, stated: Mapping[str, Any]) -> dict[str, tuple[Any, ...] | None]:
    """Decide which components are on and fill their options; sorted by name."""
    result: dict[str, tuple[Any, ...] | None] = {}
    for name in components.names():
        word = stated.get(name)
        if word is False or (word is None and not stacks.pools(spec, name)):
            continue
        result[name] = components.options_of(name, word if isinstance(word, dict) else {})
    return result


def _access(data: Mapping[str, Any]) -> Access:
    return Access(
        ssh=ssh(data["ssh"], ROOT / "access" / "ssh"),
        kubeconfig_context=data.get("kubeconfigContext", ""),
        cluster_uid=data.get("clusterUID", ""),
        node_names=data["nodeNames"],
        at=ROOT / "access",
    )


def _images(data: Mapping[str, Any]) -> Images:
    return Images(
        registry=data.get("registry", ""),
        pull_secrets=tuple(data["pullSecrets"]),
        digests=dict(sorted(data["digests"].items())),
        at=ROOT / "images",
        previous_registries=tuple(data["previousRegistries"]),
    )


def _delivery(data: Mapping[str, Any], cluster: str) -> Delivery:
    argocd, flux = data["argocd"], data["flux"]
    source = flux.get("sourceRef")
    return Delivery(
        engine=data["engine"],
        repo_url=data.get("repoURL", ""),
        revision=data["revision"],
        path=data.get("path", f"out/{cluster}/kustomize"),
        argocd=ArgoCd(argocd["namespace"], argocd["project"], argocd.get("destination", {})),
        flux=Flux(flux["namespace"], SourceRef(source["kind"], source["name"]) if source else None),
        at=ROOT / "delivery",
    )

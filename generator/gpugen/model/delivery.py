"""What Argo CD or Flux is pointed at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpugen.model.finding import Pointer


class ArgoCd(NamedTuple):
    """Fields of the Application."""

    namespace: str
    project: str
    destination: Mapping[str, str]  # name or server; empty: the cluster that Argo CD runs in


class SourceRef(NamedTuple):
    """The source object of Flux that holds the repository."""

    kind: str
    name: str


class Flux(NamedTuple):
    """Fields of the Kustomizations."""

    namespace: str
    source_ref: SourceRef | None  # None: one of ours


class Delivery(NamedTuple):
    """What Argo CD or Flux is pointed at."""

    engine: str  # argocd, flux, none
    repo_url: str
    revision: str
    path: str  # below the repository: the rendered kustomize folder or an overlay over it
    argocd: ArgoCd
    flux: Flux
    at: Pointer

"""The README of the Ansible half: how to run it, and what it leaves to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugen.hosts import collection
from gpugen.kube import scheduling
from gpugen.model.spec import ClusterSpec
from gpugen.text import templates


class Role(NamedTuple):
    """A role of the collection."""

    name: str
    does: str


class HostsReadme(NamedTuple):
    """What the template receives; empty is what there is not."""

    source: str
    name: str
    serial: str
    context: str  # of kubectl, where nodes are labelled and drained
    roles: tuple[Role, ...]
    scheduler: str  # the name that the main scheduler serves
    switch: str
    registration: str  # line for the kubelet's configuration


def readme(spec: ClusterSpec, roles: Sequence[str]) -> str:
    """Return the text for the cluster's roles and distribution."""
    labels_nodes = "gpu_node" in roles
    configures = "kube_scheduler" in roles and bool(spec.access.kubeconfig_context)
    distribution = spec.kubernetes.distribution
    line = distribution.registration if labels_nodes and not distribution.registration_file else ""
    values = HostsReadme(
        source=spec.source,
        name=spec.name,
        serial=", then ".join(str(size) for size in spec.rollout.serial),
        context=spec.access.kubeconfig_context if labels_nodes else "",
        roles=tuple(Role(name, collection.does(name)) for name in collection.roles()),
        scheduler=scheduling.name(spec) if configures else "",
        switch=scheduling.SWITCH,
        registration=line.replace("{pool}", "<pool>"),
    )
    return templates.render("render/hosts_readme.md.j2", values)

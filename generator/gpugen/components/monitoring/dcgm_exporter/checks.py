"""Checks of the DCGM exporter: its list of metrics, and what it reads of pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from gpugen.catalog import reading
from gpugen.checks import Problem, check
from gpugen.components.monitoring import metrics
from gpugen.kube import exporters
from gpugen.model.finding import Pointer, Severity
from gpugen.model.options import DcgmExporter, MetricRow, Prometheus
from gpugen.model.spec import ClusterSpec, NodePool

NAME = exporters.NAME
# Labels that series of GPUs or their targets carry; a pod's label of that name would hide them.
RESERVED = frozenset(
    [
        *("gpu", "UUID", "pci_bus_id", "device", "modelName", "GPU_I_PROFILE", "GPU_I_ID"),
        *("Hostname", "hostname", "err_code", "err_msg", "xid", "window_size_in_ms"),
        *("pod", "namespace", "container", "pod_uid", "vgpu", "job", "instance", "node", "pool"),
    ]
)


@cache
def _table() -> Mapping[str, Any]:
    return reading.table("dcgm-fields")


@cache
def field_ids() -> Mapping[str, int]:
    """Return all names that the CSV may hold, with the ids by which DCGM tells fields apart."""
    return {**_table()["aliases"], **_table()["fields"], **_table()["exporter"]}


def _changes(spec: ClusterSpec) -> tuple[Pointer, tuple[MetricRow, ...], tuple[str, ...]]:
    change = spec.own(DcgmExporter).metrics
    return spec.at / "components" / NAME / "metrics", change.add, change.remove


def _standard(spec: ClusterSpec) -> dict[str, NodePool]:
    """Return the fields that are exported by default, each with the first pool that has it."""
    options = spec.own(DcgmExporter)
    found: dict[str, NodePool] = {}
    for pool in spec.pools:
        for row in metrics.standard_rows(options, pool):
            found.setdefault(row.field, pool)
    return found


@check("dcgm-unknown-field", "GG-16", component=NAME)
def unknown_field(spec: ClusterSpec) -> Iterator[Problem]:
    """The exporter exits on a field that its version of DCGM does not have.

    Its pod then crash-loops, and the node has no GPU metrics. Source: NVIDIA/dcgm-exporter
    4.5.3-4.8.2 internal/pkg/counters/counter_config.go.
    """
    at, added, removed = _changes(spec)
    named = [(at / "add" / i / "field", row.field) for i, row in enumerate(added)]
    named += [(at / "remove" / i, field) for i, field in enumerate(removed)]
    for where, field in named:
        if field not in field_ids():
            near = " or ".join(get_close_matches(field, field_ids(), n=2, cutoff=0.8))
            yield Problem(
                at=where,
                message=f"DCGM of this release has no field {field!r}",
                hint=f"did you mean {near}?" if near else "use a name of DCGM's field identifiers",
            )


@check("dcgm-duplicate-field", "GG-16", component=NAME)
def duplicate_field(spec: ClusterSpec) -> Iterator[Problem]:
    """A field must be in the exporter's list once; DCGM rejects duplicates.

    Deprecated names count as the field that they mean. Source: NVIDIA/dcgm-exporter#29, #450;
    NVIDIA/go-dcgm pkg/dcgm/const_fields.go.
    """
    at, added, removed = _changes(spec)
    if not added:
        return  # the table of all fields is long to read
    seen = {field_ids()[f]: f for f in _standard(spec) if f not in removed}
    for i, row in enumerate(added):
        number = field_ids().get(row.field)
        if number is None:
            continue
        if number in seen:
            yield Problem(
                at=at / "add" / i / "field",
                message=f"{row.field} is exported already, as {seen[number]}",
                hint="remove it here, or list the other under remove",
            )
        seen[number] = row.field


@check("dcgm-field-not-a-number", "GG-16", component=NAME)
def field_not_a_number(spec: ClusterSpec) -> Iterator[Problem]:
    """Text fields can only be labels, and structures cannot be exported at all.

    The exporter would write text where a number belongs, and Prometheus would reject the whole
    scrape. Source: NVIDIA/DCGM v4.5.3 dcgmlib/src/dcgm_fields.cpp; dcgm-exporter gpu_collector.go.
    """
    at, added, _ = _changes(spec)
    for i, row in enumerate(added):
        field = row.field
        if field in _table()["binary"]:
            yield Problem(
                at=at / "add" / i / "field",
                message=f"{field} is a structure, which the exporter cannot write",
                hint="remove it",
            )
        elif field in _table()["text"] and row.type != "label":
            yield Problem(
                at=at / "add" / i / "type",
                message=f"{field} is text, not a {row.type}",
                hint="write type: label",
            )


@check("dcgm-profiling-field-without-profiling", "GG-16", component=NAME)
def profiling_field_without_profiling(spec: ClusterSpec) -> Iterator[Problem]:
    """Profiling fields need the option profiling, which grants SYS_ADMIN, and GPUs since Volta.

    Otherwise the exporter fails to watch them and exits. Source: NVIDIA/dcgm-exporter#407;
    4.5.3-4.8.2 internal/pkg/capabilities.
    """
    at, added, _ = _changes(spec)
    if any(metrics.has_profiling(spec.own(DcgmExporter), pool) for pool in spec.pools):
        return
    for i, row in enumerate(added):
        if metrics.is_profiling(row.field):
            yield Problem(
                at=at / "add" / i / "field",
                message=f"{row.field} is a profiling counter, which no pool of this cluster"
                " can read",
                hint="write profiling: true on GPUs since Volta, or remove the field",
            )


@check("dcgm-remove-without-effect", "GG-16", component=NAME)
def remove_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """A metric can be removed only where some pool's list has it."""
    at, _, removed = _changes(spec)
    standard = _standard(spec)
    for i, field in enumerate(removed):
        if field not in standard and field in field_ids():
            yield Problem(
                at=at / "remove" / i,
                message=f"{field} is in no pool's list of metrics",
                hint="remove it",
            )


@check("dcgm-pod-labels-on-shared-pools", severity=Severity.WARNING, component=NAME)
def pod_labels_on_shared_pools(spec: ClusterSpec) -> Iterator[Problem]:
    """Where several pods share a GPU, the exporter does not add labels of pods.

    Source: NVIDIA/dcgm-exporter 4.5.3-4.8.2 internal/pkg/transformation/kubernetes.go, Process.
    """
    shared = [pool.name for pool in spec.pools if metrics.is_shared(pool)]
    if spec.own(DcgmExporter).pod_labels and shared:
        yield Problem(
            at=spec.at / "components" / NAME / "podLabels",
            message=f"labels of pods do not reach the series of shared pools: {', '.join(shared)}",
            hint="do not rely on them there, or remove podLabels if all pools are shared",
        )


@check("dcgm-pod-label-collides", "GG-17", component=NAME)
def pod_label_collides(spec: ClusterSpec) -> Iterator[Problem]:
    """A pod label must not have the name of a label by which alert rules identify a GPU.

    Labels of the exporter win over those of the scrape (honorLabels). Source: NVIDIA/dcgm-exporter
    4.5.3-4.8.2 internal/pkg/utils, SanitizeLabelName.
    """
    for i, label in enumerate(spec.own(DcgmExporter).pod_labels):
        if (name := re.sub(r"[^a-zA-Z0-9_]", "_", label)) in RESERVED:
            yield Problem(
                at=spec.at / "components" / NAME / "podLabels" / i,
                message=f"label {label!r} of a pod would replace the series' own label {name!r}",
                hint="use a pod label with a prefix, such as example.com/team",
            )


@check("dcgm-static-in-the-clear", severity=Severity.WARNING, component=NAME)
def static_in_the_clear(spec: ClusterSpec) -> Iterator[Problem]:
    """In mode static anyone who reaches the node can read the metrics; no NetworkPolicy applies.

    Metrics name pods and namespaces. A web configuration adds TLS and passwords.
    """
    prometheus = spec.find(Prometheus)
    is_static = prometheus is not None and prometheus.mode == "static"
    if is_static and not spec.own(DcgmExporter).web_config:
        yield Problem(
            at=spec.at / "components" / NAME,
            message=f"the exporters serve metrics without TLS or login on port {exporters.PORT} of"
            " the nodes",
            hint="write components: {dcgm-exporter: {webConfig: {secret: dcgm-exporter-web}}}",
        )


@check("dcgm-web-login-without-secret", component=NAME)
def web_login_without_secret(spec: ClusterSpec) -> Iterator[Problem]:
    """Prometheus reads user name and password from a Secret; without it every scrape is refused."""
    web = spec.own(DcgmExporter).web_config
    if web and web.basic_auth and not web.scrape_secret:
        yield Problem(
            at=spec.at / "components" / NAME / "webConfig" / "basicAuth",
            message="basicAuth is on, but no Secret with Prometheus' user name and password is"
            " stated",
            hint="write scrapeSecret: dcgm-exporter-scrape, a Secret with username and password",
        )


@check("dcgm-per-pod-usage-without-sharing", component=NAME)
def per_pod_usage_without_sharing(spec: ClusterSpec) -> Iterator[Problem]:
    """Usage per pod concerns shared GPUs only; elsewhere a pod has a GPU to itself."""
    if spec.own(DcgmExporter).per_pod_usage and not any(map(metrics.is_shared, spec.pools)):
        yield Problem(
            at=spec.at / "components" / NAME / "perPodUsage",
            message="perPodUsage has no effect: no pool is shared",
            hint="remove it; metrics have the pod's name already",
        )

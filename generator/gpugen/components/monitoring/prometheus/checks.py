"""Checks of the scrape and the alert rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.prometheus import alerts, records, scrape
from gpugen.kube import exporters
from gpugen.model.finding import Severity
from gpugen.model.options import DcgmExporter, Prometheus
from gpugen.model.spec import ClusterSpec

NAME = "prometheus"


@check("prometheus-selector-labels-missing", "GG-18", "DIST-20", component=NAME)
def selector_labels_missing(spec: ClusterSpec) -> Iterator[Problem]:
    """The Prometheus Operator uses only objects whose labels its Prometheus selects.

    Without them there are no targets and no error message. With kube-prometheus-stack the label is
    ``release`` with the name of the Helm release (NVIDIA/gpu-operator#363).
    """
    options = spec.own(Prometheus)
    if options.mode == "service-monitor" and options.selector_labels is None:
        yield Problem(
            at=spec.at / "components" / NAME,
            message="mode 'service-monitor' without selectorLabels: Prometheus would not find"
            " the objects",
            hint="write selectorLabels: {release: <helm release>}, or {} if your Prometheus"
            " selects all",
        )


@check("prometheus-option-without-effect", "GG-18", component=NAME, at_key=True)
def option_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """selectorLabels apply to objects of the operator, which only mode service-monitor renders.

    A Prometheus outside of the cluster (mode static) has no namespace, and without the exporter
    nothing is scraped.
    """
    options = spec.own(Prometheus)
    mode = f"with mode {options.mode!r}"
    idle: dict[str, tuple[object, str]] = {}
    if options.mode != "service-monitor":
        idle["selectorLabels"] = (options.selector_labels, mode)
    if options.mode == "static":
        idle["namespace"] = (options.namespace, mode)
    if exporters.NAME not in spec.options:
        without = f"without {exporters.NAME}"
        idle["interval"] = (options.interval, without)
        idle["scrapeTimeout"] = (options.scrape_timeout, without)
    for key, (stated, why) in idle.items():
        if stated is not None:
            at = spec.at / "components" / NAME / key
            yield Problem(at=at, message=f"{key} has no effect {why}", hint="remove it")


@check("prometheus-timeout-above-interval", "GG-18", component=NAME)
def timeout_above_interval(spec: ClusterSpec) -> Iterator[Problem]:
    """A scrape must end before the next begins; otherwise Prometheus rejects the configuration."""
    options = spec.own(Prometheus)
    if exporters.NAME not in spec.options or not options.scrape_timeout:
        return
    interval, timeout = scrape.interval(spec, options), scrape.timeout(spec, options)
    if timeout > interval:
        yield Problem(
            at=spec.at / "components" / NAME / "scrapeTimeout",
            message=f"scrapeTimeout {timeout}s is longer than the interval of {interval}s",
            hint=f"write at most {interval}s",
        )


@check("prometheus-interval-below-collector", component=NAME)
def interval_below_collector(spec: ClusterSpec) -> Iterator[Problem]:
    """Scraping more often than the exporter reads GPUs stores the same values repeatedly."""
    options = spec.own(Prometheus)
    if exporters.NAME not in spec.options or not options.interval:
        return
    collector = metrics.seconds(spec.own(DcgmExporter).interval)
    if scrape.interval(spec, options) < collector:
        yield Problem(
            at=spec.at / "components" / NAME / "interval",
            message=f"interval {options.interval} is shorter than the {collector}s of"
            " dcgm-exporter",
            hint=f"write {collector}s or more, or shorten components.dcgm-exporter.interval",
        )


@check("prometheus-without-exporter", severity=Severity.WARNING, component=NAME)
def without_exporter(spec: ClusterSpec) -> Iterator[Problem]:
    """Without the exporter nothing is scraped, and no alert about the hardware can fire."""
    if exporters.NAME not in spec.options:
        yield Problem(
            at=spec.at / "components" / exporters.NAME,
            message="prometheus has nothing to scrape: dcgm-exporter is switched off",
            hint="remove dcgm-exporter: false from components, or keep only the rules about nodes",
        )


@check("prometheus-alert-without-metric", "GG-16", component=NAME)
def alert_without_metric(spec: ClusterSpec) -> Iterator[Problem]:
    """An alert on a metric that is not exported never fires."""
    exporter = spec.find(DcgmExporter)
    removed = exporter.metrics.remove if exporter else ()
    readers = _readers(spec) if removed else {}
    for i, field in enumerate(removed):
        if readers.get(field):
            names = ", ".join(sorted(readers[field]))
            yield Problem(
                at=spec.at / "components" / exporters.NAME / "metrics" / "remove" / i,
                message=f"without {field} these alerts never fire: {names}",
                hint="keep the metric, or list the alerts under"
                " components.prometheus.withoutAlerts",
            )


@check("prometheus-alert-not-made", "GG-05", severity=Severity.WARNING, component=NAME)
def alert_not_made(spec: ClusterSpec) -> Iterator[Problem]:
    """withoutAlerts has no effect for an alert that is not rendered for these pools anyway.

    Which alerts are rendered follows from GPU models, MIG, sharing and the exporter's metrics.
    """
    unwanted = spec.own(Prometheus).without_alerts
    if not unwanted:
        return
    exported = frozenset().union(*(metrics.exported(spec, pool) for pool in spec.pools))
    made = {alert.name for alert in alerts.live(spec, exported, records.names(spec))}
    for i, name in enumerate(unwanted):
        if name not in made:
            yield Problem(
                at=spec.at / "components" / NAME / "withoutAlerts" / i,
                message=f"{name} has no effect: this cluster has no such alert",
                hint=f"remove {name} from withoutAlerts",
            )


def _readers(spec: ClusterSpec) -> dict[str, set[str]]:
    """Return which enabled alerts read which series, if none were removed."""
    options = spec.own(DcgmExporter)
    standard = frozenset(
        row.field for pool in spec.pools for row in metrics.standard_rows(options, pool)
    )
    readers: defaultdict[str, set[str]] = defaultdict(set)
    for alert in alerts.rows():
        if alert.name not in spec.own(Prometheus).without_alerts:
            for expression in alert.read(standard):
                for series in metrics.read_by(expression):
                    readers[series].add(alert.name)
    return readers

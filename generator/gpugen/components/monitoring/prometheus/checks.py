"""Checks of the scrape and the alert rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components.monitoring.prometheus import every_alert, scrape
from gpugen.components.monitoring.prometheus.hardware import hardware_alerts
from gpugen.components.monitoring.prometheus.pools import pool_alerts
from gpugen.gpu import metrics
from gpugen.model.finding import Severity
from gpugen.model.spec import ClusterSpec

NAME = "prometheus"


@check("prometheus-selector-labels-missing", "GG-18", "DIST-20", component=NAME)
def selector_labels_missing(spec: ClusterSpec) -> Iterator[Problem]:
    """The Prometheus operator reads only objects whose labels its Prometheus selects.

    Without them there are no targets and no message; with kube-prometheus-stack the label is
    ``release`` and the name of the Helm release (NVIDIA/gpu-operator#363).
    """
    options = spec.options[NAME]
    if options["mode"] == "service-monitor" and options["selectorLabels"] is None:
        yield Problem(
            at=spec.at / "components" / NAME,
            message="mode 'service-monitor' without selectorLabels: Prometheus would not find"
            " the objects",
            hint="write selectorLabels: {release: <helm release>}, or {} if your Prometheus"
            " takes all",
        )


@check("prometheus-option-without-effect", "GG-18", component=NAME, at_key=True)
def option_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """Labels select objects of the operator, and only the mode service-monitor makes some.

    A Prometheus outside of the cluster (mode static) has no namespace either, and without the
    exporter nothing is scraped.
    """
    options = spec.options[NAME]
    mode = f"with mode {options['mode']!r}"
    idle = {}
    if options["mode"] != "service-monitor":
        idle["selectorLabels"] = mode
    if options["mode"] == "static":
        idle["namespace"] = mode
    if metrics.EXPORTER not in spec.options:
        idle["interval"] = idle["scrapeTimeout"] = f"without {metrics.EXPORTER}"
    for key, why in idle.items():
        if options[key] is not None:
            at = spec.at / "components" / NAME / key
            yield Problem(at=at, message=f"{key} has no effect {why}", hint="leave it out")


@check("prometheus-timeout-above-interval", "GG-18", component=NAME)
def timeout_above_interval(spec: ClusterSpec) -> Iterator[Problem]:
    """A scrape must end before the next begins; Prometheus refuses the configuration otherwise."""
    options = spec.options[NAME]
    if metrics.EXPORTER not in spec.options or not options["scrapeTimeout"]:
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
    """Scraping more often than the exporter reads the GPUs stores the same values again."""
    options = spec.options[NAME]
    if metrics.EXPORTER not in spec.options or not options["interval"]:
        return
    collector = metrics.seconds(spec.options[metrics.EXPORTER]["interval"])
    if scrape.interval(spec, options) < collector:
        yield Problem(
            at=spec.at / "components" / NAME / "interval",
            message=f"interval {options['interval']} is shorter than dcgm-exporter's {collector}s",
            hint=f"write {collector}s or more, or shorten components.dcgm-exporter.interval",
        )


@check("prometheus-without-exporter", severity=Severity.WARNING, component=NAME)
def without_exporter(spec: ClusterSpec) -> Iterator[Problem]:
    """Without the exporter nothing is scraped, and no alert about the hardware can fire."""
    if metrics.EXPORTER not in spec.options:
        yield Problem(
            at=spec.at / "components" / metrics.EXPORTER,
            message="prometheus has nothing to scrape: dcgm-exporter is switched off",
            hint="leave dcgm-exporter out of components, or live with the rules about nodes alone",
        )


@check("prometheus-alert-without-metric", "GG-16", component=NAME)
def alert_without_metric(spec: ClusterSpec) -> Iterator[Problem]:
    """An alert on a metric that is not exported never fires."""
    exporter = spec.options.get(metrics.EXPORTER, {"metrics": {"remove": ()}})
    readers = _readers(spec) if exporter["metrics"]["remove"] else {}
    for i, field in enumerate(exporter["metrics"]["remove"]):
        if readers.get(field):
            names = ", ".join(sorted(readers[field]))
            yield Problem(
                at=spec.at / "components" / metrics.EXPORTER / "metrics" / "remove" / i,
                message=f"without {field} these alerts are blind: {names}",
                hint="keep the metric, or name the alerts under"
                " components.prometheus.withoutAlerts",
            )


@check("prometheus-alert-not-made", "GG-05", severity=Severity.WARNING, component=NAME)
def alert_not_made(spec: ClusterSpec) -> Iterator[Problem]:
    """An alert that does not exist for these pools anyway need not be left out.

    Which alerts there are follows from the boards, MIG, sharing and what the exporter reads.
    """
    unwanted = spec.options[NAME]["withoutAlerts"]
    made = {alert.name for alert in every_alert(spec)} if unwanted else set()
    for i, name in enumerate(unwanted):
        if name not in made:
            yield Problem(
                at=spec.at / "components" / NAME / "withoutAlerts" / i,
                message=f"leaving out {name} has no effect: nothing in this cluster would raise it",
                hint=f"leave {name} out of withoutAlerts",
            )


def _readers(spec: ClusterSpec) -> dict[str, set[str]]:
    """Return which wanted alerts read which series, were none removed."""
    options = spec.options[metrics.EXPORTER]
    standard = {
        pool.name: frozenset(row.field for row in metrics.standard_rows(options, pool))
        for pool in spec.pools
    }
    alerts = [*hardware_alerts(frozenset().union(*standard.values()))]
    for pool in spec.pools:
        alerts += pool_alerts(spec, pool, standard[pool.name])
    readers: defaultdict[str, set[str]] = defaultdict(set)
    for alert in alerts:
        if alert.name not in spec.options[NAME]["withoutAlerts"]:
            for series in metrics.read_by(alert.expression):
                readers[series].add(alert.name)
    return readers

"""The real Prometheus checks scrape configurations, rules and the queries of dashboards.

Every alert fires on the fault that it is named after, and no other does; on healthy nodes, whole,
with MIG or shared, all are silent and every panel finds its series.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.components import options_schema
from gpugen.components.monitoring import metrics
from gpugen.model.assembly import Assembly
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.text.yaml import to_yaml
from support.monitoring_faults import POOLS, example, examples, fatal_xid
from support.monitoring_series import Series, cluster, healthy, nodes, panels

Find = Callable[[str], Path]
NOTE = "what a healthy cluster shows, and one XID"


@pytest.fixture(scope="module")
def watched() -> tuple[ClusterSpec, Assembly]:
    return cluster(*POOLS.values())


@pytest.fixture
def promtool(upstream: Find) -> Callable[..., str]:
    program = upstream("promtool")

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def _pool_of(spec: ClusterSpec, name: str) -> NodePool:
    return next(pool for pool in spec.pools if pool.name == name)


def _write_rules(plan: Assembly, folder: Path, *names: str) -> list[str]:
    paths = []
    for name in names:
        path = folder / f"{name}.yaml"
        path.write_text(str(plan.files[f"prometheus/rules/{name}.yaml"]))
        paths.append(str(path))
    return paths


def _case(title: str, series: list[Series], minutes: int, alerts: Sequence[str]) -> Any:
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(alerts)]
    return {
        "name": title,
        "interval": "1m",
        "input_series": [s.text() for s in series],
        "promql_expr_test": [
            {
                "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{minutes}m",
                "exp_samples": samples,
            }
        ],
    }


def _test_file(folder: Path, rules: list[str], cases: list[Any]) -> Path:
    path = folder / "test.yaml"
    content = {"rule_files": rules, "evaluation_interval": "1m", "tests": cases}
    path.write_text(yaml.dump(content, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", POOLS)
def test_alerts(
    name: str, watched: tuple[ClusterSpec, Assembly], promtool: Callable[..., str], tmp_path: Path
) -> None:
    spec, plan = watched
    pool = _pool_of(spec, name)
    well = healthy(spec, pool)
    cases = [_case("healthy", well, minutes, ()) for minutes in (15, 200)]
    for each in examples():
        if name in each.pools:
            series = each.apply(well, nodes(pool)[0])
            cases.append(_case(each.name, series, each.minutes, each.alerts))
    promtool(
        "test", "rules", _test_file(tmp_path, _write_rules(plan, tmp_path, "cluster", name), cases)
    )


def test_every_alert_has_an_example() -> None:
    schema = options_schema("prometheus")
    assert schema is not None
    assert {pool for each in examples() for pool in each.pools} == POOLS.keys()
    shown = {alert for each in examples() for alert in each.alerts}
    assert shown == set(schema["properties"]["withoutAlerts"]["items"]["enum"])


@pytest.mark.parametrize("mode", ["scrape-config", "static"])
def test_configuration_is_taken(mode: str, promtool: Callable[..., str], tmp_path: Path) -> None:
    """The folder as the README says to use it: fragment, targets and rules beside a main file."""
    _, plan = cluster(*POOLS.values(), mode=mode)
    for path, text in plan.files.items():
        target = tmp_path / path.removeprefix("prometheus/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(str(text))
    fragment = yaml.safe_load((tmp_path / "scrape-config.yaml").read_text())
    main = {"scrape_configs": fragment, "rule_files": ["rules/*.yaml"]}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(main))
    said = promtool("check", "config", tmp_path / "prometheus.yml")
    assert f"{1 + len(POOLS)} rule files found" in said
    promtool("check", "rules", "--lint=all", "--lint-fatal", *sorted(tmp_path.glob("rules/*.yaml")))
    if mode == "static":
        assert {path.stem for path in tmp_path.glob("targets/*")} == set(POOLS)


def test_static_targets_are_found(promtool: Callable[..., str], tmp_path: Path) -> None:
    _, plan = cluster(POOLS["plain"], mode="static")
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets/plain.yaml").write_text(str(plan.files["prometheus/targets/plain.yaml"]))
    fragment = yaml.safe_load(str(plan.files["prometheus/scrape-config.yaml"]))
    (tmp_path / "p.yml").write_text(yaml.safe_dump({"scrape_configs": fragment}))
    said = promtool("check", "service-discovery", tmp_path / "p.yml", "dcgm-exporter")
    found = [target["labels"] for target in json.loads(said)]
    # In any order: promtool goes through a map.
    assert {(t["__address__"], t["node"], t["pool"], t["instance"]) for t in found} == {
        (f"plain-0{i}.example:9400", f"plain-0{i}", "plain", f"plain-0{i}") for i in (1, 2)
    }


def test_operator_takes_its_objects(
    validate_custom_resource: Callable[[dict[str, Any]], list[str]],
    promtool: Callable[..., str],
    tmp_path: Path,
) -> None:
    """Upstream's CRDs take monitor and rules; the rules within are the same as in plain files."""
    _, plain = cluster(*POOLS.values())
    _, plan = cluster(*POOLS.values(), mode="service-monitor")
    group = "monitoring.coreos.com/v1"
    items = [p.object for p in plan.objects if p.object["apiVersion"] == group]
    assert {item["kind"] for item in items} == {"ServiceMonitor", "PrometheusRule"}
    for item in items:
        assert validate_custom_resource(yaml.safe_load(to_yaml(item))) == []
        if item["kind"] == "PrometheusRule":
            name = item["metadata"]["name"].removeprefix("gpugen").removeprefix("-") or "cluster"
            text = str(plain.files[f"prometheus/rules/{name}.yaml"])
            assert item["spec"] == yaml.safe_load(text)


def test_panels_find_their_series(
    watched: tuple[ClusterSpec, Assembly], promtool: Callable[..., str], tmp_path: Path
) -> None:
    spec, plan = watched
    series = [s for pool in spec.pools for s in healthy(spec, pool)]
    sick = nodes(_pool_of(spec, "plain"))[0]
    series = fatal_xid(series, sick)  # one panel lists errors and would be empty without any
    case = {
        "name": NOTE,
        "interval": "1m",
        "input_series": [s.text() for s in series],
        "promql_expr_test": [
            {
                "expr": f"(count({query}) > bool 0) or vector(0) # {title}",
                "eval_time": "90m",
                "exp_samples": [{"labels": "{}", "value": 1}],
            }
            for title, query in panels(plan)
        ],
    }
    rules = _write_rules(plan, tmp_path, *(pool.name for pool in spec.pools))
    promtool("test", "rules", _test_file(tmp_path, rules, [case]))


def test_an_alert_tells_what_the_spec_says(
    watched: tuple[ClusterSpec, Assembly], promtool: Callable[..., str], tmp_path: Path
) -> None:
    """Texts hold the predicted number, which the alert itself looks up."""
    spec, plan = watched
    pool = _pool_of(spec, "mig")
    fault = example("too few units")
    node = nodes(pool)[0]
    resources = {r.name: r.units for r in pool.prediction.resources}
    alerts = [
        {
            "exp_labels": {
                "severity": "critical",
                "pool": "mig",
                "node": node,
                "resource": metrics.state_name(name),
                "advertised": name,
            },
            "exp_annotations": {"summary": f"{node} offers 1 of {units} {name}"},
        }
        for name, units in resources.items()
        if units > 1
    ]
    assert alerts
    path = tmp_path / "cluster.yaml"
    _write_rules(plan, tmp_path, "cluster", "mig")
    content = yaml.safe_load(path.read_text())
    for rule in content["groups"][0]["rules"]:
        for text in ("description", "runbook"):
            rule.get("annotations", {}).pop(text, None)
    path.write_text(yaml.safe_dump(content))
    case = {
        "interval": "1m",
        "input_series": [s.text() for s in fault.apply(healthy(spec, pool), node)],
        "alert_rule_test": [
            {
                "alertname": "GpuAllocatableBelowSpec",
                "eval_time": f"{fault.minutes}m",
                "exp_alerts": alerts,
            }
        ],
    }
    rules = [str(path), str(tmp_path / "mig.yaml")]
    promtool("test", "rules", _test_file(tmp_path, rules, [case]))

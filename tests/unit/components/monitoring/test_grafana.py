"""Grafana: two dashboards that are whole, and that read what is exported."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.prometheus import records
from gpugen.model.assembly import Wave
from gpugen.model.spec import ClusterSpec
from support.component_specs import cluster, contribution, objects, pool

MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
SLICED = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}, "rename": True}
POOLS = (pool("a"), pool("b", "t4", sharing=SLICED), pool("c", mig=MIXED))


def with_grafana(*pools: Any, options: Mapping[str, Any] = {}, **components: Any) -> ClusterSpec:
    on = {"grafana": options, "prometheus": {"mode": "static"}, **components}
    return cluster(*pools, components={name: each for name, each in on.items() if each is not None})


def dashboards(spec: ClusterSpec) -> dict[str, dict[str, Any]]:
    """Return the dashboards by the name of their ConfigMap."""
    found = {}
    for item in objects(spec, "grafana").values():
        (text,) = item["data"].values()
        found[item["metadata"]["name"]] = json.loads(text)
    return found


def expressions(dashboard: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_two_config_maps_that_the_sidecar_finds() -> None:
    placed = contribution(with_grafana(*POOLS), "grafana").objects
    assert [(p.wave, p.pool, p.object["metadata"]["name"]) for p in placed] == [
        (Wave.MONITORING, "", "gpugen-gpu-capacity"),
        (Wave.MONITORING, "", "gpugen-gpus"),
    ]
    for item in placed:
        assert item.object["metadata"]["labels"]["grafana_dashboard"] == "1"
        (name,) = item.object["data"]
        assert name.endswith("-test.json")


def test_label_folder_and_namespace_are_the_users() -> None:
    options = {"label": {"dash": "yes"}, "folder": "GPU", "namespace": "cattle-dashboards"}
    for item in objects(with_grafana(options=options), "grafana").values():
        meta = item["metadata"]
        assert meta["labels"]["dash"] == "yes"
        assert "grafana_dashboard" not in meta["labels"]
        assert meta["annotations"] == {"grafana_folder": "GPU"}
        assert meta["namespace"] == "cattle-dashboards"


def test_dashboards_are_whole() -> None:
    ids = set()
    for dashboard in dashboards(with_grafana(*POOLS)).values():
        assert len(dashboard["uid"]) <= 40
        ids.add(dashboard["uid"])
        assert "__inputs" not in dashboard
        assert dashboard["templating"]["list"][0]["name"] == "datasource"
        numbers = [panel["id"] for panel in dashboard["panels"]]
        assert numbers == list(range(1, len(numbers) + 1))
        for panel in dashboard["panels"]:
            assert panel["type"] in ("stat", "timeseries", "table")
            assert panel["title"]
            references = [target["refId"] for target in panel["targets"]]
            assert len(references) == len(set(references)) > 0
            assert {t["datasource"]["uid"] for t in panel["targets"]} == {"${datasource}"}
    assert len(ids) == 2


def test_panels_do_not_overlap_and_stay_on_the_page() -> None:
    for dashboard in dashboards(with_grafana(*POOLS)).values():
        cells: set[tuple[int, int]] = set()
        for panel in dashboard["panels"]:
            grid = panel["gridPos"]
            own = {
                (x, y)
                for x in range(grid["x"], grid["x"] + grid["w"])
                for y in range(grid["y"], grid["y"] + grid["h"])
            }
            assert own
            assert not own & cells
            assert grid["x"] + grid["w"] <= 24
            cells |= own


def test_variables_that_are_used_exist() -> None:
    for dashboard in dashboards(with_grafana(*POOLS)).values():
        known = {v["name"] for v in dashboard["templating"]["list"]}
        used = set(re.findall(r"\$\{?([a-z_]\w*)", json.dumps(dashboard)))
        assert used <= {*known, "__all"}


def test_panels_read_only_what_is_exported_and_recorded() -> None:
    spec = with_grafana(*POOLS)
    for dashboard in dashboards(spec).values():
        for expression in expressions(dashboard):
            assert metrics.read_by(expression) <= metrics.exportable(spec)
            assert set(re.findall(r"\bkube_\w+", expression)) <= metrics.STATE_METRICS
            assert set(re.findall(r"\bgpugen:\w+:\w+", expression)) <= records.names(spec)


def test_what_the_options_leave_out_has_no_panel() -> None:
    def reads(**exporter: Any) -> str:
        spec = with_grafana(*POOLS, **{"dcgm-exporter": exporter})
        return str(expressions(dashboards(spec)["gpugen-gpus"]))

    assert "DCGM_FI_DEV_SM_CLOCK" in reads()
    assert "DCGM_FI_DEV_SM_CLOCK" not in reads(metrics={"remove": ["DCGM_FI_DEV_SM_CLOCK"]})
    assert "DCGM_FI_PROF" not in reads(profiling=False)


@pytest.mark.parametrize(
    "pools",
    [
        (pool("a"),),
        (pool("z", "t4", 1, sharing=SLICED), *POOLS),
        (pool("a", "h100-sxm5-80gb", 8, mig={"strategy": "none"}, labels={"x/y": "z"}),),
    ],
)
def test_a_dashboard_says_nothing_of_a_pool(pools: tuple[Any, ...]) -> None:
    """Two branches that change two pools would meet in it."""
    assert dashboards(with_grafana(*pools)) == dashboards(with_grafana(*POOLS))
    for item in objects(with_grafana(*POOLS), "grafana").values():
        (text,) = item["data"].values()
        assert max(map(len, text.splitlines())) < 2_600


def test_predicted_numbers_stand_beside_observed_ones() -> None:
    dashboard = dashboards(with_grafana(*POOLS))["gpugen-gpu-capacity"]
    (graph,) = (p for p in dashboard["panels"] if p["type"] == "timeseries")
    assert graph["title"] == "$resource"
    assert graph["repeat"] == "resource"
    predicted, allocatable, requested = (target["expr"] for target in graph["targets"])
    assert 'gpugen:pool_units:spec{resource=~"$resource"}' in predicted
    assert 'kube_node_status_allocatable{resource=~"$resource"}' in allocatable
    assert 'kube_pod_container_resource_requests{resource=~"$resource"}' in requested


def test_only_what_can_be_shown() -> None:
    spec = with_grafana(**{"dcgm-exporter": False})
    assert set(dashboards(spec)) == {"gpugen-gpu-capacity"}
    spec = with_grafana(prometheus=None)
    assert set(dashboards(spec)) == {"gpugen-gpus"}


def test_clusters_that_share_a_grafana_do_not_clash() -> None:
    on = {"grafana": {}, "prometheus": {"mode": "static"}}
    one, other = (cluster(components=on, name=name) for name in ("lab", "lab-2"))
    ids = [dashboard["uid"] for spec in (one, other) for dashboard in dashboards(spec).values()]
    assert len(set(ids)) == 4

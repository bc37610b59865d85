"""What the exporters of a pool serve: rows that follow from its GPUs, its layout, its sharing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.catalog import Catalog
from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.dcgm_exporter.checks import field_ids
from gpugen.model.options import DcgmExporter
from gpugen.model.spec import ClusterSpec
from support.component_specs import cluster, pool

MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"1g.5gb": 7}}]}
SLICED = {"mode": "time-slicing", "resources": {"nvidia.com/gpu": 4}}


def served(spec: ClusterSpec) -> frozenset[str]:
    return metrics.exported(spec, spec.pools[0])


def of(exporter: Mapping[str, Any] = {}, **more: Any) -> frozenset[str]:
    return served(cluster(pool(**more), components={"dcgm-exporter": exporter}))


@pytest.mark.parametrize("model", Catalog().gpu_ids())
def test_rows_of_every_model_are_fields_that_dcgm_knows_once(model: str) -> None:
    spec = cluster(pool(model=model, count=8))
    rows = metrics.standard_rows(spec.own(DcgmExporter), spec.pools[0])
    ids = [field_ids()[row.field] for row in rows]
    assert len(ids) == len(set(ids))
    assert {row.kind for row in rows} == {"gauge", "counter", "label"}
    for row in rows:
        assert not set(row.help) & set(',"\\\n{}')


def test_cut_pools_have_no_utilisation_and_no_xid_count() -> None:
    whole, shared_out = of(), of(mig=MIXED)
    assert {"DCGM_FI_DEV_GPU_UTIL", "DCGM_EXP_XID_ERRORS_COUNT"} <= whole
    assert not {"DCGM_FI_DEV_GPU_UTIL", "DCGM_EXP_XID_ERRORS_COUNT"} & shared_out
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in shared_out


def test_profiling_since_volta_and_only_where_wanted() -> None:
    def is_profiled(**more: Any) -> bool:
        return any(map(metrics.is_profiling, of(**more)))

    asked = {"profiling": True}
    assert is_profiled(exporter=asked, model="v100-sxm2-16gb")
    assert not is_profiled(exporter=asked, model="p100-pcie-16gb")
    assert not is_profiled()
    assert is_profiled(mig=MIXED)
    assert not is_profiled(exporter={"profiling": False}, mig=MIXED)


def test_memory_repair_and_limits_follow_the_architecture() -> None:
    turing, ampere, ada = (of(model=m) for m in ("t4", "a100-sxm4-40gb", "l4"))
    assert "DCGM_FI_DEV_RETIRED_PENDING" in turing
    assert "DCGM_FI_DEV_ROW_REMAP_PENDING" not in turing
    assert "DCGM_FI_DEV_ROW_REMAP_PENDING" in ampere
    assert "DCGM_FI_DEV_GPU_MAX_OP_TEMP" in ampere
    assert "DCGM_FI_DEV_GPU_TEMP_LIMIT" in ada
    assert "DCGM_FI_DEV_GPU_MAX_OP_TEMP" not in ada


def test_link_counters_follow_the_links() -> None:
    old, new = "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_COUNT_RX_ERRORS"
    assert old not in of(model="t4")
    assert old in of(model="h100-sxm5-80gb", count=8)
    assert of(model="b200", count=8) & {old, new} == {new}


def test_fabric_is_read_on_whole_switched_baseboards() -> None:
    status = "DCGM_FI_DEV_FABRIC_MANAGER_STATUS"
    assert status in of(model="h100-sxm5-80gb", count=8)
    assert status not in of(model="h100-sxm5-80gb", count=4)
    assert status not in of(model="h100-pcie-80gb", count=8)


def test_rows_are_added_and_removed() -> None:
    fan = {"field": "DCGM_FI_DEV_FAN_SPEED", "type": "gauge", "help": "Fan speed (%)."}
    change = {"add": [fan], "remove": ["DCGM_FI_DEV_ENC_UTIL"]}
    assert of(exporter={"metrics": change}) ^ of() == {fan["field"], "DCGM_FI_DEV_ENC_UTIL"}


def test_added_profiling_fields_stay_away_from_models_without_them() -> None:
    added = {"field": "DCGM_FI_PROF_SM_ACTIVE", "type": "gauge", "help": "SMs active."}
    exporter = {"profiling": True, "metrics": {"add": [added]}}
    assert added["field"] in of(exporter=exporter)
    assert added["field"] not in of(exporter=exporter, model="p100-pcie-16gb")


def test_labels_are_no_series_and_nothing_is_served_without_the_exporter() -> None:
    assert "DCGM_FI_DRIVER_VERSION" not in of()
    assert served(cluster(components={"dcgm-exporter": False})) == frozenset()


def test_names_of_kube_state_metrics() -> None:
    assert metrics.state_name("nvidia.com/mig-1g.5gb.shared") == "nvidia_com_mig_1g_5gb_shared"


@pytest.mark.parametrize(("text", "number"), [("15s", 15), ("2m", 120), ("1h", 3600)])
def test_seconds(text: str, number: int) -> None:
    assert metrics.seconds(text) == number


def test_series_that_an_expression_reads() -> None:
    text = 'max(DCGM_FI_DEV_GPU_TEMP{pool="a"}) > DCGM_FI_DEV_GPU_MAX_OP_TEMP or up == 0'
    assert metrics.read_by(text) == {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_MAX_OP_TEMP"}


def test_sharing() -> None:
    plain, shared = cluster(pool("a"), pool("b", sharing=SLICED)).pools
    assert not metrics.is_shared(plain)
    assert metrics.is_shared(shared)

"""The dashboard of the GPUs: load, memory, heat, power, links and errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from gpugen.components.monitoring import metrics
from gpugen.components.monitoring.grafana.panels import (
    Panel,
    dashboard,
    datasource_variable,
    label_variable,
    laid_out,
    query,
    stat,
    table,
    time_series,
)
from gpugen.model.spec import ClusterSpec

CHOSEN = '{pool=~"$pool",node=~"$node",gpu=~"$gpu"}'
PROFILING = (
    "Engines, pipes and transfers are profiling counters, which are read of MIG instances, and of"
    " whole GPUs where components.dcgm-exporter.profiling is on."
)
_GPU = "pool, node, gpu"
_INSTANCE = f"{_GPU}, GPU_I_PROFILE, GPU_I_ID"
_NAME = "{{node}} GPU {{gpu}}"
_INSTANCE_NAME = f"{_NAME} {{{{GPU_I_PROFILE}}}} {{{{GPU_I_ID}}}}"


def gpu_dashboard(spec: ClusterSpec, uid: str, exportable: frozenset[str]) -> str:
    """Return the dashboard; what no exporter could serve has no panel, whatever the pools are."""
    some = "DCGM_FI_DEV_GPU_TEMP"
    return dashboard(
        uid,
        f"GPUs: {spec.name}",
        "Every GPU and MIG instance, as the DCGM exporter sees it. A panel is empty where the GPUs"
        f" or their exporters have nothing of the kind. {PROFILING}",
        [
            datasource_variable(),
            label_variable("pool", some),
            label_variable("node", f'{some}{{pool=~"$pool"}}'),
            label_variable("gpu", f'{some}{{pool=~"$pool",node=~"$node"}}'),
        ],
        _panels(exportable),
    )


@cache  # many clusters of a fleet export the same
def _panels(exportable: frozenset[str]) -> str:
    return laid_out(
        (height, [_told(p) for panel in panels if (p := _fed(panel, exportable))])
        for height, panels in _rows()
    )


def _told(panel: Panel) -> Panel:
    """Return the panel with a note where it reads profiling counters."""
    fields = {field for t in panel["targets"] for field in metrics.read_by(t["expr"])}
    return {**panel, "description": PROFILING} if any(map(metrics.is_profiling, fields)) else panel


def _fed(panel: Panel, exportable: frozenset[str]) -> Panel | None:
    """Return the panel with the queries that find series; None where none does."""
    targets = [t for t in panel["targets"] if metrics.read_by(t["expr"]) <= exportable]
    return {**panel, "targets": targets} if targets else None


def _rows() -> Iterator[tuple[int, list[Panel]]]:
    yield 4, _numbers()
    yield 8, _load()
    yield 8, _engines()
    yield 8, _heat()
    yield 8, _transfers()
    yield 8, _throttling_and_memory_errors()
    yield 7, [_xids()]


def _numbers() -> list[Panel]:
    temperature, power = (f"DCGM_FI_DEV_{name}{CHOSEN}" for name in ("GPU_TEMP", "POWER_USAGE"))
    return [
        stat("Nodes", f"count(count by (node) ({temperature}))"),
        stat("GPUs", f"count(count by ({_GPU}) ({temperature}))"),
        stat("Hottest GPU", f"max({temperature})", "celsius"),
        stat("Power of all", f"sum(max by ({_GPU}) ({power}))", "watt"),
        stat(
            "Double-bit ECC errors, 24 h",
            f"sum(max by ({_GPU}) (increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{CHOSEN}[24h])))",
        ),
    ]


def _instances(series: str) -> str:
    return f"max by ({_INSTANCE}) ({series}{CHOSEN})"


def _shares(title: str, expression: str) -> Panel:
    return time_series(title, [query(expression, _INSTANCE_NAME)], "percentunit", min=0, max=1)


def _gpus(expression: str, name: str = _NAME) -> dict[str, Any]:
    return query(f"max by ({_GPU}) ({expression})", name)


def _load() -> list[Panel]:
    used, free, reserved = (
        _instances(f"DCGM_FI_DEV_FB_{part}") for part in ("USED", "FREE", "RESERVED")
    )
    busy = [_gpus(f"DCGM_FI_DEV_GPU_UTIL{CHOSEN}")]
    return [
        time_series("Utilisation of whole GPUs", busy, "percent", min=0, max=100),
        _shares(
            "Engine active, also of MIG instances", _instances("DCGM_FI_PROF_GR_ENGINE_ACTIVE")
        ),
        _shares("Memory used", f"{used}\n/ ({used} + {free} + {reserved})"),
    ]


def _engines() -> list[Panel]:
    return [
        _shares("Tensor pipe active", _instances("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")),
        _shares("Memory interface active", _instances("DCGM_FI_PROF_DRAM_ACTIVE")),
        time_series("SM clock", [_gpus(f"DCGM_FI_DEV_SM_CLOCK{CHOSEN} * 1000000")], "hertz"),
    ]


def _heat() -> list[Panel]:
    return [
        time_series("Temperature", [_gpus(f"DCGM_FI_DEV_GPU_TEMP{CHOSEN}")], "celsius"),
        time_series("Memory temperature", [_gpus(f"DCGM_FI_DEV_MEMORY_TEMP{CHOSEN}")], "celsius"),
        time_series(
            "Power",
            [
                _gpus(f"DCGM_FI_DEV_POWER_USAGE{CHOSEN}"),
                _gpus(f"DCGM_FI_DEV_ENFORCED_POWER_LIMIT{CHOSEN}", f"{_NAME} limit"),
            ],
            "watt",
            min=0,
        ),
    ]


def _transfers() -> list[Panel]:
    def both_ways(title: str, kind: str) -> Panel:
        queries = [
            _gpus(f"DCGM_FI_PROF_{kind}_{way}_BYTES{CHOSEN}", f"{_NAME} {way.lower()}")
            for way in ("TX", "RX")
        ]
        return time_series(title, queries, "Bps", min=0)

    link_errors = [
        _gpus(f"rate(DCGM_FI_DEV_NVLINK_{counter}{CHOSEN}[5m])", f"{_NAME} {words}")
        for counter, words in (
            ("CRC_DATA_ERROR_COUNT_TOTAL", "data CRC"),
            ("REPLAY_ERROR_COUNT_TOTAL", "replays"),
            ("RECOVERY_ERROR_COUNT_TOTAL", "recoveries"),
            ("COUNT_RX_ERRORS", "receive errors"),
            ("COUNT_LINK_RECOVERY_EVENTS", "recoveries"),
        )
    ]
    return [
        both_ways("PCIe", "PCIE"),
        both_ways("NVLink", "NVLINK"),
        time_series("NVLink errors", link_errors, "ops", min=0),
    ]


def _throttling_and_memory_errors() -> list[Panel]:
    throttling = [
        _gpus(f"rate(DCGM_FI_DEV_{kind}_VIOLATION{CHOSEN}[5m]) / 1000000000", f"{_NAME} {words}")
        for kind, words in (("THERMAL", "heat"), ("POWER", "power"))
    ]
    ecc = [
        _gpus(f"DCGM_FI_DEV_{counter}{CHOSEN}", f"{_NAME} {words}")
        for counter, words in (
            ("ECC_SBE_VOL_TOTAL", "single-bit"),
            ("ECC_DBE_VOL_TOTAL", "double-bit"),
            ("UNCORRECTABLE_REMAPPED_ROWS", "rows remapped"),
            ("RETIRED_PENDING", "pages to retire"),
        )
    ]
    replays = _gpus(f"increase(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{CHOSEN}[5m])")
    return [
        time_series("Share of time throttled", throttling, "percentunit", min=0),
        time_series("Memory errors since driver load", ecc, "none", min=0),
        time_series("PCIe retries in 5 minutes", [replays], "none", min=0),
    ]


def _xids() -> Panel:
    last = f"max by ({_GPU}, err_code, err_msg) (DCGM_FI_DEV_XID_ERRORS{CHOSEN}) > 0"
    labels = ("pool", "node", "gpu", "err_code", "err_msg")
    return table("Last XID of each GPU since its exporter started", [("XID", last)], labels)

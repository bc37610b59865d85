"""What Prometheus sees of a cluster: the exporter's rows per pool, and names of other programs.

The exporter's CSV, alert rules and dashboards are built from these facts, so that no rule reads a
series that is not exported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gpugen.model.options import DcgmExporter
from gpugen.model.spec import ClusterSpec, NodePool, SharingMode

NODE_LABELS = (  # kube-state-metrics must allow them
    "gpugen/pool",
    "nvidia.com/mig.config",
    "nvidia.com/mig.config.state",
)
STATE_METRICS = frozenset(
    {
        "kube_daemonset_status_number_ready",
        "kube_node_labels",
        "kube_node_status_allocatable",
        "kube_pod_container_resource_requests",
        "kube_pod_scheduler",
        "kube_pod_status_phase",
        "kube_pod_status_scheduled",
    }
)
"""Series of kube-state-metrics that rules and dashboards read, beside Prometheus' own ``up``."""

_PROFILING_SINCE = (7, 0)  # Volta; NVIDIA/dcgm-exporter 4.5.3-4.8.2 etc/default-counters.csv
_ROW_REMAPPING_SINCE = (8, 0)  # Ampere; before it pages were retired
_MARGIN_SINCE = (8, 9)  # Ada: NVML prefers the margin to absolute temperature thresholds
_NVLINK5 = ("switch5", "switch5-rack")


class Row(NamedTuple):
    """One line of the exporter's CSV; kind is the Prometheus type, or ``label``."""

    field: str
    kind: str
    help: str


def _is_whole(pool: NodePool) -> bool:
    return not pool.mig.has_instances


def _has_nvlink(pool: NodePool) -> bool:
    return pool.gpu.nvlink != "none"


def _has_fabric(pool: NodePool) -> bool:
    """Tell whether the driver knows a fabric: NVML since Hopper, and a whole NVSwitch baseboard."""
    is_baseboard = pool.gpu.fabric_manager == "nvswitch-baseboard" and pool.gpu_count >= 8
    return is_baseboard and pool.gpu.compute_capability >= (9, 0)


_EVERYWHERE = (
    Row("DCGM_FI_DRIVER_VERSION", "label", "Driver version."),
    Row("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock (MHz)."),
    Row("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock (MHz)."),
    Row("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (degrees C)."),
    Row("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (degrees C)."),
    Row("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (W)."),
    Row("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "gauge", "Power limit in force (W)."),
    Row("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy since driver load (mJ)."),
    Row("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries."),
    Row("DCGM_FI_DEV_XID_ERRORS", "gauge", "Last XID error."),
    Row("DCGM_FI_DEV_POWER_VIOLATION", "counter", "Time throttled for power (ns)."),
    Row("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "Time throttled for heat (ns)."),
    Row("DCGM_FI_DEV_FB_FREE", "gauge", "Free framebuffer (MiB)."),
    Row("DCGM_FI_DEV_FB_USED", "gauge", "Used framebuffer (MiB)."),
    Row("DCGM_FI_DEV_FB_RESERVED", "gauge", "Reserved framebuffer (MiB)."),
    Row("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Single-bit ECC errors since driver load."),
    Row("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Double-bit ECC errors since driver load."),
    Row("DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", "gauge", "What the driver asks for; 0 is nothing."),
)
# Utilisation is not measured per instance. The XID count is looked up by GPU number in readings per
# instance, so with MIG it names the wrong one: NVIDIA/dcgm-exporter expcollector.go.
_WHOLE_GPUS = (
    Row("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilisation (%)."),
    Row("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilisation (%)."),
    Row("DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilisation (%)."),
    Row("DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilisation (%)."),
    Row("DCGM_EXP_XID_ERRORS_COUNT", "gauge", "XID errors of the last five minutes."),
)
_PAGE_RETIREMENT = (Row("DCGM_FI_DEV_RETIRED_PENDING", "gauge", "Pages that wait to be retired."),)
_ROW_REMAPPING = (
    Row(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "counter",
        "Rows remapped after uncorrectable errors.",
    ),
    Row(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "counter",
        "Rows remapped after correctable errors.",
    ),
    Row("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows failed."),
    Row("DCGM_FI_DEV_ROW_REMAP_PENDING", "gauge", "Whether remapping waits for a reset."),
)
_THRESHOLDS = (
    Row("DCGM_FI_DEV_GPU_MAX_OP_TEMP", "gauge", "Highest operating temperature (degrees C)."),
    Row("DCGM_FI_DEV_MEM_MAX_OP_TEMP", "gauge", "Highest memory temperature (degrees C)."),
)
_MARGIN = (Row("DCGM_FI_DEV_GPU_TEMP_LIMIT", "gauge", "Degrees C left before slowdown."),)
_NVLINK_TO_4 = (
    Row("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "gauge", "NVLink bandwidth of all lanes."),
    Row("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "NVLink flit CRC errors."),
    Row("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "counter", "NVLink data CRC errors."),
    Row("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "NVLink replays."),
    Row("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "NVLink recoveries."),
)
_NVLINK_5 = (
    Row("DCGM_FI_DEV_NVLINK_COUNT_RX_ERRORS", "counter", "NVLink packets received with errors."),
    Row("DCGM_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS", "counter", "NVLink local errors."),
    Row("DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS", "counter", "NVLink recoveries."),
)
_FABRIC = (Row("DCGM_FI_DEV_FABRIC_MANAGER_STATUS", "gauge", "Fabric state; 3 is success."),)
_PROFILING = (
    Row("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Share of time the graphics engine is active."),
    Row("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Share of cycles the tensor pipe is active."),
    Row("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Share of cycles the memory interface is active."),
    Row("DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "PCIe transmit rate (bytes per second)."),
    Row("DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "PCIe receive rate (bytes per second)."),
)
_PROFILING_NVLINK = (
    Row("DCGM_FI_PROF_NVLINK_TX_BYTES", "gauge", "NVLink transmit rate (bytes per second)."),
    Row("DCGM_FI_PROF_NVLINK_RX_BYTES", "gauge", "NVLink receive rate (bytes per second)."),
)
_GROUPS: tuple[tuple[tuple[Row, ...], Callable[[NodePool], bool]], ...] = (
    (_EVERYWHERE, lambda _: True),
    (_WHOLE_GPUS, _is_whole),
    (_PAGE_RETIREMENT, lambda p: p.gpu.compute_capability < _ROW_REMAPPING_SINCE),
    (_ROW_REMAPPING, lambda p: p.gpu.compute_capability >= _ROW_REMAPPING_SINCE),
    (_THRESHOLDS, lambda p: p.gpu.compute_capability < _MARGIN_SINCE),
    (_MARGIN, lambda p: p.gpu.compute_capability >= _MARGIN_SINCE),
    (_NVLINK_TO_4, lambda p: _has_nvlink(p) and p.gpu.nvlink not in _NVLINK5),
    (_NVLINK_5, lambda p: p.gpu.nvlink in _NVLINK5),
    (_FABRIC, _has_fabric),
)
_PROFILING_GROUPS = (
    (_PROFILING, lambda _: True),
    (_PROFILING_NVLINK, lambda p: _has_nvlink(p) and _is_whole(p)),
)


def has_profiling(options: DcgmExporter, pool: NodePool) -> bool:
    """Tell whether the exporter reads profiling counters of the pool; it needs SYS_ADMIN then.

    By default only on GPUs with MIG instances, where nothing else measures them and SYS_ADMIN is
    needed anyway.
    """
    asked = options.profiling
    is_due = pool.mig.has_instances if asked is None else bool(asked)
    return is_due and pool.gpu.compute_capability >= _PROFILING_SINCE


def standard_rows(options: DcgmExporter, pool: NodePool) -> tuple[Row, ...]:
    """Return the rows that a pool's exporter has before the user adds or removes any.

    options: of the component dcgm-exporter, defaults filled in.
    """
    groups = _GROUPS + (_PROFILING_GROUPS if has_profiling(options, pool) else ())
    return tuple(row for rows, is_due in groups if is_due(pool) for row in rows)


def rows(options: DcgmExporter, pool: NodePool) -> tuple[Row, ...]:
    """Return all rows of a pool's CSV; options as in ``standard_rows``.

    Without profiling fields that the pool cannot read: the exporter may exit on them.
    """
    change = options.metrics
    removed = frozenset(change.remove)
    kept = [row for row in standard_rows(options, pool) if row.field not in removed]
    added = [Row(*row) for row in change.add]
    profiling = has_profiling(options, pool)
    return tuple(kept + [row for row in added if profiling or not is_profiling(row.field)])


def is_profiling(field: str) -> bool:
    """Tell whether a field is a profiling counter."""
    return field.upper().startswith("DCGM_FI_PROF_")


def exported(spec: ClusterSpec, pool: NodePool) -> frozenset[str]:
    """Return the names of the series that a pool's exporter serves; empty where it is off."""
    options = spec.find(DcgmExporter)
    if options is None:
        return frozenset()
    return frozenset(row.field for row in rows(options, pool) if row.kind != "label")


def exportable(spec: ClusterSpec) -> frozenset[str]:
    """Return what exporters could serve under the options, whatever the pools are; empty where off.

    Rules and dashboards are made for these, so that no pool changes a file of the whole cluster.
    """
    options = spec.find(DcgmExporter)
    if options is None:
        return frozenset()
    groups = _GROUPS + (() if options.profiling is False else _PROFILING_GROUPS)
    change = options.metrics
    added = {row.field for row in change.add if row.type != "label"}
    standard = {row.field for rows, _ in groups for row in rows if row.kind != "label"}
    return frozenset(standard - {*change.remove} | added)


def read_by(expression: str) -> frozenset[str]:
    """Return the exporter's series that a PromQL expression reads."""
    return frozenset(re.findall(r"\bDCGM_[A-Z0-9_]+", expression))


def is_shared(pool: NodePool) -> bool:
    """Tell whether several pods may hold one device of the pool."""
    return pool.sharing.mode is not SharingMode.NONE


def state_name(resource: str) -> str:
    """Return a resource as kube-state-metrics spells it: every foreign character is ``_``.

    Source: kubernetes/kube-state-metrics v2.20.0 internal/store/utils.go, SanitizeLabelName.
    """
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


def seconds(duration: str) -> int:
    """Return a duration such as ``15s`` or ``2m`` in seconds."""
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600}[duration[-1]]

"""Alerts on faults of GPUs, from the exporter's series; one set for all pools of the cluster.

Series of a GPU come once per MIG instance and once per sharing pod; ``max by`` makes one of them.
Labels ``pool`` and ``node`` are set by the scrape, whatever the exporter calls the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from gpugen.catalog import reading
from gpugen.components.monitoring.prometheus.alert import Alert, Level, either

GPU = "pool, node, gpu, UUID"
_WHO = "GPU {{ $labels.gpu }} of {{ $labels.node }} (pool {{ $labels.pool }})"
_DRAIN = "Cordon and drain the node, reset the GPU or reboot, and run 'dcgmi diag -r 3'."
_REPLACE = f"{_DRAIN} If it comes back, have the board replaced."


@cache
def faults() -> dict[str, Any]:
    """Read what counts as a fault."""
    return reading.table("gpu-faults")


@cache  # many clusters of a fleet export the same
def hardware_alerts(exported: frozenset[str]) -> tuple[Alert, ...]:
    """Return the alerts that the exported series can feed."""
    alerts = (*_errors(exported), *_memory(exported), *_heat(exported), *_links(exported))
    return tuple(alert for alert in alerts if alert.expression)


def worst(series: str, more: str = "") -> str:
    """Return PromQL for the highest value per GPU, and per the further labels."""
    return f"max by ({GPU}{more}) ({series})"


def _errors(exported: frozenset[str]) -> Iterator[Alert]:
    fatal, application = "|".join(faults()["fatalXids"]), "|".join(faults()["applicationXids"])
    yield Alert(
        "GpuFatalXid",
        Level.CRITICAL,
        _xids(exported, f'=~"{fatal}"'),
        "",
        f"{_WHO} reported XID {{{{ $labels.xid }}}}",
        "After this error the GPU cannot be trusted; pods on it fail or hang.",
        f"Look up the XID in NVIDIA's list, and 'dmesg' on the node. {_REPLACE}",
    )
    yield Alert(
        "GpuXid",
        Level.WARNING,
        _xids(exported, f'!~"|0|{fatal}|{application}"'),
        "",
        f"{_WHO} reported XID {{{{ $labels.xid }}}}",
        "The driver reports an error that is neither known to be fatal nor one of the workload.",
        "Look up the XID in NVIDIA's list, and 'dmesg' on the node; drain it if this repeats.",
    )
    action = worst("DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION")
    yield Alert(
        "GpuRecoveryNeeded",
        Level.CRITICAL,
        either(exported, f"{action} > 0"),
        "1m",
        f"{_WHO} asks for recovery action {{{{ $value }}}}",
        "The driver asks for: 1 a reset of the GPU, 2 a reboot, 3 and 4 to be drained and reset.",
        _REPLACE,
    )


def _xids(exported: frozenset[str], matcher: str) -> str:
    """Return PromQL for XIDs of the last minutes.

    The gauge keeps the last XID until the exporter restarts and carries it in a label, so a new one
    is a series that was not there before. The count also sees a repetition.
    """
    count = f"DCGM_EXP_XID_ERRORS_COUNT{{xid{matcher}}}"
    last = f"DCGM_FI_DEV_XID_ERRORS{{err_code{matcher}}}"
    now, before = (
        worst(f'label_replace({series}, "xid", "$1", "err_code", "(.+)")', ", xid")
        for series in (last, f"{last} offset 10m")
    )
    new = f"{now}\nunless {before}"
    return either(exported, f"{worst(count, ', xid')} > 0", new)


def _memory(exported: frozenset[str]) -> Iterator[Alert]:
    def grown(name: str, level: Level, series: str, what: str, meaning: str) -> Alert:
        expression = either(exported, f"{worst(f'increase({series}[1h])')} > 0")
        return Alert(name, level, expression, "", f"{_WHO} {what}", meaning, _REPLACE)

    def above_zero(name: str, level: Level, series: str, what: str, meaning: str) -> Alert:
        expression = either(exported, f"{worst(series)} > 0")
        return Alert(name, level, expression, "5m", f"{_WHO} {what}", meaning, _REPLACE)

    yield grown(
        "GpuDoubleBitEcc",
        Level.CRITICAL,
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "had an uncorrectable memory error",
        "The pod that used the memory was ended or computed with wrong data.",
    )
    yield above_zero(
        "GpuRowRemapFailure",
        Level.CRITICAL,
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "has no spare rows left",
        "Faulty memory rows can no longer be replaced; the board is due for exchange.",
    )
    yield grown(
        "GpuRowsRemapped",
        Level.WARNING,
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "replaces memory rows after uncorrectable errors",
        "The replacement takes effect at the next reset of the GPU.",
    )
    yield above_zero(
        "GpuRowRemapPending",
        Level.WARNING,
        "DCGM_FI_DEV_ROW_REMAP_PENDING",
        "waits for a reset to replace memory rows",
        "Until then the faulty rows stay in use.",
    )
    yield above_zero(
        "GpuPageRetirementPending",
        Level.WARNING,
        "DCGM_FI_DEV_RETIRED_PENDING",
        "waits for a reset to retire memory pages",
        "Until then the faulty pages stay in use.",
    )
    percent = faults()["memoryNearlyFullPercent"]
    labels = f"{GPU}, GPU_I_ID"
    used, free, reserved = (
        f"max by ({labels}) (DCGM_FI_DEV_FB_{part})" for part in ("USED", "FREE", "RESERVED")
    )
    total = f"({used} + {free} + {reserved})"
    yield Alert(
        "GpuMemoryNearlyFull",
        Level.INFO,
        either(exported, f"100 * {used}\n/ {total} > {percent}"),
        "30m",
        f"{_WHO} has less than {100 - percent} % of its memory free",
        "Frameworks that reserve memory ahead look like this, too; pods that grow will fail.",
        "Compare with what the pod is meant to use; give it a larger GPU or MIG profile.",
    )


def _heat(exported: frozenset[str]) -> Iterator[Alert]:
    hot, limit = worst("DCGM_FI_DEV_GPU_TEMP"), worst("DCGM_FI_DEV_GPU_MAX_OP_TEMP")
    margin = f"min by ({GPU}) (DCGM_FI_DEV_GPU_TEMP_LIMIT)"
    memory, most = worst("DCGM_FI_DEV_MEMORY_TEMP"), worst("DCGM_FI_DEV_MEM_MAX_OP_TEMP")
    cooling = "Look at fans, airflow, neighbours in the rack and the temperature of the room."
    yield Alert(
        "GpuTooHot",
        Level.WARNING,
        either(exported, f"{hot} > ({limit} > 0)", f"{margin} <= 0"),
        "5m",
        f"{_WHO} is hotter than the board allows",
        "The limit is the board's own: its highest operating temperature, or no margin left.",
        cooling,
    )
    yield Alert(
        "GpuMemoryTooHot",
        Level.WARNING,
        either(exported, f"{memory} > ({most} > 0)"),
        "5m",
        f"The memory of {_WHO} is hotter than the board allows",
        "The limit is the board's own; above it the memory is slowed down.",
        cooling,
    )
    throttled = worst("rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m])")
    yield Alert(
        "GpuThermalThrottling",
        Level.WARNING,
        either(exported, f"{throttled} > 0"),
        "10m",
        f"{_WHO} is slowed down by heat",
        "The clocks are held below what the workload asks for.",
        cooling,
    )


def _links(exported: frozenset[str]) -> Iterator[Alert]:
    replays = f"{worst('increase(DCGM_FI_DEV_PCIE_REPLAY_COUNTER[5m])')} / 5"
    yield Alert(
        "GpuPcieReplays",
        Level.WARNING,
        either(exported, f"{replays} > {faults()['pcieReplaysPerMinute']}"),
        "10m",
        f"{_WHO} repeats {{{{ $value }}}} PCIe transfers per minute",
        "That is more than a sound link of any generation shows.",
        f"Reseat the board, look at riser and cables. {_DRAIN}",
    )
    yield Alert(
        "GpuNvlinkErrors",
        Level.CRITICAL,
        either(exported, *_nvlink_errors()),
        "",
        f"{_WHO} has NVLink errors",
        "Transfers between GPUs fail or are repeated; jobs on several GPUs slow down or end.",
        _REPLACE,
    )
    fabric = worst("DCGM_FI_DEV_FABRIC_MANAGER_STATUS")
    states = (f"{fabric} == {status}" for status in faults()["fabricFailures"])
    yield Alert(
        "GpuFabricFailed",
        Level.CRITICAL,
        either(exported, *states),
        "15m",
        f"{_WHO} is not joined to its NVSwitch fabric (status {{{{ $value }}}})",
        "CUDA programs on the node fail to start; status 1 is not started, 4 is failed.",
        "Look at 'systemctl status nvidia-fabricmanager': its version must be the driver's.",
    )


def _nvlink_errors() -> Iterator[str]:
    """Yield one expression per counter; NVLink 5 counts other things than its forerunners."""
    crc = faults()["nvlinkCrcErrorsPerSecond"]
    for kind in ("REPLAY", "RECOVERY"):
        series = f"DCGM_FI_DEV_NVLINK_{kind}_ERROR_COUNT_TOTAL"
        yield f"max by (pool, node, gpu) (increase({series}[5m])) > 0"
    for kind in ("FLIT", "DATA"):
        series = f"DCGM_FI_DEV_NVLINK_CRC_{kind}_ERROR_COUNT_TOTAL"
        yield f"max by (pool, node, gpu) (rate({series}[5m])) >= {crc}"
    for kind in ("RX_ERRORS", "LOCAL_LINK_INTEGRITY_ERRORS", "LINK_RECOVERY_EVENTS"):
        series = f"DCGM_FI_DEV_NVLINK_COUNT_{kind}"
        yield f"max by (pool, node, gpu) (increase({series}[5m])) > 0"

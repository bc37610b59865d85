"""Pools of every kind, and the faults that alerts are named after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from support.monitoring_series import FOREVER, Series, changed, pending, without

Change: TypeAlias = Callable[[list[Series], str], list[Series]]  # series, name of the sick node
_UNITS, _READY = "kube_node_status_allocatable", "kube_daemonset_status_number_ready"
MIXED = {"strategy": "mixed", "layout": [{"gpus": "all", "profiles": {"3g.20gb": 1, "2g.10gb": 2}}]}
GROWS = "0x80 1x200"  # a counter that steps once, ten minutes before it is looked at


def _pool(name: str, model: str, count: int, **more: Any) -> dict[str, Any]:
    gpu = {"model": model, "count": count}
    return {"name": name, "gpu": gpu, "hosts": [f"{name}-[01:02].example"], **more}


def _slices(resource: str, replicas: int) -> dict[str, Any]:
    return {"mode": "time-slicing", "resources": {resource: replicas}, "rename": True}


POOLS = {
    "plain": _pool("plain", "a100-sxm4-40gb", 2),
    "hgx": _pool("hgx", "h100-sxm5-80gb", 8),
    "rack": _pool("rack", "b200", 2),
    "old": _pool("old", "p100-pcie-16gb", 2),
    "mig": _pool("mig", "a100-sxm4-40gb", 2, mig=MIXED),
    "shared": _pool("shared", "t4", 2, sharing=_slices("nvidia.com/gpu", 4)),
    "mps": _pool("mps", "l4", 1, sharing={"mode": "mps", "resources": {"nvidia.com/gpu": 4}}),
    "mig-shared": _pool(
        "mig-shared", "a100-sxm4-40gb", 2, mig=MIXED, sharing=_slices("nvidia.com/mig-2g.10gb", 2)
    ),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the first node of a pool, and which alerts fire; minutes: when to look."""

    title: str
    apply: Change
    alerts: tuple[str, ...]
    minutes: int = 90


def _reading(series: str, values: str, *alerts: str, minutes: int = 90) -> Fault:
    """Return a fault: the exporter reads something else of GPU 0."""
    name = f"DCGM_FI_{series}"

    def apply(healthy: list[Series], node: str) -> list[Series]:
        return changed(healthy, name, values, node=node, gpu="0")

    return Fault(f"{series} {values}", apply, alerts, minutes)


def _series(title: str, name: str, values: str, *alerts: str, **extra: str) -> Fault:
    """Return a fault: a series of the node has other values, or further labels."""

    def apply(healthy: list[Series], node: str) -> list[Series]:
        return changed(healthy, name, values, extra=extra, node=node)

    return Fault(title, apply, alerts)


def _mig(state: str, alert: str) -> Fault:
    labels = {"label_nvidia_com_mig_config_state": state}
    return _series(f"MIG {state}", "kube_node_labels", f"1{FOREVER}", alert, **labels)


def _before_the_play(series: list[Series], node: str) -> list[Series]:
    """A new layout is merged: the manager knows the old name no more, the units are the old ones.

    Source: NVIDIA/mig-parted v0.14.5 pkg/mig/reconfigure: validateMigConfig, then "failed".
    """
    name, state = "label_nvidia_com_mig_config", "label_nvidia_com_mig_config_state"
    old = {name: "mig-0123abcd", state: "failed"}
    waits = changed(series, "kube_node_labels", f"1{FOREVER}", extra=old, node=node)
    return changed(waits, _UNITS, f"1{FOREVER}", node=node)


def _a_day_before(series: list[Series], node: str) -> list[Series]:
    waits = _before_the_play(series, node)
    return [replace(s, values=s.values.replace(FOREVER, "x1500")) for s in waits]


def _name_not_allowed(series: list[Series], node: str) -> list[Series]:
    """An allow-list of kube-state-metrics from before the name was read; the truncation fails."""
    name, state = "label_nvidia_com_mig_config", "label_nvidia_com_mig_config_state"
    found = [s for s in series if s.has("kube_node_labels", node=node)]
    rest = [s for s in series if s not in found]
    kept = [{k: v for k, v in s.labels.items() if k != name} for s in found]
    return rest + [Series("kube_node_labels", {**k, state: "failed"}, f"1{FOREVER}") for k in kept]


def xid(number: int) -> Change:
    """Return a fault: an XID at minute 85, in the gauge and where exported in the count."""

    def apply(series: list[Series], node: str) -> list[Series]:
        gauge, count = "DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT"
        result = changed(series, gauge, "0x84 _x200", node=node, gpu="0")
        for old in [s for s in series if s.has(gauge, node=node, gpu="0")]:
            labels = {**old.labels, "err_code": str(number), "err_msg": "text"}
            result.append(Series(gauge, labels, f"_x85 {number}x200"))
        for old in [s for s in series if s.has(count, node=node, gpu="0")]:
            result.append(Series(count, {**old.labels, "xid": str(number)}, "_x85 1x5"))
        return result

    return apply


def _gpu_gone(series: list[Series], node: str) -> list[Series]:
    return [s for s in series if s.labels.get("node") != node or s.labels.get("gpu") != "0"]


def _node_gone(series: list[Series], node: str) -> list[Series]:
    return [s for s in series if s.labels.get("node") != node]


def _plugin_gone(series: list[Series], node: str) -> list[Series]:
    plugin = f"device-plugin-{node.rpartition('-')[0]}"
    return without(series, "kube_daemonset_status_number_ready", daemonset=plugin)


ANY = (
    Fault("a fatal XID", xid(79), ("GpuFatalXid",)),
    Fault("another XID", xid(63), ("GpuXid",)),
    Fault("an XID of the workload", xid(31), ()),
    _series("an XID of yesterday", "DCGM_FI_DEV_XID_ERRORS", f"79{FOREVER}", err_code="79"),
    _reading("DEV_THERMAL_VIOLATION", f"0+1000{FOREVER}", "GpuThermalThrottling"),
    _reading("DEV_PCIE_REPLAY_COUNTER", f"0+100{FOREVER}", "GpuPcieReplays"),
    _reading("DEV_GET_GPU_RECOVERY_ACTION", f"2{FOREVER}", "GpuRecoveryNeeded"),
    _reading("DEV_ECC_DBE_VOL_TOTAL", GROWS, "GpuDoubleBitEcc"),
    _reading("DEV_ECC_SBE_VOL_TOTAL", GROWS),
    _reading("DEV_FB_USED", f"900000{FOREVER}", "GpuMemoryNearlyFull"),
    Fault("a GPU is gone", _gpu_gone, ("GpuMissing",)),
)
AMPERE = (
    _reading("DEV_ROW_REMAP_FAILURE", f"1{FOREVER}", "GpuRowRemapFailure"),
    _reading("DEV_UNCORRECTABLE_REMAPPED_ROWS", GROWS, "GpuRowsRemapped"),
    _reading("DEV_ROW_REMAP_PENDING", f"1{FOREVER}", "GpuRowRemapPending"),
)
BEFORE_AMPERE = (_reading("DEV_RETIRED_PENDING", f"1{FOREVER}", "GpuPageRetirementPending"),)
BEFORE_ADA = (
    _reading("DEV_GPU_TEMP", f"90{FOREVER}", "GpuTooHot"),
    _reading("DEV_MEMORY_TEMP", f"99{FOREVER}", "GpuMemoryTooHot"),
)
ADA = (_reading("DEV_GPU_TEMP_LIMIT", f"-1{FOREVER}", "GpuTooHot"),)
IDLE_GPU = (_reading("DEV_GPU_UTIL", f"0{FOREVER}", "GpuIdle"),)
IDLE_ENGINE = (_reading("PROF_GR_ENGINE_ACTIVE", f"0{FOREVER}", "GpuIdle"),)
NVLINK = (
    _reading("DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", GROWS, "GpuNvlinkErrors", minutes=84),
    _reading("DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", GROWS, "GpuNvlinkErrors", minutes=84),
    _reading("DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", f"0+6600{FOREVER}", "GpuNvlinkErrors"),
    _reading("DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", f"0+6600{FOREVER}", "GpuNvlinkErrors"),
    _reading("DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", f"0+60{FOREVER}"),
)
NVLINK5 = tuple(
    _reading(f"DEV_NVLINK_COUNT_{counter}", GROWS, "GpuNvlinkErrors", minutes=84)
    for counter in ("RX_ERRORS", "LOCAL_LINK_INTEGRITY_ERRORS", "LINK_RECOVERY_EVENTS")
)
FABRIC = (
    _reading("DEV_FABRIC_MANAGER_STATUS", f"4{FOREVER}", "GpuFabricFailed"),
    _reading("DEV_FABRIC_MANAGER_STATUS", f"1{FOREVER}", "GpuFabricFailed"),
)
MIG = (
    _mig("failed", "GpuMigFailed"),
    _mig("pending", "GpuMigPending"),
    _mig("rebooting", "GpuMigPending"),
    _mig("", "GpuMigStateUnknown"),
    Fault("a new layout waits for the play", _before_the_play, ()),
    Fault("a day without the play", _a_day_before, ("GpuMigLayoutOutdated",), minutes=1460),
    Fault("failed, name not passed on", _name_not_allowed, ("GpuMigFailed", "GpuMigStateUnknown")),
)
STATE = (
    _series("too few units", _UNITS, f"1{FOREVER}", "GpuAllocatableBelowSpec"),
    _series("no units", _UNITS, f"0{FOREVER}", "GpuAllocatableBelowSpec"),
    Fault(
        "no resource",
        lambda series, node: without(series, _UNITS, node=node),
        ("GpuAllocatableBelowSpec",),
    ),
    _series("too many units", _UNITS, f"99{FOREVER}", "GpuAllocatableAboveSpec"),
    Fault("a node is gone", _node_gone, ("GpuNodesMissing",)),
    _series("scrape fails", "up", f"0{FOREVER}", "GpuExporterDown"),
    Fault(
        "not scraped",
        lambda series, node: without(series, "up", node=node),
        ("GpuExporterDown",),
    ),
    Fault(
        "agents are not ready",
        lambda series, _: changed(series, _READY, f"1{FOREVER}"),
        ("GpuAgentMissing",),
    ),
    Fault("an agent is gone", _plugin_gone, ("GpuAgentNotDeployed",)),
    Fault(
        "nobody serves the scheduler's name",
        lambda series, _: [*series, *pending("hangs")],
        ("GpuPodsWithoutScheduler",),
    ),
    Fault(
        "labels are not allowed",
        lambda series, _: without(series, "kube_node_labels"),
        ("GpuPoolLabelsMissing",),
    ),
)
FAULTS = {
    "plain": (*ANY, *AMPERE, *BEFORE_ADA, *IDLE_GPU, *NVLINK, *STATE),
    "hgx": (*AMPERE, *ADA, *FABRIC),
    "rack": (*AMPERE, *ADA, *NVLINK5),
    "old": (*ANY, *BEFORE_ADA, *BEFORE_AMPERE, *IDLE_GPU),
    "mig": (*ANY, *AMPERE, *BEFORE_ADA, *IDLE_ENGINE, *MIG, *STATE),
    "shared": (*ANY, *BEFORE_ADA, *BEFORE_AMPERE, *IDLE_ENGINE, *STATE),
    "mps": (*ANY, *ADA, *IDLE_ENGINE, *STATE),
    "mig-shared": (*ANY, *IDLE_ENGINE, *MIG, *STATE),
}

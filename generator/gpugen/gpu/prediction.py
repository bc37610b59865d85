"""The prediction: what a cluster will see of a pool, computed here once and nowhere else.

Source: k8s-device-plugin v0.19.3, internal/rm, internal/lm, api/config/v1; mig-parted v0.13.1,
api/spec/v1. The oracles in the tests are the programs themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpugen.gpu.devices import count_devices
from gpugen.gpu.labels import predict_labels
from gpugen.model.catalog import GpuModel
from gpugen.model.driver import Driver
from gpugen.model.prediction import Prediction, ResourcePrediction
from gpugen.model.spec import Mig, Sharing, SharingMode

SHARED_SUFFIX = ".shared"
MPS_ROOT = "/run/nvidia/mps"


def predict(
    pool_name: str,
    gpu: GpuModel,
    gpu_count: int,
    mig: Mig,
    sharing: Sharing,
    driver: Driver,
    device_list_strategy: tuple[str, ...],
) -> Prediction:
    """Predict a pool's resources, labels and configurations.

    The result is total: for a combination that a check rejects it is a best effort.
    """
    devices = count_devices(gpu_count, mig)
    resources = tuple(_resources(devices, sharing))
    known, unknown = predict_labels(gpu, gpu_count, mig, sharing, driver)
    entries = _mig_config(gpu_count, mig)
    name = f"{pool_name}-{_content_hash(entries)}" if entries else ""
    return Prediction(
        resources=resources,
        labels=dict(sorted(known.items())),
        unknown_labels=tuple(sorted(unknown)),
        plugin_config=_plugin_config(mig, sharing, device_list_strategy),
        mig_config_name=name,
        mig_config={"version": "v1", "mig-configs": {name: entries}} if entries else {},
    )


def _resources(
    devices: Mapping[str, tuple[int, str]], sharing: Sharing
) -> Iterator[ResourcePrediction]:
    for base, (count, profile) in sorted(devices.items()):
        replicas = sharing.resources.get(base, 1)
        name = base + SHARED_SUFFIX if sharing.rename and replicas > 1 else base
        yield ResourcePrediction(name, base, count * replicas, count, replicas, profile)


def _plugin_config(
    mig: Mig, sharing: Sharing, device_list_strategy: tuple[str, ...]
) -> dict[str, Any]:
    """Return the file that plugin, GFD and MPS daemon all read."""
    flags: dict[str, Any] = {
        "migStrategy": str(mig.strategy),
        "failOnInitError": True,
        "plugin": {"deviceListStrategy": list(device_list_strategy)},
        "gfd": {"noTimestamp": True},
    }
    config: dict[str, Any] = {"version": "v1", "flags": flags}
    if sharing.mode is SharingMode.NONE:
        return config
    shared = {
        "renameByDefault": sharing.rename,
        "failRequestsGreaterThanOne": sharing.fail_requests_greater_than_one,
        "resources": [
            {"name": name, "replicas": replicas}
            for name, replicas in sorted(sharing.resources.items())
        ],
    }
    if sharing.mode is SharingMode.MPS:
        flags["mpsRoot"] = MPS_ROOT
        config["sharing"] = {"mps": shared}
    else:
        config["sharing"] = {"timeSlicing": shared}
    return config


def _mig_config(gpu_count: int, mig: Mig) -> list[dict[str, Any]]:
    """Return the entries of mig-parted's configuration; empty where the spec has no layout."""
    entries = []
    for entry in sorted(mig.layout, key=lambda e: e.gpus):
        every = len(entry.gpus) == gpu_count
        item: dict[str, Any] = {
            "devices": "all" if every else list(entry.gpus),
            "mig-enabled": bool(entry.profiles),
        }
        if entry.profiles:
            item["mig-devices"] = dict(sorted(entry.profiles.items()))
        entries.append(item)
    return entries


def _content_hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]

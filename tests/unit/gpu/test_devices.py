"""The devices of a node before sharing, by the resource that they become."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.gpu.devices import count_devices, plugin_version
from support.specs import resolved

GPU = "nvidia.com/gpu"
SEVEN = {"gpus": "all", "profiles": {"1g.5gb": 7}}
THREE = {"gpus": [0], "profiles": {"3g.20gb": 2}}
HALF = {"gpus": [0, 1], "profiles": {"1g.5gb": 7}}


@pytest.mark.parametrize(
    ("strategy", "layout", "devices"),
    [
        ("none", [], {GPU: (4, "")}),
        ("none", [SEVEN], {GPU: (4, "")}),  # the plugin hands out whole GPUs all the same
        ("single", [], {GPU: (4, "")}),
        ("single", [SEVEN], {GPU: (28, "1g.5gb")}),
        ("single", [HALF], {}),  # a GPU without instances: the plugin exits
        ("single", [THREE, {"gpus": [1, 2, 3], "profiles": {"1g.5gb": 7}}], {}),
        ("mixed", [], {GPU: (4, "")}),
        ("mixed", [HALF], {"nvidia.com/mig-1g.5gb": (14, "1g.5gb"), GPU: (2, "")}),
        ("mixed", [SEVEN], {"nvidia.com/mig-1g.5gb": (28, "1g.5gb")}),
    ],
)
def test_devices_of_a_node(strategy: str, layout: list[Any], devices: dict[str, Any]) -> None:
    (pool,) = resolved({"/pools/0/mig": {"strategy": strategy, "layout": layout}}).pools
    assert count_devices(pool.gpu_count, pool.mig) == devices


def test_the_version_of_the_plugin_is_the_specs_then_the_releases() -> None:
    assert plugin_version(resolved()) == "0.19.3"
    own = resolved({"/components": {"device-plugin": {"version": "0.20.0"}}})
    assert plugin_version(own) == "0.20.0"

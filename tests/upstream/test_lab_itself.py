"""The laboratory itself: what it plays, what it cannot show, and that it does not hide faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen.assemble import assemble
from support.lab import agents, models, node, pools, rendered
from support.lab.laboratory import Laboratory

NOT_CAPTURED = {  # models played as the catalogue describes them: nothing checks name and memory
    *("a100-sxm4-40gb-20b1", "a100x", "a10m", "ax800", "b200-2909", "gb300-31c3", "h100-96gb"),
    *("h20-nvl16", "h800-nvl", "p6", "v100-fhhl-16gb"),
}
NAMES_NOT_CHECKED = {  # geometries of whose instances no capture shows the memory
    *("a30", "b300", "gb300", "rtx-pro-4500", "rtx-pro-5000-48gb"),
}


def test_boards_that_nobody_captured_are_named() -> None:
    catalog = pools.catalog()
    every = [catalog.gpu(name) for name in catalog.gpu_ids()]
    assert {gpu.id for gpu in every if not models.played(gpu).is_captured} == NOT_CAPTURED
    captured = {gpu.geometry.id for gpu in every if gpu.geometry and models.captured_memory(gpu.id)}
    assert set(catalog.ids("migGeometries")) - captured == NAMES_NOT_CHECKED


def test_a_fault_of_the_mock_is_no_verdict(laboratory: Laboratory) -> None:
    gpu = pools.catalog().gpu("a10")
    spec = pools.resolved(pools.spec_of(gpu, 1))
    discovery = rendered.container(assemble(spec), "gpu-feature-discovery-lab")
    node.boot(laboratory.sandbox, node.node_of(spec.pools[0], models.played(gpu)))
    laboratory.sandbox.write("/lab/node", "something else\n")
    with pytest.raises(AssertionError, match="mock of NVML: nobody knows something"):
        agents.label(laboratory.sandbox, discovery)


def test_the_machine_below_sees_nothing_of_the_sandbox(laboratory: Laboratory) -> None:
    assert (
        laboratory.sandbox.path("/proc/modules").read_text(encoding="utf-8").startswith("nvidia ")
    )
    assert laboratory.sandbox.path("/lab/lib/libnvidia-ml.so.1").exists()
    assert not Path("/lab").exists()
    assert not Path("/proc/driver/nvidia-caps").exists()


def test_a_plugin_without_gpus_registers_nothing(laboratory: Laboratory) -> None:
    """With no GPU the plugin waits for ever; the laboratory must not take silence for success."""
    gpu = pools.catalog().gpu("a10")
    spec = pools.resolved(pools.spec_of(gpu, 1))
    node.boot(laboratory.sandbox, node.Node(models.played(gpu), gpu_count=0))
    plugin = rendered.container(assemble(spec), "device-plugin-lab")
    offer = agents.serve(laboratory.sandbox, laboratory.kubelet, plugin)
    assert dict(offer.resources) == {}

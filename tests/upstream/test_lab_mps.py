"""How often a GPU may be shared by MPS: the control daemon's verdict, and ours."""

from __future__ import annotations

import pytest

from gpugen.assemble import assemble
from gpugen.model.catalog import GpuModel
from support.lab import models, pools
from support.lab.laboratory import Laboratory

TOO_OLD = "sharing-mps-gpu-too-old"  # no MPS server is played, so the laboratory cannot show it
TOO_MANY = "sharing-mps-replicas"


def one_model_per_capability() -> list[GpuModel]:
    """Return a GPU model of each compute capability; the daemon looks at nothing else."""
    every = (pools.catalog().gpu(name) for name in pools.catalog().gpu_ids())
    return list({gpu.compute_capability: gpu for gpu in every}.values())


@pytest.mark.parametrize("replicas", [16, 17, 48, 49])
@pytest.mark.parametrize("gpu", one_model_per_capability(), ids=lambda gpu: gpu.id)
def test_daemon_and_check_know_one_ceiling(
    laboratory: Laboratory, gpu: GpuModel, replicas: int
) -> None:
    sharing = {"mode": "mps", "resources": {"nvidia.com/gpu": replicas}}
    data = pools.spec_of(gpu, 2, sharing=sharing)
    spec = pools.resolved(data)
    observed = laboratory.observe(assemble(spec), spec.pools[0], models.played(gpu))
    found = {finding.id for finding in pools.errors(data)}
    if TOO_OLD not in found:
        assert found == ({TOO_MANY} if observed.daemon_complaint else set())
    if observed.daemon_complaint:
        assert "maximum allowed replicas exceeded" in observed.daemon_complaint
        assert observed.offer.complaint, "the plugin serves without its daemon"
    else:
        assert dict(observed.offer.resources) == {"nvidia.com/gpu": 2 * replicas}

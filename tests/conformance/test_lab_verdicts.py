"""What the programs refuse our checks refuse, and the other way round, over made-up pools."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, example, given, settings
from lab import boards, generated, intent, pools
from lab.laboratory import Laboratory

from gpugen.plan import plan

NOT_SHOWN = {  # findings that the laboratory cannot judge -> why
    "driver-too-old-for-gpu": "the mock plays any board with any driver",
    "driver-too-new-for-gpu": "the mock plays any board with any driver",
    "mig-needs-newer-driver": "the mock plays MIG with any driver",
    "mig-driver-without-mig": "the mock plays MIG with any driver",
    "mig-without-layout": "nothing is rendered from it, so no program is told",
    "sharing-mps-gpu-too-old": "no MPS server is played; plugin and daemon accept any GPU",
}


@settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=generated.specs())
def test_verdicts_agree(laboratory: Laboratory, data: dict[str, Any]) -> None:
    spec = pools.resolved(data)
    (pool,) = spec.pools
    observed = laboratory.observe(plan(spec), pool, boards.played(pool.gpu))
    refused = intent.refusals(data["pools"][0], observed)
    found = {finding.id for finding in pools.errors(data)}
    event("refused" if refused else "accepted")
    for name in found:
        event(name)
    if found & NOT_SHOWN.keys():
        return
    assert bool(refused) == bool(found), (refused, sorted(found))
    if not refused:
        assert dict(observed.offer.resources) == pool.prediction.capacity
        printed = {
            name: value
            for name, value in observed.labelling.labels.items()
            if name not in pool.prediction.unknown_labels
        }
        assert printed == dict(pool.prediction.labels)

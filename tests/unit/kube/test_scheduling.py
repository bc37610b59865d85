"""Which scheduler serves GPU pods, and where its name may be written into them."""

from __future__ import annotations

from typing import Any

import pytest

from gpugen.kube import scheduling
from gpugen.model.options import Scheduler
from gpugen.model.spec import ClusterSpec
from support.specs import resolved

CONTROL_PLANE = {"/controlPlane": {"hosts": ["cp-1.lab.example"]}}


def spec(scheduler: Any = None, guardrails: Any = None, **more: Any) -> ClusterSpec:
    components = {"scheduler": scheduler, "guardrails": guardrails}
    stated = {name: options for name, options in components.items() if options is not None}
    return resolved({"/components": stated, **more})


@pytest.mark.parametrize(
    ("mode", "hosts", "packing", "main"),
    [
        ("auto", True, True, True),
        ("auto", False, True, False),  # nobody says where the main scheduler runs
        ("auto", True, False, False),  # nothing to pack
        ("main", False, False, True),
        ("second", True, True, False),
    ],
)
def test_who_packs(mode: str, hosts: bool, packing: bool, main: bool) -> None:
    stated = {"mode": mode, "binPacking": packing}
    found = spec(stated, **(CONTROL_PLANE if hosts else {}))
    assert scheduling.is_main(found, found.own(Scheduler)) is main


@pytest.mark.parametrize(
    ("scheduler", "name"),
    [
        (None, ""),
        ({"schedulerName": "gpus"}, "gpus"),
        ({"schedulerName": "default-scheduler"}, ""),  # what pods have anyway
    ],
)
def test_the_name_that_pods_should_have(scheduler: Any, name: str) -> None:
    assert scheduling.name(spec(scheduler)) == name


@pytest.mark.parametrize(
    ("guardrails", "kubernetes", "completes"),
    [
        ({"mode": "enforce"}, "1.36", True),
        ({"mode": "enforce"}, "1.35", False),  # MutatingAdmissionPolicy is not in v1 yet
        ({"mode": "enforce", "complete": False}, "1.36", False),
        ({"mode": "off"}, "1.36", False),
    ],
)
def test_who_completes_pods(guardrails: Any, kubernetes: str, completes: bool) -> None:
    found = spec(guardrails=guardrails, **{"/kubernetes/version": kubernetes})
    assert scheduling.completes(found) is completes
    second = {"mode": "second", "schedulerName": "gpus"}
    waits = spec(second, guardrails, **{"/kubernetes/version": kubernetes})
    assert scheduling.is_waited_for(waits) is completes


def test_the_main_scheduler_is_waited_for_by_its_own_play() -> None:
    rails = {"mode": "enforce"}
    assert not scheduling.is_waited_for(spec({"mode": "main"}, rails, **CONTROL_PLANE))
    assert not scheduling.is_waited_for(spec(None, rails))

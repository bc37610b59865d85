"""What the programs refuse our checks refuse, and the other way round, over made-up pools."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, event, example, given, settings

from gpugen import checks
from gpugen.assemble import assemble
from gpugen.model.finding import Severity
from support import TESTS
from support.lab import generated, intent, models, pools
from support.lab.laboratory import Laboratory
from support.specs import changed

CASES = TESTS / "checks"

NOT_SHOWN = {  # findings that the laboratory cannot check -> why
    "driver-too-old-for-gpu": "the mock plays any GPU model with any driver",
    "driver-too-new-for-gpu": "the mock plays any GPU model with any driver",
    "driver-modules-impossible": "the mock has no kernel modules",
    "mig-needs-newer-driver": "the mock plays MIG with any driver",
    "mig-driver-without-mig": "the mock plays MIG with any driver",
    "mig-without-layout": "nothing is rendered from it, so no program is told",
    "sharing-mps-gpu-too-old": "no MPS server is played; plugin and daemon accept any GPU",
}


def layout(strategy: str, profiles: dict[str, int]) -> dict[str, Any]:
    """Return the settings of a pool whose GPUs all have one MIG layout."""
    return {"mig": {"strategy": strategy, "layout": [{"gpus": "all", "profiles": profiles}]}}


def case(model: str, **settings: Any) -> dict[str, Any]:
    """Return a spec with one pool of three GPUs."""
    return pools.spec_of(pools.catalog().gpu(model), 3, **settings)


CHECKED = [
    *("mig-does-not-fit", "mig-gpu-cannot", "mig-gpu-index", "mig-gpu-not-covered"),
    *("mig-gpu-twice", "mig-profile-not-advertised", "mig-single-not-uniform"),
    *("mig-strategy-none-with-instances", "mig-unknown-profile"),
    *("sharing-mps-always-fails-requests", "sharing-mps-replicas", "sharing-mps-with-mig"),
    *("sharing-mps-with-mixed-mig", "sharing-too-many-units", "sharing-unknown-resource"),
]
TOO_LONG = "mig-product-label-too-long"  # warns of a label that the nodes do not get
OTHER_PLUGIN = {"mig-profile-not-advertised"}  # its good case takes a version that is not checked


@pytest.mark.parametrize("id", CHECKED)
def test_programs_refuse_the_bad_case_of_a_check_and_take_the_good_one(
    laboratory: Laboratory, id: str
) -> None:
    case = yaml.safe_load((CASES / f"{id}.yaml").read_text(encoding="utf-8"))
    assert refused(laboratory, changed(case["bad"]))
    if id not in OTHER_PLUGIN:
        assert not refused(laboratory, changed(case["good"]))


def test_labels_that_no_node_gets_are_warned_of(laboratory: Laboratory) -> None:
    case = yaml.safe_load((CASES / f"{TOO_LONG}.yaml").read_text(encoding="utf-8"))
    for word in ("bad", "good"):
        spec = pools.resolved(data := changed(case[word]))
        (pool,) = spec.pools
        observed = laboratory.observe(assemble(spec), pool, models.played(pool.gpu))
        assert not intent.refusals(data["pools"][0], observed)
        assert bool(intent.lost_labels(observed)) == (word == "bad")


def test_every_check_of_mig_and_sharing_is_checked_or_named() -> None:
    modules = ("gpugen.checks.mig", "gpugen.checks.mig_hosts", "gpugen.checks.sharing")
    errors = {
        check.id
        for check in checks.discover()
        if check.function.__module__ in modules and check.severity is Severity.ERROR
    }
    assert errors <= {*CHECKED, *NOT_SHOWN}
    assert not set(CHECKED) & NOT_SHOWN.keys()


def refused(laboratory: Laboratory, data: dict[str, Any]) -> list[str]:
    """Return why the programs refuse the one pool of a spec; empty: they take it."""
    spec = pools.resolved(data)
    (pool,) = spec.pools
    observed = laboratory.observe(assemble(spec), pool, models.played(pool.gpu))
    return intent.refusals(data["pools"][0], observed)


# Cases in which product and programs once disagreed.
COMPUTE_INSTANCES = case("gh200-144gb", **layout("single", {"1c.7g.144gb": 3}))
COMPUTE_INSTANCES_BY_NAME = case("gh200-144gb", **layout("mixed", {"1c.7g.144gb": 3}))
ATTRIBUTES = case("rtx-pro-6000-se", **layout("single", {"1g.24gb+gfx": 4}))
ATTRIBUTES_BY_NAME = case("rtx-pro-6000-se", **layout("mixed", {"1g.24gb+gfx": 4}))
OFF_WHERE_NONE_IS = case("p100-sxm2-16gb", **layout("mixed", {}))
LABEL_TOO_LONG = case("rtx-pro-6000-maxq", **layout("single", {"1g.24gb": 4}))
NOT_EVEN_NAMED = case(
    "a100-sxm4-40gb",
    mig={"strategy": "single", "layout": [{"gpus": [0, 1], "profiles": {"1g.5gb": 7}}]},
)


@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@example(data=COMPUTE_INSTANCES)
@example(data=COMPUTE_INSTANCES_BY_NAME)
@example(data=ATTRIBUTES)
@example(data=ATTRIBUTES_BY_NAME)
@example(data=OFF_WHERE_NONE_IS)
@example(data=LABEL_TOO_LONG)
@example(data=NOT_EVEN_NAMED)
@given(data=generated.specs())
def test_verdicts_agree(laboratory: Laboratory, data: dict[str, Any]) -> None:
    spec = pools.resolved(data)
    (pool,) = spec.pools
    observed = laboratory.observe(assemble(spec), pool, models.played(pool.gpu))
    refused = intent.refusals(data["pools"][0], observed)
    found = {finding.id for finding in pools.errors(data)}
    event("refused" if refused else "accepted")
    for name in found:
        event(name)
    if found & NOT_SHOWN.keys():
        return
    assert bool(refused) == bool(found), (refused, sorted(found))
    if not refused:
        warnings = {finding.id for finding in pools.findings(data)}
        assert bool(intent.lost_labels(observed)) == (TOO_LONG in warnings)
        assert dict(observed.offer.resources) == pool.prediction.capacity
        printed = intent.checked_labels(observed, pool.prediction)
        assert printed == dict(pool.prediction.labels)

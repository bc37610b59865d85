"""Checks of the guardrails: options without effect, and what an API server does not accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugen.checks import Problem, check
from gpugen.components.scheduling.guardrails import NAME, contribute
from gpugen.components.scheduling.guardrails.facts import KEEPS_PODS_AWAY
from gpugen.kube.scheduling import COMPLETES_FROM
from gpugen.model.finding import ROOT, Severity
from gpugen.model.options import Guardrails
from gpugen.model.spec import ClusterSpec, NodePool

AT = ROOT / "components" / NAME
LONGEST = 100_000  # characters of one expression


@check("guardrails-not-completed", "GG-15", severity=Severity.WARNING, component=NAME)
def not_completed(spec: ClusterSpec) -> Iterator[Problem]:
    """Pods are completed by a MutatingAdmissionPolicy, which needs Kubernetes 1.36 or newer.

    Before that it is beta and off by default, or missing, so none is rendered, and pods have to
    state scheduler, runtime class and tolerations themselves. What they omit causes a warning or,
    in mode enforce, a rejection. This finding appears only if the spec states guardrails. Source:
    kubernetes v1.36.3, v1.34.1 and v1.33.0, apiserver/pkg/features/kube_features.go.
    """
    options = spec.own(Guardrails)
    if AT not in spec.stated or options.mode == "off" or not options.complete:
        return
    if spec.kubernetes.minor < COMPLETES_FROM:
        yield Problem(
            at=AT / "complete" if AT / "complete" in spec.stated else AT,
            message=f"Kubernetes {spec.kubernetes.version} cannot complete pods that ask for a GPU:"
            f" MutatingAdmissionPolicy is in v1 from 1.{COMPLETES_FROM}",
            hint="write complete: false, and state scheduler, runtime class and tolerations in"
            " pods",
        )


@check("guardrails-option-without-effect", "GG-05", component=NAME)
def option_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """With mode off nothing is rendered; tolerations are added only with complete: true.

    A key without a pool's taint, or with effect PreferNoSchedule only, need not be tolerated.
    """
    options = spec.own(Guardrails)
    if options.mode == "off":
        for key in spec.stated.keys(AT):
            if key != "mode":
                yield Problem(
                    at=AT / key, message=f"{key} has no effect with mode 'off'", hint="remove it"
                )
        return
    if AT / "toleratedTaints" not in spec.stated:
        return
    if not options.complete:
        yield Problem(
            at=AT / "toleratedTaints",
            message="toleratedTaints has no effect with complete: false",
            hint="remove it",
        )
        return
    keys = {t.key for pool in spec.pools for t in pool.taints if t.effect in KEEPS_PODS_AWAY}
    for index, key in enumerate(options.tolerated_taints):
        if key not in keys:
            yield Problem(
                at=AT / "toleratedTaints" / index,
                message=f"no pool has a taint with key {key!r} that keeps pods away",
                hint=f"remove it; the pools' keys are {', '.join(sorted(keys))}"
                if keys
                else "remove toleratedTaints",
            )


@check("guardrails-too-large", component=NAME)
def too_large(spec: ClusterSpec) -> Iterator[Problem]:
    """An API server accepts CEL expressions of at most 100,000 characters.

    An expression has a row per pool with labels and taints; hundreds of pools with many labels do
    not fit. Source: cel-go, default of ParserExpressionSizeLimit; observed with kube-apiserver
    1.36.3.
    """
    if sum(map(_roughly, spec.pools)) < LONGEST:
        return  # far below, as nearly always: not worth building the policies twice
    objects = [placed.object for placed in contribute(spec, spec.own(Guardrails)).objects]
    longest = max(map(_longest, objects), default=0)
    if longest > LONGEST:
        yield Problem(
            at=AT,
            message=f"an expression of the admission policies has {longest} characters; API"
            f" servers accept at most {LONGEST}",
            hint=f"switch the component off ({NAME}: false), or give the {len(spec.pools)} pools"
            " fewer"
            " labels and taints",
        )


def _roughly(pool: NodePool) -> int:
    """Return the characters of all that the policies say of a pool."""
    labels = {**pool.labels, **pool.prediction.labels}
    texts = [*labels, *labels.values(), *pool.prediction.capacity, pool.name]
    texts += [part for taint in pool.taints for part in (taint.key, taint.value, taint.effect)]
    return sum(len(text) + 20 for text in texts)


def _longest(value: Any) -> int:
    """Return the length of the longest text in an object."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_longest, inner), default=0)

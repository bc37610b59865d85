"""Checks of the resources that components' containers request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from gpugen.checks import Problem, check
from gpugen.model import NOTHING
from gpugen.model.finding import Pointer
from gpugen.model.options import NfdResources, Resources
from gpugen.model.spec import ClusterSpec

NAMES = ("cpu", "memory", "ephemeral-storage")
REQUESTS, LIMITS = "requests", "limits"
_DECIMAL, _BINARY = "kMGT", "KMGT"
_FACTORS = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{letter: Decimal(1000) ** n for n, letter in enumerate(_DECIMAL, 1)},
    **{f"{letter}i": Decimal(1024) ** n for n, letter in enumerate(_BINARY, 1)},
}


@check("component-resources-wrong")
def resources(spec: ClusterSpec) -> Iterator[Problem]:
    """The API server rejects a request above its limit, and fractions of a byte.

    gpugen's programs use CPU, memory and ephemeral storage only. They see GPUs without requesting
    them; a requested GPU would be lost to workloads. Source: kubernetes v1.36.3,
    pkg/apis/core/validation, ValidateContainerResourceRequirements; observed with kube-apiserver.
    """
    for name, options in spec.options.items():
        at = spec.at / "components" / name / "resources"
        for where, amounts in _containers(getattr(options, "resources", NOTHING), at):
            for kind, values in amounts.items():
                for resource, text in values.items():
                    wrong = _wrong(kind, resource, text, amounts.get(LIMITS, {}))
                    if wrong:
                        message, hint = wrong
                        yield Problem(at=where / kind / resource, message=message, hint=hint)


def _containers(
    stated: Resources | NfdResources, at: Pointer
) -> Iterator[tuple[Pointer, Mapping[str, Mapping[str, str]]]]:
    """Yield the amounts of each container: those of the only one, or by program."""
    if not isinstance(stated, NfdResources):
        yield at, stated
        return
    for program, amounts in stated._asdict().items():
        yield at / program, amounts


def _wrong(
    kind: str, resource: str, text: str, limits: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return message and hint, None where the API server accepts the amount."""
    if resource not in NAMES:
        return (
            f"{kind} has {resource}, which gpugen's programs do not use",
            f"remove it; supported are {', '.join(NAMES)}",
        )
    if resource != "cpu" and _amount(text) % 1:
        return (
            f"{kind}.{resource} is {text}, not a whole number of bytes",
            f"for mebibytes write {text.rstrip('m')}Mi",
        )
    if kind == REQUESTS and resource in limits and _amount(text) > _amount(limits[resource]):
        return (
            f"requests.{resource} {text} is more than limits.{resource} {limits[resource]}",
            "lower the request or raise the limit",
        )
    return None


def _amount(text: str) -> Decimal:
    """Return a quantity's amount in units or bytes."""
    number = text.rstrip("mkKMGTi")
    return Decimal(number) * _FACTORS[text[len(number) :]]

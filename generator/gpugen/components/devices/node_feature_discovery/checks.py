"""Checks of node feature discovery."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import Problem, check
from gpugen.components import options_of, options_schema
from gpugen.model.finding import Severity
from gpugen.model.options import NodeFeatureDiscovery
from gpugen.model.spec import ClusterSpec

NAME = "node-feature-discovery"
OF_WORKER = ("sources", "sleepInterval", "maxUnavailable")


@check(
    f"{NAME}-option-without-effect", "GG-14", severity=Severity.WARNING, component=NAME, at_key=True
)
def option_without_effect(spec: ClusterSpec) -> Iterator[Problem]:
    """Options of a program that is not installed have no effect.

    With mode existing the cluster's own node feature discovery is used as it is; with worker: false
    its options are unused. Source: node-feature-discovery v0.18.3, cmd/nfd-master and
    cmd/nfd-worker: separate programs.
    """
    options = spec.own(NodeFeatureDiscovery)
    usual, keys = options_of(NAME, {}), (options_schema(NAME) or {})["properties"]
    if options.mode == "existing":
        idle, why = [key for key in keys if key != "mode"], "mode is 'existing'"
    elif not options.worker:
        idle, why = list(OF_WORKER), "worker is false"
    else:
        return
    for key, stated, default in zip(keys, options, usual or (), strict=True):
        if key in idle and stated != default:
            yield Problem(
                at=spec.at / "components" / NAME / key,
                message=f"{key} has no effect, because {why}",
                hint=f"remove {key}",
            )

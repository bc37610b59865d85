"""Every example tree validated by all of its validators: real programs, real schemas, closures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen import pipeline
from gpugen.workspace import Workspace
from support import ROOT
from support.validators import closure, programs
from support.validators.tree import Rendered

CLUSTERS = Workspace(ROOT).clusters()
FIELDS = ROOT / "generator" / "gpugen" / "catalog" / "data" / "dcgm-fields.yaml"
CLOSURES = [
    *(closure.selectors, closure.nodes, closure.references, closure.accounts, closure.volumes),
    *(closure.environment, closure.checksums, closure.services, closure.predictions),
    *(closure.privileges, closure.ownership, closure.delivery),
]
Find = Callable[[str], Path]


@pytest.fixture(scope="module", params=CLUSTERS)
def tree(request: pytest.FixtureRequest) -> Rendered:
    workspace = Workspace(ROOT)
    outcome = pipeline.run(workspace.spec_path(request.param), workspace)
    assert outcome.spec is not None
    return Rendered(dict(pipeline.build(outcome)), outcome.spec.kubernetes.version)


@pytest.mark.parametrize("validator", CLOSURES, ids=lambda validator: validator.__name__)
def test_closures(tree: Rendered, validator: Callable[[Rendered], Any]) -> None:
    assert list(validator(tree)) == []


def test_metrics(tree: Rendered) -> None:
    rows = yaml.safe_load(FIELDS.read_text())
    fields = {*rows["fields"], *rows["exporter"], *rows["aliases"]}
    assert list(closure.metrics(tree, fields)) == []


@pytest.mark.parametrize(
    "validator",
    [
        *(programs.kustomize, programs.plugin_configs, programs.mig_configs),
        *(programs.rules, programs.scheduler),
    ],
    ids=lambda validator: validator.__name__,
)
def test_programs(
    tree: Rendered, validator: Callable[..., Any], upstream: Find, tmp_path: Path
) -> None:
    assert list(validator(tree, upstream, tmp_path)) == []


@pytest.mark.validated_by("kubernetes-validate")
def test_schemas(tree: Rendered, validate_custom_resource: Callable[[Any], list[str]]) -> None:
    assert list(programs.schemas(tree, validate_custom_resource)) == []


def test_client_models(tree: Rendered) -> None:
    assert list(programs.client_models(tree)) == []

"""The validators tested: a good tree broken in hundreds of ways, each noticed by one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen import pipeline
from gpugen.workspace import Workspace
from support import ROOT
from support.cases import Cases
from support.validators import closure, programs
from support.validators.mutants import Mutant, mutants
from support.validators.tree import Rendered

FIELDS = ROOT / "generator" / "gpugen" / "catalog" / "data" / "dcgm-fields.yaml"
CLOSURES = [
    *(closure.selectors, closure.nodes, closure.references, closure.accounts, closure.volumes),
    *(closure.environment, closure.checksums, closure.services, closure.predictions),
    *(closure.privileges, closure.ownership, closure.delivery),
]
Find = Callable[[str], Path]


@cache
def fields() -> set[str]:
    """Return the names that a row of the exporter's CSV may begin with."""
    rows = yaml.safe_load(FIELDS.read_text())
    return {*rows["fields"], *rows["exporter"], *rows["aliases"]}


def noticed_by(
    mutant: Mutant, good: Rendered, find: Find, custom: Callable[[Any], list[str]], folder: Path
) -> str:
    """Return the first validator that complains; the cheap ones come first."""
    changed = {p for p, c in mutant.tree.files.items() if good.files.get(p) != c}
    small = Rendered({p: mutant.tree.files[p] for p in changed}, good.kubernetes)

    def validators() -> Iterator[tuple[str, Iterator[str]]]:
        yield "schemas", programs.schemas(small, custom)
        for validator in CLOSURES:
            yield validator.__name__, validator(mutant.tree)
        yield "metrics", closure.metrics(mutant.tree, fields())
        yield "client_models", programs.client_models(small)
        yield "plugin_configs", programs.plugin_configs(small, find, folder)
        small.files |= {p: c for p, c in mutant.tree.files.items() if "group_vars" in p}
        yield "mig_configs", programs.mig_configs(small, find, folder)
        yield "rules", programs.rules(small, find, folder)
        yield "scheduler", programs.scheduler(small, find, folder)
        yield "kustomize", programs.kustomize(mutant.tree, find, folder)

    for name, complaints in validators():
        try:
            if next(iter(complaints), ""):
                return name
        except Exception as error:  # noqa: BLE001 - a validator that cannot read the tree complains too
            return f"{name} ({type(error).__name__})"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["lab", "train", "fleet-edge"])
def test_every_mutant_is_noticed(
    cluster: str,
    upstream: Find,
    validate_custom_resource: Callable[[Any], list[str]],
    tmp_path: Path,
    cases: Cases,
) -> None:
    workspace = Workspace(ROOT)
    outcome = pipeline.run(workspace.spec_path(cluster), workspace)
    assert outcome.spec is not None
    good = Rendered(dict(pipeline.build(outcome)), outcome.spec.kubernetes.version)
    verdicts = {
        mutant.name: noticed_by(
            mutant, good, upstream, validate_custom_resource, tmp_path / f"mutant-{number}"
        )
        for number, mutant in enumerate(mutants(good))
        if not (tmp_path / f"mutant-{number}").mkdir()
    }
    cases.broken.update(
        (name.partition(": ")[0], validator) for name, validator in verdicts.items()
    )
    assert len(verdicts) >= 60
    assert [name for name, validator in verdicts.items() if not validator] == []

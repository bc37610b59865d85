"""Our CRDs of node feature discovery accept and keep the same fields as upstream's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.components.devices.node_feature_discovery import crds as ours


def without_prose(value: Any, *, is_properties: bool = False) -> Any:
    """Return a schema without descriptions, lists of names in order."""
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: sorted(part)
        if key == "required" and not is_properties
        else without_prose(part, is_properties=key == "properties" and not is_properties)
        for key, part in value.items()
        if is_properties or key != "description"
    }


@pytest.mark.parametrize("definition", [ours.node_feature(), ours.node_feature_rule()])
def test_definition(definition: Any, crds: Callable[[str], list[Path]]) -> None:
    documents = [d for path in crds("nfd") for d in yaml.safe_load_all(path.read_text()) if d]
    upstream = {d["metadata"]["name"]: d["spec"] for d in documents}
    assert without_prose(definition["spec"]) == without_prose(
        upstream[definition["metadata"]["name"]]
    )


def test_what_we_leave_out_is_behind_a_feature_gate(crds: Callable[[str], list[Path]]) -> None:
    documents = [d for path in crds("nfd") for d in yaml.safe_load_all(path.read_text()) if d]
    names = {d["metadata"]["name"] for d in documents}
    made = {d["metadata"]["name"] for d in (ours.node_feature(), ours.node_feature_rule())}
    assert names - made == {"nodefeaturegroups.nfd.k8s-sigs.io"}

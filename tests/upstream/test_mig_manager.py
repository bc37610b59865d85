"""The layouts that the MIG manager is given, validated by the real mig-parted."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpugen.components.devices.mig_manager import CONFIG_LABEL, contribute
from support.specs import MIG_POOL, resolved

LAYOUTS = {
    "two-ways-and-one-left-whole": MIG_POOL["/pools/0/mig"]["layout"],
    "all-alike": [{"gpus": "all", "profiles": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}],
    "media-extensions": [{"gpus": "all", "profiles": {"1g.5gb+me": 1, "3g.20gb": 1}}],
    "switched-off": [{"gpus": "all", "profiles": {}}],
}


def rendered(layout: object) -> tuple[str, str]:
    """Return the file as it is rendered, and the name by which the node's label asks for it."""
    spec = resolved({**MIG_POOL, "/pools/0/mig/layout": layout})
    contribution = contribute(spec, spec.options["mig-manager"])
    data: list[dict[str, Any]] = [
        p.object["data"] for p in contribution.objects if "data" in p.object
    ]
    (text,) = (entry["config.yaml"] for entry in data if "config.yaml" in entry)
    return text, contribution.node_labels["a100"][CONFIG_LABEL]


def assert_valid(program: Path, text: str, name: str) -> int:
    command = [program, "assert", "--valid-config", "-f", "-", "-c", name]
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, timeout=60, check=False
    )
    return done.returncode


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layout_is_found_under_the_name_of_the_label(
    layout: object, upstream: Callable[[str], Path]
) -> None:
    assert assert_valid(upstream("mig-parted"), *rendered(layout)) == 0


def test_an_old_label_names_nothing_in_a_new_file(upstream: Callable[[str], Path]) -> None:
    _, old = rendered(LAYOUTS["all-alike"])
    text, _ = rendered(LAYOUTS["switched-off"])
    assert assert_valid(upstream("mig-parted"), text, old) != 0

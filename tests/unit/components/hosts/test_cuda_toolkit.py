"""CUDA toolkits as data: packages by name, the driver that they need, cuDNN of one major."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen.components.hosts.cuda_toolkit import COMPONENT, cudnn_package, driver_floor, package
from gpugen.model.finding import Pointer
from gpugen.model.tuning import CudaToolkit
from support import ROOT
from support.specs import resolved


def toolkit(*versions: str, default: str = "") -> CudaToolkit:
    return CudaToolkit(versions, default, profile=False, cudnn="9.13.0", at=Pointer(""))


def variables(stated: dict[str, Any]) -> dict[str, Any]:
    found = COMPONENT.contribute(resolved({"/hostDefaults/cudaToolkit": stated}), {})
    return dict(found.host_variables["a100"])


def test_a_package_is_of_one_toolkit_alone() -> None:
    """CUD-01: never ``cuda``, whose newest version moves and brings a driver."""
    assert package("13.0") == "cuda-toolkit-13-0"


@pytest.mark.parametrize(
    ("versions", "floor"),
    [(["12.9"], "525.60.13"), (["12.9", "13.0"], "580"), (["99.0"], "")],
    ids=["one", "the-highest-of-several", "unknown"],
)
def test_the_driver_that_all_toolkits_run_on(versions: list[str], floor: str) -> None:
    """CUD-02: by the catalogue's table."""
    assert driver_floor(toolkit(*versions)) == floor


@pytest.mark.parametrize(
    ("versions", "default", "name"),
    [
        (["13.0", "13.1"], "", "cudnn9-cuda-13"),
        (["12.9", "13.0"], "12.9", "cudnn9-cuda-12"),
        (["12.9", "13.0"], "", ""),
        (["11.8"], "", ""),
    ],
    ids=["one-major", "the-defaults", "ambiguous", "none-built"],
)
def test_cudnn_is_of_the_defaults_major(versions: list[str], default: str, name: str) -> None:
    """CUD-04: the same CUDA major as the toolkit."""
    assert cudnn_package(toolkit(*versions, default=default)) == name


def test_what_is_stated_becomes_variables() -> None:
    """CUD-03: side by side; the link only with a default."""
    assert variables({"versions": ["12.9", "13.0"]}) == {
        "cuda_toolkit_packages": ["cuda-toolkit-12-9", "cuda-toolkit-13-0"],
        "cuda_toolkit_driver_floor": "580",
    }
    stated = {"versions": ["13.0"], "default": "13.0", "profile": True, "cudnn": "9.13.0"}
    assert variables(stated) == {
        "cuda_toolkit_packages": ["cuda-toolkit-13-0"],
        "cuda_toolkit_driver_floor": "580",
        "cuda_toolkit_default": "13.0",
        "cuda_toolkit_profile": True,
        "cuda_toolkit_cudnn": "9.13.0",
        "cuda_toolkit_cudnn_package": "cudnn9-cuda-13",
    }


def test_nobody_gets_a_toolkit_unasked() -> None:
    """CUD-05: containers bring their own."""
    assert "cuda-toolkit" not in resolved().options
    asked = resolved({"/pools/0/host/cudaToolkit": {"versions": ["13.0"]}})
    assert "cuda-toolkit" in asked.options


def test_variables_meet_the_roles_contract() -> None:
    """Everything that can be stated is an option of the role, of its type."""
    path = ROOT / "roles" / "cuda_toolkit" / "meta" / "argument_specs.yml"
    contract = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    stated = {"versions": ["13.0"], "default": "13.0", "profile": True, "cudnn": "9.13.0"}
    found = variables(stated)
    assert set(found) == set(contract)
    assert ArgumentSpecValidator(contract).validate(found).error_messages == []

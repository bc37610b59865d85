"""What hosts need before the driver: repositories and kernel headers, by system and method."""

from __future__ import annotations

import pytest

from support.hosts_half import variables

OS = "/hostDefaults/os"


def test_a_repository_in_the_vendors_layout_with_a_key_beside_the_plays() -> None:
    stated = {
        "baseURL": "https://packages.lab.example/cuda",
        "keyFile": "keys/cuda.asc",
        "fingerprint": "EB693B3035CD5710E231E123A4B469963BF863CC",
    }
    found = variables({"/hostDefaults/repositories": stated})["gpu_prerequisites_repositories"]
    assert found == [
        {
            "name": "nvidia",
            "uri": "https://packages.lab.example/cuda/ubuntu2404/x86_64/",
            "key": "keys/cuda.asc",
            "fingerprint": stated["fingerprint"],
        }
    ]


def test_the_headers_are_named_by_the_system_pre_04() -> None:
    name = "gpu_prerequisites_header_packages"
    assert variables({OS: "rocky-9"})[name] == ["kernel-devel-matched", "kernel-headers"]
    assert "kernel-modules-extra" in variables({OS: "amzn-2023"})[name]
    assert name not in variables({OS: "debian-12"})


@pytest.mark.parametrize(
    ("method", "may_change", "headers", "held"),
    [
        ("vendor", False, True, False),
        ("precompiled", False, False, True),
        ("precompiled", True, False, False),
        ("none", False, False, False),
    ],
)
def test_headers_where_modules_are_built_and_no_new_kernel_where_they_come_built(
    method: str, may_change: bool, headers: bool, held: bool
) -> None:
    driver = {"/hostDefaults/driver/method": method}
    found = variables({**driver, "/hostDefaults/allowKernelChange": may_change})
    assert found["gpu_prerequisites_headers"] is headers
    assert found["gpu_prerequisites_hold_kernel_updates"] is held

"""Where packages come from: the vendor's own repositories, mirrors, and what a spec may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen import checks
from gpugen.model.finding import Finding
from support import TESTS
from support.commands import gpugen
from support.component_specs import cluster, contribution, pool

SPEC = "inventories/lab/cluster.yaml"
CUDA = "https://developer.download.nvidia.com/compute/cuda/repos"
TOOLKIT = "https://nvidia.github.io/libnvidia-container/stable"
OWN = {
    "baseURL": "https://mirror.lab.example/x",
    "keyFile": "keys/own.asc",
    "fingerprint": "EB693B3035CD5710E231E123A4B469963BF863CC",
}


def stating(stated: Any, system: str = "ubuntu-24.04", own: Any = None) -> Any:
    """Return a resolved spec. stated: in hostDefaults; own: in the pool."""
    defaults = {
        "os": system,
        "driver": {"version": "595.58.03"},
        "containerToolkit": {"version": "1.20.0"},
        "repositories": stated,
    }
    return cluster(
        pool(host={"repositories": own} if own is not None else {}), hostDefaults=defaults
    )


def sources(stated: Any, system: str = "ubuntu-24.04", own: Any = None) -> list[dict[str, Any]]:
    found = contribution(stating(stated, system, own), "prerequisites").host_variables["a"]
    return list(found["gpu_prerequisites_repositories"])


def findings(stated: Any, system: str) -> list[Finding]:
    spec = stating(stated, system)
    return [finding for check in checks.discover() for finding in check.run(spec)]


def test_the_vendors_own_are_two_repositories_with_two_keys() -> None:
    assert sources("vendor") == [
        {
            "name": "nvidia",
            "uri": f"{CUDA}/ubuntu2404/x86_64/",
            "key": "keys/nvidia-cuda-3bf863cc.asc",
            "fingerprint": "EB693B3035CD5710E231E123A4B469963BF863CC",
        },
        {
            "name": "nvidia-container-toolkit",
            "uri": f"{TOOLKIT}/deb/amd64/",
            "key": "keys/nvidia-container-toolkit-f796ecb0.asc",
            "fingerprint": "C95B321B61E88C1809C4F759DDCAE044F796ECB0",
        },
    ]


def test_the_vendors_toolkit_for_dnf_is_signed_by_its_index_alone() -> None:
    """As its own .repo file says: repo_gpgcheck=1, gpgcheck=0."""
    cuda, toolkit = sources("vendor", "rocky-9")
    assert "signed_packages" not in cuda
    assert "signed_metadata" not in cuda
    assert (toolkit["uri"], toolkit["signed_packages"], toolkit["signed_metadata"]) == (
        f"{TOOLKIT}/rpm/x86_64/",
        False,
        True,
    )


def test_another_release_of_debian_has_another_key() -> None:
    cuda, _ = sources("vendor", "debian-13")
    assert cuda["fingerprint"] == "02182E60104FCDC26EAE1B8597A5D4CB8793F200"
    assert cuda["key"] == "keys/nvidia-cuda-8793f200.asc"


def test_each_part_may_have_a_repository_of_its_own() -> None:
    cuda, toolkit = sources({"driver": OWN, "containerToolkit": "vendor"})
    assert cuda["uri"] == "https://mirror.lab.example/x/ubuntu2404/x86_64/"
    assert toolkit["uri"] == f"{TOOLKIT}/deb/amd64/"
    (only,) = sources({"containerToolkit": OWN})
    assert only["uri"] == "https://mirror.lab.example/x/deb/amd64/"
    (both,) = sources(OWN)
    assert (both["name"], both["uri"]) == (
        "nvidia",
        "https://mirror.lab.example/x/ubuntu2404/x86_64/",
    )


@pytest.mark.parametrize(
    ("own", "uris"),
    [
        ("vendor", [f"{CUDA}/ubuntu2404/x86_64/", f"{TOOLKIT}/deb/amd64/"]),
        ({"driver": "vendor"}, [f"{CUDA}/ubuntu2404/x86_64/"]),
        (OWN, ["https://mirror.lab.example/x/ubuntu2404/x86_64/"]),
    ],
    ids=["word", "part", "whole"],
)
def test_what_a_pool_states_stands_whole_over_one_repository(own: Any, uris: list[str]) -> None:
    other = {**OWN, "baseURL": "https://defaults.lab.example"}
    found = sources(other, own=own)
    assert [source["uri"] for source in found] == uris


def test_parts_of_a_pool_stand_over_parts_of_the_defaults() -> None:
    found = sources(
        {"driver": "vendor", "containerToolkit": "vendor"}, own={"containerToolkit": OWN}
    )
    assert [source["uri"] for source in found] == [
        f"{CUDA}/ubuntu2404/x86_64/",
        "https://mirror.lab.example/x/deb/amd64/",
    ]


@pytest.mark.parametrize("system", ["ubuntu-26.04", "rhel-10", "rocky-10", "alma-10", "amzn-2023"])
def test_a_key_that_nobody_confirmed_is_refused_with_a_way_out(system: str) -> None:
    found = findings("vendor", system)
    (finding,) = [each for each in found if each.id == "repository-key-unknown"]
    assert finding.message == (
        f"the fingerprint of the vendor's signing key for {system} is not known"
    )
    assert f"driver: {{baseURL: {CUDA}, keyFile: keys/" in finding.hint
    stated = {"driver": {**OWN, "baseURL": CUDA}, "containerToolkit": "vendor"}
    assert findings(stated, system) == [each for each in found if each is not finding]


def test_a_key_of_the_vendor_is_fetched_by_one_line(tmp_path: Path) -> None:
    said = gpugen("init", tmp_path).err
    spec = tmp_path / SPEC
    stated = spec.read_text("utf-8").replace("# repositories: vendor", "repositories: vendor")
    assert yaml.safe_load(stated)["hostDefaults"]["repositories"] == "vendor"
    spec.write_text(stated, "utf-8")
    found = gpugen("validate", cwd=tmp_path).err
    lines = [line for line in said.splitlines() if line.startswith("  curl ")]
    assert len(lines) == 2
    for line in lines:
        assert line.strip() in found  # the hint of what is missing is the same line
    assert f"{CUDA}/ubuntu2404/x86_64/3bf863cc.pub" in lines[0]
    assert "https://nvidia.github.io/libnvidia-container/gpgkey" in lines[1]
    assert found.endswith("2 errors\n")
    own = (TESTS / "data/keys/packages.asc").read_text("utf-8")
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/nvidia-cuda-3bf863cc.asc").write_text(own, "utf-8")
    answer = gpugen("validate", cwd=tmp_path).err
    assert "'keys/nvidia-cuda-3bf863cc.asc' has another fingerprint: FC89AF4178C3" in answer


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"driver": "vendro"}, "did you mean vendor?"),
        ("vendors", "did you mean vendor?"),
        ({}, "baseURL"),
        ({"baseURL": "https://x.lab.example", "keyFile": "keys/a.asc"}, "fingerprint"),
        ({"url": "https://x.lab.example", **OWN}, "write baseURL:"),
        ({"driver": {"baseURL": "https://x.lab.example"}}, "keyFile"),
        ({"toolkit": "vendor", "driver": "vendor"}, "write containerToolkit:"),
    ],
)
def test_what_is_written_wrongly_is_answered(tmp_path: Path, stated: Any, said: str) -> None:
    gpugen("init", tmp_path)
    spec = tmp_path / SPEC
    data = yaml.safe_load(spec.read_text("utf-8"))
    data["hostDefaults"]["repositories"] = stated
    spec.write_text(yaml.safe_dump(data), "utf-8")
    answer = gpugen("validate", cwd=tmp_path)
    assert answer.code == 1
    assert said in answer.err
    assert "/hostDefaults/repositories" in answer.err

"""The container toolkit's part of the spec: runtimes, and what distributions change about them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from gpugen.hosts.decisions import load
from gpugen.validate import validate
from support import ROOT, hosts_half
from support.specs import changed, resolved

PREFIX = "nvidia_container_toolkit_"
CATALOG = Catalog()


def variables(changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what all hosts share and what the first pool has of its own, without the prefix."""
    spec = resolved(changes)
    made = assemble(spec)
    shared, own = made.cluster_variables, made.host_variables[spec.pools[0].name]
    return _bare(shared), _bare(own)


def _bare(values: Any) -> dict[str, Any]:
    return {n.removeprefix(PREFIX): v for n, v in values.items() if n.startswith(PREFIX)}


def kubernetes(distribution: str, version: str = "1.36", **more: str) -> dict[str, Any]:
    return {"/kubernetes": {"version": version, "distribution": distribution, **more}}


def toolkit(**more: Any) -> dict[str, Any]:
    return {"/hostDefaults/containerToolkit": {"version": "1.20.0", **more}}


@pytest.mark.parametrize("distribution", ["kubeadm", "k3s", "rke2", "k0s"])
def test_paths_units_and_socket_are_the_rows(distribution: str) -> None:
    """DIST-01."""
    row = CATALOG.distribution(distribution).runtime
    shared, _ = variables(kubernetes(distribution))
    assert shared["services"] == [f"{unit}.service" for unit in row.units]
    config = shared["effective"] if shared["mode"] == "detect" else shared["root"]
    assert config == row.config_file
    assert shared["socket"] == row.socket
    assert shared.get("client", []) == list(row.client)


@pytest.mark.parametrize(("minor", "version"), [("1.34", 2), ("1.35", 2), ("1.36", 3)])
def test_k0s_takes_one_version_of_drop_ins(minor: str, version: int) -> None:
    """DIST-02, DIST-06."""
    assert variables(kubernetes("k0s", minor))[0]["dropin_version"] == version


@pytest.mark.parametrize("distribution", ["k3s", "rke2"])
def test_what_detects_gets_no_drop_in(distribution: str) -> None:
    """DIST-03, DIST-05: no table of ours, no folder that may not be imported."""
    shared, _ = variables(kubernetes(distribution))
    assert shared["mode"] == "detect"
    assert not {"dropin", "dropin_version", "root"} & shared.keys()


@pytest.mark.parametrize("distribution", ["k3s", "rke2"])
def test_what_detects_names_its_default_runtime_itself(distribution: str) -> None:
    """DIST-04, CTK-12."""
    shared, own = variables({**kubernetes(distribution), **toolkit(defaultRuntime=True)})
    folder = f"/etc/rancher/{distribution}/config.yaml.d/"
    assert shared["default_file"].startswith(folder)
    assert own["default_runtime"] is True


def test_ours_is_not_the_default_runtime_unless_asked_for() -> None:
    """CTK-12."""
    shared, own = variables({})
    assert "default_runtime" not in shared.keys() | own.keys()


def test_cri_o_needs_nothing_of_containerds() -> None:
    """CTK-14."""
    shared, own = variables(kubernetes("kubeadm", containerRuntime="crio"))
    assert own["runtimes"] == ["crio"]
    assert set(shared) == {"can_drain", "config", "enable_cdi"}


def test_docker_stands_beside_the_clusters_own_runtime() -> None:
    """CTK-15."""
    shared, own = variables(toolkit(furtherRuntimes=["docker"]))
    assert own["runtimes"] == ["containerd", "docker"]
    assert shared["mode"] == "import"


def test_no_container_is_started_unless_an_image_is_named() -> None:
    """CTK-20: the count is there for who asks on the command line."""
    image = "registry.lab.example/cuda:13.0.1"
    _, silent = variables({})
    assert "smoke_test" not in silent
    assert silent["expected_gpus"] == resolved({}).pools[0].gpu_count
    _, asked = variables(toolkit(smokeTestImage=image))
    assert asked["smoke_test"] == image


@pytest.mark.parametrize(
    ("image", "is_taken"),
    [
        ("docker.io/nvidia/cuda:13.0.1-base-ubuntu24.04", True),
        (f"registry.lab.example:5000/cuda@sha256:{'0' * 64}", True),
        (f"registry.lab.example/cuda:13@sha256:{'0' * 64}", True),
        ("localhost/cuda:13", True),
        ("docker.io/nvidia/cuda", False),
        ("docker.io/nvidia/cuda:latest", False),
        ("nvidia/cuda:13.0.1", False),  # containerd's client knows no default registry
        ("registry.lab.example:5000/cuda", False),
        ("docker.io/nvidia/cuda:{{ x }}", False),
    ],
)
def test_an_image_names_its_registry_and_is_pinned(image: str, is_taken: bool) -> None:
    """CTK-20: the schema and the role agree."""
    data = changed(toolkit(smokeTestImage=image))
    assert (not validate(data)) is is_taken
    smoke: Any = load("nvidia_container_toolkit.smoke")
    assert smoke.is_pinned(image) is is_taken or "{{" in image


def test_a_node_at_work_is_known_by_its_kubelet() -> None:
    """CTK-04: packages of former times leave by a drain, or not at all."""
    assert variables(kubernetes("kubeadm"))[0]["can_drain"] is True
    assert "can_drain" not in variables({"/access": {"ssh": {"user": "ops"}}})[0]
    assert variables(kubernetes("k0s"))[0]["kubelet_root"] == "/var/lib/k0s/kubelet"
    assert "kubelet_root" not in variables(kubernetes("k3s"))[0]


def test_the_kubelets_folder_is_the_distributions() -> None:
    """DIST-08, DIST-09."""
    assert CATALOG.distribution("k0s").kubelet_root == "/var/lib/k0s/kubelet"
    assert CATALOG.distribution("k3s").kubelet_root == "/var/lib/kubelet"
    assert not CATALOG.distribution("microk8s").is_supported


def test_kubespray_is_told_its_variables() -> None:
    """CTK-10: it writes containerd's file anew, so a drop-in of ours would be lost."""
    row = CATALOG.distribution("kubespray")
    assert not row.is_supported
    assert "containerd_additional_runtimes" in row.reason


@pytest.mark.parametrize(
    "changes",
    [
        *(kubernetes(name) for name in ("kubeadm", "k3s", "rke2", "k0s")),
        kubernetes("kubeadm", containerRuntime="crio"),
        kubernetes("kubeadm", containerRuntime="docker"),
        toolkit(furtherRuntimes=["docker", "crio"], defaultRuntime=True),
        toolkit(smokeTestImage="registry.lab.example/cuda:13.0.1"),
    ],
)
def test_the_role_takes_every_variable(changes: dict[str, Any]) -> None:
    """GEN-06."""
    text = (ROOT / "roles/nvidia_container_toolkit/meta/argument_specs.yml").read_text()
    options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    shared, own = variables(changes)
    values = {PREFIX + name: value for name, value in {**shared, **own}.items()}
    assert set(values) <= set(options)
    assert ArgumentSpecValidator(options).validate(values).error_messages == []


@pytest.mark.parametrize(
    ("distribution", "minor", "mode", "version"),
    [
        ("kubeadm", "1.36", "import", None),
        ("k3s", "1.36", "detect", None),
        ("rke2", "1.36", "detect", None),
        ("k0s", "1.35", "merge", 2),
        ("k0s", "1.36", "merge", 3),
    ],
)
def test_how_the_runtime_learns_of_the_toolkit(
    distribution: str, minor: str, mode: str, version: int | None
) -> None:
    stated = {"version": minor, "distribution": distribution}
    found = hosts_half.variables({"/kubernetes": stated}, "all")
    assert found["nvidia_container_toolkit_mode"] == mode
    assert found.get("nvidia_container_toolkit_dropin_version") == version
    assert ("nvidia_container_toolkit_dropin" in found) == (mode != "detect")


def test_the_toolkit_honours_the_list_strategy() -> None:
    volumes = hosts_half.variables({"/deviceListStrategy": ["volume-mounts"]}, "all")
    assert volumes["nvidia_container_toolkit_config"] == {
        "accept-nvidia-visible-devices-as-volume-mounts": "true",
        "accept-nvidia-visible-devices-envvar-when-unprivileged": "false",
    }
    cdi = hosts_half.variables({"/deviceListStrategy": ["cdi-cri"]}, "all")
    assert cdi["nvidia_container_toolkit_enable_cdi"] is True

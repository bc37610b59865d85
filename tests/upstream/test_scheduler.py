"""The rendered scheduler configuration, checked by the real kube-scheduler."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from jsonschema import Draft202012Validator

from gpugen import kube
from gpugen.components import options_schema
from gpugen.components.scheduling.scheduler import contribute
from support import ROOT
from support.specs import MIG_POOL, resolved

KUBECONFIG = {  # a server that answers is not needed: the program writes its configuration and ends
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "none", "user": {}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "current-context": "none",
}
ROLE = ROOT / "roles" / "kube_scheduler"
AsRead = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def as_read(upstream: Callable[[str], Path], tmp_path: Path) -> AsRead:
    """Return a function from a configuration to what kube-scheduler makes of it."""
    program = upstream("kube-scheduler")

    def read(configuration: dict[str, Any]) -> dict[str, Any]:
        config, kubeconfig, out = (tmp_path / name for name in ("in", "kubeconfig", "out"))
        kubeconfig.write_text(kube.to_yaml(KUBECONFIG))
        config.write_text(
            kube.to_yaml({**configuration, "clientConnection": {"kubeconfig": str(kubeconfig)}})
        )
        done = subprocess.run(
            [program, f"--config={config}", "--secure-port=0", f"--write-config-to={out}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise ValueError(done.stderr)
        read: dict[str, Any] = yaml.safe_load(out.read_text())
        return read

    return read


def rendered(options: object = True) -> dict[str, Any]:
    spec = resolved({**MIG_POOL, "/components": {"scheduler": options}})
    objects = contribute(spec, spec.options["scheduler"]).objects
    (text,) = (p.object["data"]["config.yaml"] for p in objects if "data" in p.object)
    configuration: dict[str, Any] = yaml.safe_load(text)
    return configuration


def arguments(profile: dict[str, Any], plugin: str) -> dict[str, Any]:
    (found,) = (entry["args"] for entry in profile["pluginConfig"] if entry["name"] == plugin)
    result: dict[str, Any] = found
    return result


def test_packing_is_read_as_it_is_meant(as_read: AsRead) -> None:
    meant = rendered()
    read = as_read(meant)
    (profile,) = read["profiles"]
    assert profile["schedulerName"] == "gpu-binpack"
    fit = [
        p for p in profile["plugins"]["multiPoint"]["enabled"] if p["name"] == "NodeResourcesFit"
    ]
    assert fit == [{"name": "NodeResourcesFit", "weight": 100}]
    wanted = arguments(meant["profiles"][0], "NodeResourcesFit")["scoringStrategy"]
    assert arguments(profile, "NodeResourcesFit")["scoringStrategy"] == wanted
    spread = arguments(profile, "PodTopologySpread")
    assert (spread["defaultingType"], spread.get("defaultConstraints")) == ("List", None)
    assert read["leaderElection"].items() >= meant["leaderElection"].items()


def test_without_packing_the_defaults_stand(as_read: AsRead) -> None:
    (profile,) = as_read(rendered({"binPacking": False}))["profiles"]
    assert arguments(profile, "NodeResourcesFit")["scoringStrategy"]["type"] == "LeastAllocated"


@pytest.mark.parametrize("weight", [1, 100, 101])
def test_schema_allows_the_weights_that_the_program_allows(as_read: AsRead, weight: int) -> None:
    options = {"weights": {"gpu": weight}}
    schema = options_schema("scheduler")
    assert schema is not None
    allowed = Draft202012Validator(schema).is_valid(options)
    assert accepts(as_read, rendered(options)) is allowed


def accepts(as_read: AsRead, configuration: dict[str, Any]) -> bool:
    try:
        as_read(configuration)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------- the main scheduler

CONTROL_PLANE = {"/controlPlane": {"hosts": ["cp-1.lab.example"]}}


def of_main(distribution: str, options: object = True) -> dict[str, Any]:
    changes = {**MIG_POOL, **CONTROL_PLANE, "/components": {"scheduler": options}}
    spec = resolved({**changes, "/kubernetes/distribution": distribution})
    variables = contribute(spec, spec.options["scheduler"]).control_plane_variables
    configuration: dict[str, Any] = variables["kube_scheduler_configuration"]
    return configuration


@pytest.mark.parametrize("distribution", ["kubeadm", "k3s", "rke2", "k0s"])
def test_the_main_scheduler_reads_both_profiles(as_read: AsRead, distribution: str) -> None:
    """DIST-10, DIST-11, DIST-13: the default profile as it was, and one that packs."""
    read = as_read(of_main(distribution))
    default, own = read["profiles"]
    assert default["schedulerName"] == "default-scheduler"
    (plain,) = as_read(rendered({"binPacking": False}))["profiles"]
    assert {**default, "schedulerName": ""} == {**plain, "schedulerName": ""}
    assert arguments(own, "NodeResourcesFit")["scoringStrategy"]["type"] == "MostAllocated"
    assert own["percentageOfNodesToScore"] == 100
    assert read["leaderElection"]["leaderElect"] is True
    assert read["leaderElection"]["resourceName"] == "kube-scheduler"
    assert read["enableProfiling"] is False


def test_what_the_main_scheduler_refuses_is_refused_before_it_is_written(as_read: AsRead) -> None:
    """DIST-13: the role's own order of flags, by which nothing is written on the host."""
    configuration = of_main("kubeadm")
    strategy = arguments(configuration["profiles"][1], "NodeResourcesFit")["scoringStrategy"]
    strategy["resources"][0]["weight"] = 101
    assert not accepts(as_read, configuration)


def test_the_program_reads_from_its_standard_input(
    upstream: Callable[[str], Path], tmp_path: Path
) -> None:
    """DIST-13: so the role needs no file on the host, and no kubeconfig but the host's own."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(kube.to_yaml(KUBECONFIG))
    connection = {"clientConnection": {"kubeconfig": str(kubeconfig)}}
    good = {**of_main("kubeadm"), **connection}
    for configuration, code in ((good, 0), ({**good, "unknown": 1}, 1)):
        flags = ["--config=/dev/stdin", "--secure-port=0", "--write-config-to=/dev/null"]
        done = subprocess.run(
            [upstream("kube-scheduler"), *flags],
            input=kube.to_yaml(configuration),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize("distribution", ["kubeadm", "k3s", "rke2", "k0s"])
def test_the_role_takes_what_is_rendered(distribution: str) -> None:
    changes = {**CONTROL_PLANE, "/components": {"scheduler": True}}
    spec = resolved({**changes, "/kubernetes/distribution": distribution})
    own = contribute(spec, spec.options["scheduler"]).control_plane_variables
    contract = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())
    options = contract["argument_specs"]["main"]["options"]
    assert set(own) <= set(options)
    assert ArgumentSpecValidator(options).validate(dict(own)).error_messages == []

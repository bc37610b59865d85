"""docker, CRI-O, k3s and k0s on booted nodes: they learn of the toolkit, keep theirs, forget.

CTK-12, CTK-14, CTK-15, CTK-19 to CTK-21, DIST-01 to DIST-06. Their clients are stand-ins, so what
CTK-20 shows here is what they are told; a container that really runs is test_smoke.py.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from support.lab.nodes import base, runtimes
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room
from support.required import missing

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

ROLE = "nvidia_container_toolkit"
BINARY = "/usr/bin/nvidia-container-runtime"
DAEMON_JSON = "/etc/docker/daemon.json"
CRIO_DROPIN = "/etc/crio/crio.conf.d/99-nvidia.toml"
K3S_CONFIG = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
K3S_DEFAULT = "/etc/rancher/k3s/config.yaml.d/90-gpugen-runtime.yaml"
K0S_DROPIN = "/etc/k0s/containerd.d/99-nvidia.toml"
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
IMAGE = "registry.lab.example/cuda:13.0.1"


class Host:
    """A node of one kind, its spec, and runs of the role over it."""

    def __init__(self, room: Room, folder: Path, node: Node, **changes: Any) -> None:
        self.node = node
        self.checkout = Checkout(room, folder)
        content = spec(room, [node])
        content["kubernetes"].update(changes.get("kubernetes", {}))
        content["hostDefaults"]["containerToolkit"].update(changes.get("toolkit", {}))
        self.checkout.render(content)

    def play(self, extra: Mapping[str, Any] = ALLOWED, playbook: str = "site.yml") -> Run:
        """Run the role alone."""
        return self.checkout.play("--tags", ROLE, "--diff", playbook=playbook, extra=extra)

    def converge(self, **private: Any) -> Run:
        """Bring the node to the spec. private: the role's own variables, to break it."""
        own = {f"__{ROLE}_{name}": value for name, value in private.items()}
        return self.play({**ALLOWED, **own})

    @cached_property
    def first(self) -> Run:
        """The first run that is allowed."""
        run = self.converge()
        assert run.code == 0, run.output
        return run

    def changed_again(self) -> tuple[str, ...]:
        """Return what a further run changes."""
        assert self.first
        return self.play()[self.node.name].changed

    def verify(self) -> Run:
        """Run the playbook that only verifies."""
        assert self.first
        return self.play(playbook="verify.yml")

    def smoke(self) -> Run:
        """Verify with a container."""
        assert self.first
        return self.play({**ALLOWED, f"{ROLE}_smoke_test": IMAGE}, "verify.yml")

    def remove(self) -> Run:
        """Run the playbook that removes."""
        assert self.first
        return self.play({**ALLOWED, "gpugen_remove": True}, "remove.yml")

    def show(self, path: str) -> str:
        """Return a file of the node, those below /run too; empty if there is none."""
        return self.node.run("cat", path, status=None)

    def since(self, unit: str) -> str:
        """Return when a unit started."""
        return self.node.run("systemctl", "show", "--property=ActiveEnterTimestampMonotonic", unit)


@pytest.fixture(scope="module")
def hosts(
    room: Room, upstream: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Host]]:
    folder = tmp_path_factory.mktemp("runtimes")
    try:
        dockerd = base.docker()
    except base.UnavailableError as problem:
        missing(str(problem))
    nodes = room.boot(
        {
            "docker": runtimes.docker(dockerd),
            "crio": runtimes.crio(upstream("crio"), upstream("nvidia-ctk"), folder / "layer"),
            "k3s": runtimes.k3s(),
            "k0s": runtimes.k0s(),
        }
    )
    changes: dict[str, dict[str, Any]] = {
        "docker": {"toolkit": {"furtherRuntimes": ["docker"]}},
        "crio": {"kubernetes": {"containerRuntime": "crio"}},
        "k3s": {"kubernetes": {"distribution": "k3s"}, "toolkit": {"defaultRuntime": True}},
        "k0s": {"kubernetes": {"distribution": "k0s"}},
    }
    yield {n: Host(room, folder / n, nodes[n], **own) for n, own in changes.items()}
    room.stop(nodes.values())


# ---------------------------------------------------------------- docker


@pytest.fixture(scope="module")
def docker(hosts: dict[str, Host]) -> Host:
    return hosts["docker"]


def test_docker_is_not_restarted_without_a_word(docker: Host) -> None:
    """CTK-19: its containers would end."""
    before = docker.node.changes()
    run = docker.play(ALL_AT_ONCE)
    (message,) = run["docker"].messages
    assert "docker is restarted, which ends its containers (CTK-19)" in message
    assert "gpugen_allow_disruption" in message
    after = docker.node.changes()
    assert {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)} <= {"etc"}


def test_what_docker_refuses_is_not_written(docker: Host) -> None:
    """CTK-15, GEN-11: the real dockerd checks the file first."""
    run = docker.converge(docker_new='{"runtimes": ["nvidia"]}\n')
    assert run["docker"].is_failed
    assert "docker runs as before" in run["docker"].messages[-1]
    assert docker.show(DAEMON_JSON) == runtimes.DAEMON_JSON


def test_a_docker_that_does_not_start_is_put_back(docker: Host) -> None:
    """CTK-15, GEN-11."""
    broken = {**runtimes.DOCKER, "runtimes": {"nvidia": {"path": "/nowhere", "args": []}}}
    run = docker.converge(docker_new=json.dumps(broken))
    assert run["docker"].is_failed
    assert "docker runs as before" in run["docker"].messages[-1]
    assert docker.show(DAEMON_JSON) == runtimes.DAEMON_JSON
    assert set(json.loads(docker.show("/run/docker-runtimes.json"))) == {"runc", "kata"}
    assert docker.node.run("systemctl", "is-active", "docker").strip() == "active"


def test_docker_keeps_what_its_administrator_wrote(docker: Host) -> None:
    """CTK-15."""
    assert docker.first
    found = json.loads(docker.show(DAEMON_JSON))
    assert found.pop("runtimes") == {
        "kata": {"path": "kata-runtime"},
        "nvidia": {"args": [], "path": BINARY},
    }
    kept = {name: value for name, value in runtimes.DOCKER.items() if name != "runtimes"}
    assert found == kept
    assert set(json.loads(docker.show("/run/docker-runtimes.json"))) == {"runc", "kata", "nvidia"}


def test_docker_and_containerd_are_left_alone_then(docker: Host) -> None:
    """CTK-19, GEN-04: and no word is needed when there is nothing to do."""
    assert docker.first
    before = docker.since("docker"), docker.since("containerd")
    run = docker.play(ALL_AT_ONCE)
    assert run.code == 0, run.output
    assert run["docker"].changed == ()
    assert (docker.since("docker"), docker.since("containerd")) == before
    assert docker.verify().code == 0


def test_docker_is_told_to_start_a_container_and_to_forget_it(docker: Host) -> None:
    """CTK-20: by docker alone."""
    run = docker.play(
        {**ALLOWED, f"{ROLE}_smoke_test": IMAGE, f"{ROLE}_runtimes": ["docker"]}, "verify.yml"
    )
    assert run.code == 0, run.output
    asked = docker.show("/run/docker-asked").splitlines()
    assert [line.split()[0] for line in asked] == ["image", "pull", "run", "image"]
    assert "--runtime nvidia --env NVIDIA_VISIBLE_DEVICES=all" in asked[2]
    assert asked[2].endswith(f" {IMAGE} nvidia-smi -L")
    assert asked[3] == f"image rm {IMAGE}"


def test_docker_forgets_and_its_file_is_as_it_was(docker: Host) -> None:
    """CTK-21."""
    run = docker.remove()
    assert run.code == 0, run.output
    assert docker.show(DAEMON_JSON) == runtimes.DAEMON_JSON
    assert set(json.loads(docker.show("/run/docker-runtimes.json"))) == {"runc", "kata"}
    assert "nvidia-container-toolkit" not in docker.node.versions()


# ---------------------------------------------------------------- CRI-O


@pytest.fixture(scope="module")
def crio(hosts: dict[str, Host]) -> Host:
    return hosts["crio"]


def test_a_drop_in_that_cri_o_refuses_is_taken_back(crio: Host) -> None:
    """CTK-14, GEN-11: before CRI-O is restarted."""
    before = crio.since("crio")
    run = crio.converge(crio_table="[crio.runtime.runtimes]\nnvidia = 1\n[crio.runtime.other]")
    assert run["crio"].is_failed
    assert "CRI-O runs as before" in run["crio"].messages[-1]
    assert crio.show(CRIO_DROPIN) == ""
    assert crio.since("crio") == before


def test_cri_o_knows_our_runtime_with_monitor_and_annotations(crio: Host) -> None:
    """CTK-14: read by CRI-O itself when it started."""
    assert crio.first
    merged = tomllib.loads(crio.show("/run/crio.toml"))["crio"]["runtime"]["runtimes"]
    assert merged["nvidia"]["runtime_path"] == BINARY
    assert merged["nvidia"]["runtime_type"] == "oci"
    for name in ("monitor_path", "allowed_annotations"):
        assert merged["nvidia"][name] == merged["crun"][name]
    assert tomllib.loads(crio.show(CRIO_DROPIN)).keys() == {"crio"}  # not the default runtime


def test_our_runtime_finds_the_one_of_cri_o(crio: Host) -> None:
    """CTK-16: it is not on the path."""
    assert crio.first
    own = tomllib.loads(crio.show("/etc/nvidia-container-runtime/config.toml"))
    assert own["nvidia-container-runtime"]["runtimes"][0] == "/usr/libexec/crio/crun"
    assert own["nvidia-container-runtime"]["mode"] == "auto"


def test_a_mode_that_the_unit_cannot_use_is_put_right(crio: Host) -> None:
    """CTK-16."""
    assert crio.changed_again() == ()
    crio.node.sh(
        'sed -i \'s/mode = "auto"/mode = "cdi"/\' /etc/nvidia-container-runtime/config.toml'
    )
    failed = crio.verify()
    assert "CTK-16" in failed["crio"].messages[0]
    assert len(crio.changed_again()) == 1
    assert crio.verify().code == 0


def test_cri_o_is_not_asked_to_start_a_container(crio: Host) -> None:
    """CTK-20: what crictl starts, the kubelet deletes."""
    (message,) = crio.smoke()["crio"].messages
    assert "CTK-20: CRI-O starts containers for the kubelet alone" in message
    assert "runtimeClassName: nvidia" in message


def test_cri_o_forgets(crio: Host) -> None:
    """CTK-21."""
    run = crio.remove()
    assert run.code == 0, run.output
    assert "nvidia" not in crio.show("/run/crio.toml").replace("nvidia.com", "")
    assert crio.show("/etc/crio/crio.conf.d/10-crun.conf") == runtimes.CRIO
    assert crio.node.run("ls", "/etc/crio/crio.conf.d").split() == ["10-crun.conf"]


# ---------------------------------------------------------------- distributions


@pytest.fixture(scope="module")
def k3s(hosts: dict[str, Host]) -> Host:
    return hosts["k3s"]


@pytest.fixture(scope="module")
def k0s(hosts: dict[str, Host]) -> Host:
    return hosts["k0s"]


def test_leftovers_of_an_operator_are_refused(k3s: Host) -> None:
    """DIST-03, DIST-04: both told at once, before the first write."""
    k3s.node.sh("mkdir -p /usr/local/nvidia/toolkit")
    template = f"{K3S_CONFIG}.tmpl"
    k3s.node.sh(f"echo '[plugins.cri.containerd.runtimes.\"nvidia\"]' >{template}")
    run = k3s.play()
    k3s.node.sh(f"rm -r /usr/local/nvidia {template}")
    (message,) = run["k3s"].messages
    assert "DIST-04: /usr/local/nvidia/toolkit is left from a removed GPU Operator" in message
    assert f"DIST-03: {template} holds a table of runtime nvidia" in message


def test_an_agent_that_detects_is_restarted_and_given_no_drop_in(k3s: Host) -> None:
    """CTK-12, DIST-01, DIST-03, DIST-04, DIST-05: the default runtime after the binary."""
    assert k3s.first
    config = tomllib.loads(k3s.show(K3S_CONFIG))
    section = config["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]
    assert set(section["runtimes"]) == {"runc", "nvidia"}
    assert section["default_runtime_name"] == "nvidia"
    assert "default-runtime: nvidia\n" in k3s.show(K3S_DEFAULT)
    assert "etc/containerd/conf.d/99-nvidia.toml" not in k3s.node.changes()
    assert k3s.node.run("systemctl", "is-active", "k3s-agent").strip() == "active"
    assert k3s.changed_again() == ()
    assert k3s.verify().code == 0


def test_a_container_is_started_by_the_distributions_own_client(k3s: Host) -> None:
    """CTK-20, DIST-01: with the image of pods, so nothing is pulled."""
    run = k3s.smoke()
    assert run.code == 0, run.output
    asked = k3s.show("/run/ctr-asked").splitlines()
    assert [line.split()[2] for line in asked] == ["images", "run", "containers"]
    assert f"--runc-binary {BINARY} --env NVIDIA_VISIBLE_DEVICES=all" in asked[1]


def test_an_agent_that_detects_forgets(k3s: Host) -> None:
    """CTK-21: the setting goes before the binary, or the agent would not start."""
    run = k3s.remove()
    assert run.code == 0, run.output
    config = tomllib.loads(k3s.show(K3S_CONFIG))
    section = config["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]
    assert set(section["runtimes"]) == {"runc"}
    assert k3s.show(K3S_DEFAULT) == ""
    assert k3s.node.run("systemctl", "is-active", "k3s-agent").strip() == "active"


def test_a_worker_that_merges_takes_our_drop_in(k0s: Host) -> None:
    """DIST-02, DIST-06: of its own version, without imports; cgroups as its runc has them."""
    assert k0s.first
    dropin = tomllib.loads(k0s.show(K0S_DROPIN))
    assert dropin["version"] == 3
    assert "imports" not in dropin
    merged = tomllib.loads(k0s.show("/run/k0s/containerd-cri.toml"))
    own = merged["plugins"]["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]["nvidia"]
    assert own["options"] == {"BinaryName": BINARY, "SystemdCgroup": True}
    assert k0s.changed_again() == ()
    assert k0s.verify().code == 0
    assert k0s.node.run("systemctl", "is-active", "k0sworker").strip() == "active"


def test_a_worker_that_merges_forgets(k0s: Host) -> None:
    """CTK-21."""
    run = k0s.remove()
    assert run.code == 0, run.output
    assert k0s.show(K0S_DROPIN) == ""
    k0s.node.sh("sleep 1; ! grep -q nvidia /run/k0s/containerd-cri.toml")

"""The MIG boot service on a booted host: mig-parted itself on GPUs that a mock of NVML plays.

Each step is run once and keeps what it saw; a test asks for its step, which asks for those before.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from support import ansible_yaml
from support.lab.nodes import loaded, mig_machine
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, REBOOT, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

MODEL, GPUS = "a100-sxm4-40gb", 4
NAME = "mig"
ALLOWED = {**ALL_AT_ONCE, **REBOOT}
SMALL = [{"gpus": "all", "profiles": {"1g.5gb": 7}}]
BROAD = [{"gpus": [0, 1, 2], "profiles": {"3g.20gb": 2}}, {"gpus": [3], "profiles": {"7g.40gb": 1}}]
HALF = [{"gpus": [0, 1], "profiles": {"2g.10gb": 3}}, {"gpus": [2, 3], "profiles": {}}]
FILE = "/etc/nvidia-mig-manager/gpugen-layouts.yaml"
SETTINGS = "/etc/systemd/system/nvidia-mig-manager.service.d"
OVERRIDE = f"{SETTINGS}/override.conf"
HOOKS = "/etc/nvidia-mig-manager/hooks-default.yaml"
AGENT = """\
[Unit]
Description=stand-in of a k3s agent
[Service]
ExecStart=/usr/local/bin/k3s
"""


class Host:
    """One node with a loaded driver, and the plays over it."""

    def __init__(self, room: Room, checkout: Checkout, layer: Path) -> None:
        self.room, self.checkout = room, checkout
        machine = Machine(gpus=GPUS, files=loaded.files(), layer=layer)
        self.node: Node = room.boot({NAME: machine})[NAME]

    def render(self, layout: Any, **mig: Any) -> str:
        """Render a spec with a layout; return the layout's name."""
        own = {"mig": {"strategy": "mixed", "manager": "host", "layout": layout, **mig}}
        self.checkout.render(spec(self.room, [self.node], pool=own))
        return str(self.variables()["nvidia_mig_config"]) if mig == {} else ""

    def variables(self) -> Mapping[str, Any]:
        """Return the rendered variables of the pool."""
        file = self.checkout.plays / "inventory" / "group_vars" / "pool_train.yml"
        content: Mapping[str, Any] = ansible_yaml.read(file.read_text(encoding="utf-8"))
        return content

    def play(self, *arguments: str, tags: str = "nvidia_mig", **extra: Any) -> Run:
        """Run the role, or a playbook's part of it."""
        playbook = str(extra.pop("playbook", "site.yml"))
        variables = extra.pop("variables", {})
        return self.checkout.play(
            *(f"--tags={tags}", *arguments),
            playbook=playbook,
            extra={**ALLOWED, **extra},
            host_variables={NAME: variables},
        )

    def instances(self) -> list[dict[str, int]]:
        """Return what each GPU carries: profile -> instances."""
        found: list[Counter[str]] = [Counter() for _ in range(GPUS)]
        for line in self.node.sh(f"cat {mig_machine.STATE}").splitlines():
            word, gpu, *rest = line.split()
            if word == "instance":
                found[int(gpu)][rest[1]] += 1
        return [dict(each) for each in found]

    def unit(self, name: str, prop: str) -> str:
        """Return a property of a unit."""
        return self.node.sh(f"systemctl show --value --property={prop} {name}").strip()

    def refused(self, run: Run, *, changed: bool = False) -> str:
        """Return the last message of a play that failed, and may have changed nothing."""
        assert run.code == 2, run.output
        assert changed or run[NAME].changed == (), run.output
        return run[NAME].messages[-1]


class Story:
    """The steps in their order, each a property that is computed once."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @cached_property
    def shown(self) -> Run:
        """Check mode on a host that has nothing yet."""
        self.host.render(SMALL)
        prepared = self.host.play(tags="gpu_prerequisites")
        assert prepared.code == 0, prepared.output
        return self.host.play("--check")

    @cached_property
    def first(self) -> tuple[Run, str]:
        """Installed and partitioned; the name of the layout."""
        assert self.shown.code == 0, self.shown.output
        run = self.host.play()
        assert run.code == 0, run.output
        return run, str(self.host.variables()["nvidia_mig_config"])

    @cached_property
    def again(self) -> Run:
        """The same once more."""
        assert self.first
        return self.host.play()

    @cached_property
    def rebooted(self) -> list[dict[str, int]]:
        """What the GPUs carry after a reboot, which clears them."""
        assert self.again.code == 0
        before = self.host.node.sh("cat /proc/sys/kernel/random/boot_id")
        self.host.node.sh("systemctl reboot")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(1)
            try:
                if self.host.node.sh("cat /proc/sys/kernel/random/boot_id") != before:
                    break
            except AssertionError:
                continue
        self.host.node.wait()
        return self.host.instances()

    @cached_property
    def second(self) -> tuple[Run, str]:
        """Another layout, after a refusal because the GPUs were busy."""
        assert self.rebooted
        name = self.host.render(BROAD)
        self.host.node.sh("mkdir -p /run/fake-nvidia; echo 4711 >/run/fake-nvidia/apps")
        message = self.host.refused(self.host.play())
        assert "MIG-06: processes 4711 compute on the GPUs" in message
        assert self.host.instances() == [{"1g.5gb": 7}] * GPUS
        self.host.node.sh("rm /run/fake-nvidia/apps")
        run = self.host.play()
        assert run.code == 0, run.output
        return run, name


@pytest.fixture(scope="module")
def host(
    room: Room,
    checkout: Checkout,
    upstream: Callable[[str], Path],
    mock_of_nvml: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("mig-layer")
    layer = mig_machine.layer(folder, upstream("mig-parted"), mock_of_nvml, MODEL, GPUS)
    own = Host(room, checkout, layer)
    yield own
    room.stop([own.node])


@pytest.fixture(scope="module")
def story(host: Host) -> Story:
    return Story(host)


def test_check_mode_on_a_fresh_host_shows_the_layout_and_makes_none(story: Story) -> None:
    """GEN-05."""
    run = story.shown
    assert run.code == 0, run.output
    assert "would install nvidia-mig-manager 0.14.5" in run.output
    assert f"would apply layout {story.host.variables()['nvidia_mig_config']}" in run.output
    assert "nvidia-mig-manager" not in story.host.node.versions()


def test_the_layout_is_applied_and_kept_for_the_next_boot(story: Story, host: Host) -> None:
    """MIG-02, MIG-03, MIG-04: a file of our own, selected in the form that the hook writes."""
    _, name = story.first
    assert host.instances() == [{"1g.5gb": 7}] * GPUS
    assert host.node.read(FILE) == host.variables()["nvidia_mig_layouts"]
    assert host.node.read(OVERRIDE) == (
        f'[Service]\nEnvironment="MIG_PARTED_CONFIG_FILE={FILE}"\n'
        f'Environment="MIG_PARTED_HOOKS_FILE={HOOKS}"\n'
        f'Environment="MIG_PARTED_SELECTED_CONFIG={name}"\n'
    )
    calls = host.node.sh("cat /run/lab-mig/calls").splitlines()
    assert f"apply --config-file {FILE} --hooks-file {HOOKS} --selected-config {name}" in calls
    assert host.unit("nvidia-mig-manager.service", "UnitFileState") == "enabled"


def test_containers_are_told_of_the_instances(story: Story, host: Host) -> None:
    """MIG-07: CDI is described anew after the layout, and no mark of unfinished work stays."""
    assert story.first
    ages = "stat --format=%.Y /var/run/cdi/nvidia.yaml /run/lab-mig/gpus"
    cdi, gpus = map(float, host.node.sh(ages).split())
    assert cdi >= gpus
    assert "gpugen-mig-cut" not in host.node.sh("ls /run")


def test_a_second_run_asserts_and_does_nothing(story: Story) -> None:
    """MIG-05, GEN-04: asked once before and once in its turn."""
    run = story.again
    assert run.code == 0, run.output
    assert run[NAME].changed == ()
    runs = sum(count for task, count in run[NAME].modules.items() if "Gathering" not in task)
    assert runs <= 4, run[NAME].modules


def test_the_boot_service_applies_it_again_before_any_kubelet(story: Story, host: Host) -> None:
    """MIG-03, MIG-10: instances do not survive a reboot, the choice does."""
    assert story.rebooted == [{"1g.5gb": 7}] * GPUS
    before = host.unit("nvidia-mig-manager.service", "Before").split()
    assert {"kubelet.service", "k3s-agent.service", "rke2-agent.service"} <= set(before)
    run = host.play(playbook="verify.yml")
    assert run.code == 0, run.output
    assert run[NAME].changed == ()


def test_busy_gpus_keep_their_layout_and_idle_ones_get_it_again(story: Story, host: Host) -> None:
    """MIG-06."""
    _, name = story.second
    assert host.instances() == [*[{"3g.20gb": 2}] * 3, {"7g.40gb": 1}]
    assert f"MIG_PARTED_SELECTED_CONFIG={name}" in host.node.read(OVERRIDE)


def test_verification_asks_the_gpus_and_not_the_unit(story: Story, host: Host) -> None:
    """MIG-09: below 0.15 the unit is green whatever happened."""
    assert story.second
    state = host.node.sh(f"cat {mig_machine.STATE}")
    host.node.sh(f"sed -i '/^instance 3/d; /^part 3/d' {mig_machine.STATE}")
    assert host.unit("nvidia-mig-manager.service", "Result") == "success"
    message = host.refused(host.play(playbook="verify.yml"))
    host.node.sh(f"cat >{mig_machine.STATE}", state)
    assert "MIG-05: the GPUs do not carry layout" in message


def test_a_layout_that_cannot_be_applied_is_taken_back(story: Story, host: Host) -> None:
    """GEN-11: files and GPUs are as they were, and the play says what mig-parted said."""
    _, name = story.second
    host.render(SMALL)
    host.node.sh("echo 'In use by another client' >/run/lab-mig/broken")
    message = host.refused(host.play(), changed=True)
    host.node.sh("rm /run/lab-mig/broken")
    assert "In use by another client" in message
    assert f"MIG_PARTED_SELECTED_CONFIG={name}" in host.node.read(OVERRIDE)
    assert name in host.node.read(FILE)
    assert host.instances() == [*[{"3g.20gb": 2}] * 3, {"7g.40gb": 1}]


def test_a_mode_that_only_a_reboot_can_change_is_refused(story: Story, host: Host) -> None:
    """MIG-06: a GPU passed through to a virtual machine cannot be reset."""
    assert story.second
    host.render(HALF)
    host.node.sh(f"mkdir -p {loaded.PROC}/gpus/0000:01:00.0")
    message = host.refused(host.play(), changed=True)
    host.node.sh(f"rm -r {loaded.PROC}/gpus")
    assert "MIG-06: MIG mode changes, and GPUs 0000:01:00.0 cannot be reset here" in message
    assert host.instances() == [*[{"3g.20gb": 2}] * 3, {"7g.40gb": 1}]


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ({"nvidia_mig_config": "nobody"}, "MIG-08: the layouts do not contain nobody"),
        ({"nvidia_mig_version": "0.14.4"}, "MIG-03: nvidia-mig-manager 0.14.4 may forget"),
    ],
)
def test_a_wrong_variable_is_refused_before_anything_changes(
    story: Story, host: Host, extra: dict[str, str], told: str
) -> None:
    assert story.second
    host.render(BROAD)
    assert told in host.refused(host.play(**extra))


def test_a_version_that_nobody_offers_is_refused_with_the_way_to_it(
    story: Story, host: Host
) -> None:
    """MIG-03: the package is in no vendor's repository."""
    assert story.second
    host.render(BROAD)
    message = host.refused(host.play(nvidia_mig_version="0.99.0"), changed=True)
    assert (
        "MIG-03: the configured repositories do not offer 0.99.0 of nvidia-mig-manager" in message
    )
    assert "they offer 0.15.0-1, 0.14.5-1" in message
    assert "releases of NVIDIA/mig-parted" in message


def test_kubelets_that_the_hooks_do_not_know_are_stopped_with_the_agents(
    story: Story, host: Host
) -> None:
    """MIG-06, DIST-19: on k3s the kubelet is part of another unit, and its containers live on."""
    assert story.second
    host.render(SMALL)
    host.node.sh(
        "cp /bin/sleep /usr/local/bin/dcgm-exporter; printf '#!/bin/sh\nexec sleep 9999\n' "
        ">/usr/local/bin/k3s; chmod +x /usr/local/bin/k3s; "
        "cat >/etc/systemd/system/k3s-agent.service",
        AGENT,
    )
    host.node.sh("systemctl daemon-reload; systemctl start k3s-agent.service")
    host.node.sh("systemd-run --quiet --unit=agent /usr/local/bin/dcgm-exporter 9999")
    main = host.unit("k3s-agent.service", "MainPID")
    run = host.play()
    assert run.code == 0, run.output
    assert host.instances() == [{"1g.5gb": 7}] * GPUS
    assert host.unit("agent.service", "ActiveState") != "active"
    assert host.unit("k3s-agent.service", "ActiveState") == "active"
    assert host.unit("k3s-agent.service", "MainPID") != main
    host.node.sh("systemctl stop k3s-agent.service")  # as a run that was killed right then
    host.node.sh("cat >/run/gpugen-mig-cut", '["k3s-agent.service"]')
    run = host.play()
    assert run.code == 0, run.output
    assert host.unit("k3s-agent.service", "ActiveState") == "active"
    host.node.sh("systemctl stop k3s-agent.service; rm /etc/systemd/system/k3s-agent.service")


def test_a_host_that_is_still_being_set_up_keeps_its_kubelet(story: Story, host: Host) -> None:
    """MIG-10: on cgroup v2 the kubelet is not restarted while cloud-init is at work."""
    assert story.second
    name = host.render(BROAD)
    host.node.sh("mkdir /run/cloud-init; rm -f /run/lab-mig/hooks")
    run = host.play(variables={"__nvidia_mig_cgroup2": "/etc/passwd"})
    assert run.code == 0, run.output
    assert host.node.sh("cat /run/lab-mig/hooks || true") == ""
    assert "hooks-minimal.yaml" in host.node.read(OVERRIDE)
    host.node.sh("echo '{}' >/run/cloud-init/result.json")
    run = host.play(variables={"__nvidia_mig_cgroup2": "/etc/passwd"})
    assert run.code == 0, run.output
    assert HOOKS in host.node.read(OVERRIDE)
    assert name in host.node.read(OVERRIDE)


def test_newer_boards_have_the_minimal_hooks(story: Story, host: Host) -> None:
    """MIG-04: from compute capability 9.0 a change of mode resets nothing."""
    assert story.second
    host.render(BROAD)
    run = host.play("--check", "--diff", nvidia_mig_compute_capability="9.0")
    assert run.code == 0, run.output
    assert "hooks-minimal.yaml" in run.output


def test_a_killed_run_is_finished_by_the_next(story: Story, host: Host) -> None:
    """MIG-07, GEN-10: the mark of a layout that nobody was told of."""
    assert story.second
    host.render(BROAD)
    assert host.play().code == 0
    host.node.sh("rm /var/run/cdi/nvidia.yaml; touch /run/gpugen-mig-cut")
    run = host.play()
    assert run.code == 0, run.output
    assert "kind: nvidia.com/gpu" in host.node.sh("cat /var/run/cdi/nvidia.yaml")
    assert host.play()[NAME].changed == ()


def test_two_owners_are_refused(story: Story, host: Host) -> None:
    """MIG-01: somebody else's selection, or our service beside the cluster's manager."""
    assert story.second
    host.render(BROAD)
    record = "/var/lib/misc/gpugen-nvidia-mig.json"
    host.node.sh(f"mv {record} /root/record")
    assert "MIG-01: nvidia-mig-manager.service is enabled, and the cluster's" in host.refused(
        host.play(nvidia_mig_manager="cluster")
    )
    fault = "which gpugen did not write; somebody else partitions these GPUs"
    assert fault in host.refused(host.play())
    host.node.sh(f"mv /root/record {record}")


def test_the_service_goes_where_the_cluster_takes_over_and_where_all_is_removed(
    story: Story, host: Host
) -> None:
    """MIG-01: one owner; removal switches MIG off."""
    assert story.second
    host.render(BROAD)
    run = host.play(nvidia_mig_manager="cluster")
    assert run.code == 0, run.output
    assert host.instances() == [*[{"3g.20gb": 2}] * 3, {"7g.40gb": 1}]
    assert host.node.sh("ls -d /etc/nvidia-mig-manager || true") == ""
    assert host.play().code == 0
    run = host.play(playbook="remove.yml", gpugen_remove=True)
    assert run.code == 0, run.output
    assert host.instances() == [{}] * GPUS
    left = [path for path in host.node.changes() if "mig-manager" in path or "nvidia-mig" in path]
    assert left == []

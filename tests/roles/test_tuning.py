"""What is decided about the settings of hosts in many states (TUN-01 to TUN-10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.wanted import wanted

tuning: Any = load("gpu_tuning")
host: Any = load("gpu_tuning.host")
kernel: Any = load("gpu_tuning.kernel")
limits: Any = load("gpu_tuning.limits")
places: Any = load("gpu_tuning.places")

RUNTIME, DOCKER, KUBELET = "containerd.service", "docker.service", "kubelet.service"
POWER, CLOCKS, MODE, ACS = (
    *("gpugen-gpu-power-limit", "gpugen-gpu-locked-clocks", "gpugen-gpu-compute-mode"),
    "gpugen-pci-acs",
)
STAMP = "Sun 2026-11-22 10:00:00 UTC"
STARTED = 1795341600.0
ABSENT, CHECK = {"state": "absent"}, {"check_mode": True}


def stated(**own: Any) -> dict[str, Any]:
    """Return variables of a host whose services are known."""
    services = {"runtime_services": [RUNTIME], "kubelet_services": [KUBELET]}
    every = {f"gpu_tuning_{name}": value for name, value in {**services, **own}.items()}
    return wanted(**every)


ALL = stated(
    power_limit_watts=300,
    locked_clocks_mhz=[210, 1200],
    ecc="disabled",
    compute_mode="exclusive-process",
    iommu="pt",
    acs="disabled",
    hugepages_2mi=8,
    hugepages_1gi=2,
    numa_balancing="disabled",
    memlock="infinity",
    nofile=524288,
    gpu_direct_rdma="peermem",
)
NONE = stated()
TREE = places.trees(ALL)
WORDS = "intel_iommu=on iommu=pt hugepagesz=1G hugepages=2"
GPU = ["0", "300.00", "100.00", "400.00", "400.00", "Disabled", "Disabled"]
GPU += ["Exclusive_Process", "1200", "1410"]


def seen(own: Mapping[str, Any] = ALL, **parts: Any) -> dict[str, Any]:
    """Return the answers of a host that is as expected, with parts exchanged."""
    found = dict(tuning.described(own))
    for kind, answers in parts.items():
        found[kind] = {**found.get(kind, {}), **answers}
    return found


def texts(mtime: float = 0.0, **own: str | None) -> dict[str, Any]:
    """Return files by names of the tree, or of this module's places."""
    paths = {**TREE._asdict(), **vars(places)}
    return {
        paths[name]: None if text is None else {"text": text, "mtime": mtime}
        for name, text in own.items()
    }


def said(rc: int = 0, err: str = "", **own: str) -> dict[str, Any]:
    return {name: {"rc": rc, "out": out, "err": err} for name, out in own.items()}


def gpus(*columns: tuple[int, str], rows: int = 2) -> dict[str, Any]:
    """Return nvidia-smi's answer with other columns."""
    row = list(GPU)
    for place, word in columns:
        row[place] = word
    return said(smi="".join(f"{', '.join([str(n), *row[1:]])}\n" for n in range(rows)))


def unit(name: str, **own: str) -> dict[str, Any]:
    base = {"LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled"}
    return {name: {**base, "ActiveEnterTimestamp": STAMP, **own}}


def entries(*lines: str) -> dict[str, Any]:
    return said(grubby="".join(f'kernel="/k"\nargs="{line}"\nroot="UUID=1"\n' for line in lines))


DNF = {"pkg_mgr": "dnf"}
ARM = {"architecture": "aarch64"}
NO_UNIT = {"LoadState": "not-found", "ActiveState": "inactive", "UnitFileState": ""}
DMA_BUF = stated(gpu_direct_rdma="dma-buf")

# what is seen, variables, beginnings of the faults
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "good": (seen(), ALL, []),
    "nothing-stated": (seen(NONE), NONE, []),
    "not-read": ({}, ALL, []),
    "removed": ({"host": {}}, {**ALL, **ABSENT}, []),
    "power": (
        seen(commands=gpus((2, "350.00"))),
        ALL,
        ["TUN-01: GPUs 0, 1 take a power limit from 350.00 to 400.00 W, expected 300"],
    ),
    "power-unknown": (
        seen(commands=gpus((2, "[N/A]"), (3, "[N/A]"), rows=1)),
        ALL,
        ["TUN-01: GPUs 0 take a power limit from [N/A] to [N/A] W, expected 300"],
    ),
    "no-driver": (seen(commands=said(rc=9, smi="failed")), ALL, []),
    "upside-down": (
        seen(),
        {**ALL, "gpu_tuning_locked_clocks_mhz": [1200, 210]},
        ["TUN-02: a range of clocks is its lowest and its highest, in MHz"],
    ),
    "one-clock": (
        seen(),
        {**ALL, "gpu_tuning_locked_clocks_mhz": [1200]},
        ["TUN-02: a range of clocks is its lowest and its highest, in MHz"],
    ),
    "slow": (
        seen(commands=gpus((9, "1110"))),
        ALL,
        ["TUN-02: GPUs 0, 1 reach 1110 MHz, expected up to 1200 (gpu_tuning_locked_clocks_mhz)"],
    ),
    "no-ecc": (
        seen(commands=gpus((6, "[N/A]"))),
        ALL,
        ["TUN-03: the GPUs have no ECC to switch: nvidia-smi says [N/A] (gpu_tuning_ecc)"],
    ),
    "no-loader": (
        seen(globs={places.UPDATE_GRUB: []}),
        ALL,
        ["TUN-04: the host has no /usr/sbin/update-grub, by which the role sets"],
    ),
    "no-grubby": (seen(host=DNF), ALL, ["TUN-04: the host has no /usr/sbin/grubby"]),
    "vendor": (
        seen(commands=said(vendor="vendor_id : Zhaoxin\n")),
        ALL,
        ["TUN-04: the processor's vendor is Zhaoxin, whose IOMMU parameters"],
    ),
    "no-vendor": (
        seen(commands=said(rc=1, vendor="")),
        ALL,
        ["TUN-04: the processor's vendor is unknown, whose IOMMU parameters"],
    ),
    "arm": (seen(host=ARM, commands=said(rc=1, vendor="")), ALL, []),
    "arm-disabled": (
        seen(host=ARM),
        {**ALL, "gpu_tuning_iommu": "disabled"},
        ["TUN-04: processors of this architecture have no parameter that switches the IOMMU off"],
    ),
    "vm": (seen(commands=said(machine="kvm")), ALL, ["TUN-05: the host is a virtual machine"]),
    "no-pages": (
        seen(globs={TREE.pages: []}),
        ALL,
        [
            "TUN-06: the kernel has no huge pages of 2 MiB, but none (gpu_tuning_hugepages_2mi)",
            "TUN-06: the processor has no huge pages of 1 GiB, but none",
        ],
    ),
    "small-pages": (
        seen(globs={TREE.pages: ["/sys/kernel/mm/hugepages/hugepages-2048kB"]}),
        ALL,
        ["TUN-06: the processor has no huge pages of 1 GiB, but hugepages-2048kB"],
    ),
    "no-numa": (
        seen(files=texts(balancing=None)),
        ALL,
        ["TUN-07: the kernel does not balance memory between NUMA nodes"],
    ),
    "no-runtime": (
        seen(units=unit(RUNTIME, **NO_UNIT)),
        ALL,
        ["TUN-08: none of containerd.service is on the host, so nothing could take the limits"],
    ),
    "no-unit": (
        seen(),
        {**ALL, "gpu_tuning_runtime_services": []},
        ["TUN-08: none of no unit is on the host"],
    ),
    "no-card": (
        seen(globs={TREE.cards: []}),
        ALL,
        ["TUN-09: no RDMA network card below /sys/class/infiniband, expected peermem"],
    ),
    "no-peers": (
        seen(commands=said(rc=1, peers="")),
        ALL,
        ["TUN-09: the kernel's RDMA core knows no peer memory"],
    ),
    "dma-buf": (seen(DMA_BUF), DMA_BUF, []),
    "dma-buf-no-driver": (seen(DMA_BUF, files=texts(driver=None)), DMA_BUF, []),
    "old-kernel": (
        seen(DMA_BUF, host={"kernel": "5.4.0-190-generic"}),
        DMA_BUF,
        ["TUN-09: kernel 5.4.0-190-generic is older than 5.12, with which DMA-BUF"],
    ),
    "closed": (
        seen(DMA_BUF, files=texts(driver="NVRM version: NVIDIA UNIX x86_64 Kernel Module")),
        DMA_BUF,
        ["TUN-09: the loaded driver's modules are proprietary"],
    ),
}
LIMITED = places.limits_file(RUNTIME)
SHORTFALLS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "good": (seen(), ALL, []),
    "removed": ({"host": {}}, {**ALL, **ABSENT}, []),
    "not-booted": (
        seen(files=texts(cmdline="quiet")),
        ALL,
        [f"TUN-10: reboot due: kernel command line without {WORDS}"],
    ),
    "lingering": (
        seen(NONE, files=texts(cmdline="ro a=1", GRUB_FILE="# Until a boot without: a=1 b=2\n")),
        NONE,
        ["TUN-10: reboot due: kernel command line still with a=1"],
    ),
    "ecc": (
        seen(commands=gpus((5, "Enabled"))),
        ALL,
        ["TUN-03: ECC is Enabled, expected disabled; it changes with the next boot"],
    ),
    "no-smi": (
        seen(commands=said(rc=9, smi="NVIDIA-SMI has failed\n")),
        ALL,
        ["TUN-01: nvidia-smi: NVIDIA-SMI has failed"],
    ),
    "no-answer": (seen(commands=said(rc=9, smi="")), ALL, ["TUN-01: nvidia-smi: no answer"]),
    "missing-smi": (
        seen(commands=said(rc=127, smi="", err="no such file")),
        ALL,
        ["TUN-01: nvidia-smi: no such file"],
    ),
    "drifted": (
        seen(commands=gpus((1, "400.00"), (7, "Default"), (8, "1410"))),
        ALL,
        [
            "TUN-01: the power limit is 400.00 W, expected 300 (gpu_tuning_power_limit_watts)",
            "TUN-02: the clocks run at 1410 MHz, expected 210 to 1200",
            "TUN-03: the compute mode is Default, expected exclusive-process",
            f"GEN-10: gpugen's units are not as expected: {POWER}, {CLOCKS}, {MODE}",
        ],
    ),
    "a-step-of-clocks": (seen(commands=gpus((8, "1215"))), ALL, []),
    "acs": (
        seen(bridges={"/sys": ["0000:40:00.0", "0000:41:00.0"]}),
        ALL,
        [
            "TUN-05: ACS is on at 0000:40:00.0, 0000:41:00.0, expected disabled",
            f"GEN-10: gpugen's units are not as expected: {ACS}",
        ],
    ),
    "pages": (
        seen(files=texts(nr_pages="5\n")),
        ALL,
        ["TUN-06: 5 huge pages of 2 MiB could be had, expected 8"],
    ),
    "numa": (
        seen(files=texts(balancing="1\n")),
        ALL,
        ["TUN-07: kernel.numa_balancing is 1, expected disabled"],
    ),
    "no-limits": (
        seen(files={LIMITED: None}),
        ALL,
        [f"TUN-08: {RUNTIME} runs with other limits or since before the huge pages"],
    ),
    "old-kubelet": (
        seen(
            files={
                places.SYSCTL_FILE: {**seen()["files"][places.SYSCTL_FILE], "mtime": STARTED + 1}
            },
            units=unit(KUBELET),
        ),
        ALL,
        [f"TUN-08: {KUBELET} runs with other limits"],
    ),
    "peermem": (
        seen(globs={TREE.peermem: []}),
        ALL,
        ["TUN-09: nvidia-peermem is not loaded, expected peermem"],
    ),
    "disabled-unit": (
        seen(units=unit(f"{POWER}.service", UnitFileState="disabled")),
        ALL,
        [f"GEN-10: gpugen's units are not as expected: {POWER}"],
    ),
}


def beginnings(texts: list[str], expected: list[str]) -> list[str]:
    return [text[: len(start)] for text, start in zip(texts, expected, strict=True)]


@pytest.mark.parametrize("case", FAULTS)
def test_what_a_host_cannot_take_is_refused(case: str) -> None:
    own, variables, expected = FAULTS[case]
    assert beginnings(tuning.decide(own, variables)["faults"], expected) == expected


@pytest.mark.parametrize("case", SHORTFALLS)
def test_what_a_host_does_not_show_is_told(case: str) -> None:
    own, variables, expected = SHORTFALLS[case]
    assert beginnings(tuning.decide(own, variables)["shortfalls"], expected) == expected


def decide(variables: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = tuning.decide(seen(**parts), variables)
    return found


def test_a_host_as_stated_has_nothing_due() -> None:
    found = decide(ALL)
    due = [name for name, value in found.items() if name.endswith("due") and value]
    assert (due, found["interrupts"]) == ([], [])


def test_a_fresh_host_is_given_everything() -> None:
    machine = seen(NONE)
    for path in (TREE.cmdline, TREE.driver):
        machine["files"][path] = {"text": "NVRM quiet", "mtime": 0.0}
    machine["commands"] |= gpus((1, "400.00"), (5, "Enabled"), (6, "Enabled"), (7, "Default"))
    found = tuning.decide(machine, ALL)
    assert found["faults"] == []
    assert found["interrupts"] == [
        f"reboot: kernel command line without {WORDS}",
        "reboot: ECC of the GPUs not disabled",
    ]
    assert found["reboot_due"] is True
    assert found["kernel"]["path"] == "/etc/default/grub.d/90-gpugen-tuning.cfg"
    assert found["kernel"]["folder"] == "/etc/default/grub.d"
    assert found["kernel"]["content"] == (
        "# Ansible managed, generated by gpugen (gpu_tuning).\n"
        f"# Kernel arguments: {WORDS}\n"
        f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {WORDS}"\n'
    )
    assert found["loader"] == ["update-grub"]
    assert {file["path"]: file["content"] for file in found["texts"]} == {
        "/etc/sysctl.d/90-gpugen-tuning.conf": (
            "# Ansible managed, generated by gpugen (gpu_tuning).\n"
            "# Was: kernel.numa_balancing = 1\nkernel.numa_balancing = 0\n"
            "# Was: vm.nr_hugepages = 0\nvm.nr_hugepages = 8\n"
        ),
        "/etc/modules-load.d/gpugen-peermem.conf": (
            "# Ansible managed, generated by gpugen (gpu_tuning).\nnvidia-peermem\n"
        ),
    }
    assert (found["load_due"], found["reset_due"], found["stale"]) == (True, False, [])
    assert found["ecc"] == ["/usr/bin/nvidia-smi", "--ecc-config=0"]
    assert (found["ecc_due"], found["peermem_due"], found["script_due"]) == (True, True, True)
    assert found["script"]["content"].startswith('"""Shows or switches off the access control')
    assert found["started"] == [POWER, CLOCKS, MODE, ACS]
    assert [file["content"] for file in found["limits"]] == [
        "# Ansible managed, generated by gpugen (gpu_tuning).\n"
        "[Service]\nLimitMEMLOCK=infinity\nLimitNOFILE=524288\n"
    ]
    assert found["restarts"] == [RUNTIME]
    assert found["verify_due"] is True
    checked = tuning.decide(machine, {**ALL, **CHECK})
    assert (checked["started"], checked["verify_due"]) == ([], False)


def test_units_say_what_they_set_and_when() -> None:
    """A unit of the GPUs starts again with the driver's daemon; ACS is for bare metal."""
    power, *_, acs = decide(
        ALL,
        units={
            **unit(f"{POWER}.service", ActiveState="failed"),
            **unit(f"{ACS}.service", ActiveState="failed"),
        },
    )["units"]
    assert power["content"] == (
        "# Ansible managed, generated by gpugen (gpu_tuning).\n"
        "[Unit]\nDescription=Power limit of the GPUs\n"
        "After=nvidia-persistenced.service systemd-modules-load.service\n"
        "PartOf=nvidia-persistenced.service\n\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        "ExecStart=/usr/bin/nvidia-smi --power-limit=300\n\n"
        "[Install]\nWantedBy=multi-user.target nvidia-persistenced.service\n"
    )
    assert "ConditionVirtualization=!vm\n" in acs["content"]
    assert acs["content"].endswith("[Install]\nWantedBy=multi-user.target\n")
    line = "ExecStart=/usr/bin/python3 /usr/local/sbin/gpugen-pci-acs clear /sys\n"
    assert line in acs["content"]


def test_what_is_no_longer_stated_is_reset() -> None:
    found = decide(NONE, commands=gpus((4, "350.50")))
    assert found["retired"] == [POWER, CLOCKS, MODE, ACS]
    assert found["retired_files"] == [
        *(places.unit_file(name) for name in (POWER, CLOCKS, MODE, ACS)),
        places.ACS_SCRIPT,
    ]
    smi = "/usr/bin/nvidia-smi"
    assert found["resets"] == [
        [smi, "--power-limit=350.5"],
        [smi, "--reset-gpu-clocks"],
        [smi, "--compute-mode=DEFAULT"],
    ]
    assert found["unlimited"] == [LIMITED]
    assert found["reset"] == ["sysctl", "--write", "kernel.numa_balancing=0", "vm.nr_hugepages=8"]
    assert found["stale"] == [places.SYSCTL_FILE, places.MODULES_FILE]
    gone = "hugepages=2 hugepagesz=1G intel_iommu=on iommu=pt"
    assert found["kernel"]["content"].endswith(f"# Until a boot without: {gone}\n")
    assert found["interrupts"] == [f"reboot: kernel command line still with {gone}"]
    assert found["shortfalls"][-1].endswith(f"{POWER}, {CLOCKS}, {MODE}, {ACS}")
    assert decide(NONE, commands=said(rc=9, smi=""))["resets"] == []


def test_removal_goes_by_the_same_states_and_refuses_nothing() -> None:
    found = decide({**ALL, **ABSENT})
    assert (found["faults"], found["shortfalls"], found["interrupts"]) == ([], [], [])
    assert (found["due"], found["reboot_due"], found["is_lingering"]) == (True, False, True)
    assert found["lingering"].startswith("hugepages=2 hugepagesz=1G intel_iommu=on iommu=pt stay")
    assert found["empty"] == [
        *("find", "/etc/systemd/system/containerd.service.d", "/etc/default/grub.d"),
        *("-maxdepth", "0", "-empty", "-print", "-delete"),
    ]
    assert tuning.decide(seen(NONE), {**ALL, **ABSENT})["due"] is False


def test_a_file_whose_words_are_gone_goes_after_the_boot() -> None:
    found = decide(NONE, files=texts(cmdline="quiet"))
    assert (found["kernel_due"], found["kernel"]["content"]) == (False, "")
    assert places.GRUB_FILE in found["stale"]


WITH = f"ro {WORDS}"


@pytest.mark.parametrize(
    ("variables", "lines", "command"),
    [
        (ALL, [WITH, WITH], None),
        (ALL, [WITH, "ro"], ["grubby", "--update-kernel=ALL", f"--args={WORDS}"]),
        (
            {**ALL, "gpu_tuning_hugepages_1gi": 0},
            [WITH, "ro intel_iommu=on iommu=pt"],
            [
                *("grubby", "--update-kernel=ALL", "--remove-args=hugepages=2 hugepagesz=1G"),
                "--args=intel_iommu=on iommu=pt",
            ],
        ),
    ],
)
def test_every_entry_of_the_loader_has_the_words(
    variables: dict[str, Any], lines: list[str], command: list[str] | None
) -> None:
    """TUN-04: where grubby keeps them, each kernel has an entry of its own."""
    text = f"{places.HEAD}{kernel.NOW}{WORDS}\n"
    files = texts(GRUBBY_FILE=text, GRUB_FILE=None)
    globs = {places.GRUBBY: [places.GRUBBY]}
    found = decide(variables, host=DNF, files=files, globs=globs, commands=entries(*lines))
    assert found["kernel_due"] is (command is not None)
    assert command is None or found["loader"] == command
    assert found["kernel"]["path"] == "/var/lib/misc/gpugen-kernel-arguments"


def test_a_loader_that_has_not_read_the_file_is_run() -> None:
    assert decide(ALL, commands=said(grub=""))["kernel_due"] is True


@pytest.mark.parametrize(
    ("iommu", "parts", "expected"),
    [
        ("", {}, []),
        ("pt", {}, ["intel_iommu=on", "iommu=pt"]),
        ("translated", {}, ["intel_iommu=on", "iommu=nopt"]),
        ("disabled", {}, ["intel_iommu=off"]),
        ("pt", {"commands": said(vendor="vendor_id : AuthenticAMD")}, ["amd_iommu=on", "iommu=pt"]),
        ("pt", {"host": ARM}, ["iommu.passthrough=1"]),
        ("translated", {"host": ARM}, ["iommu.passthrough=0"]),
    ],
)
def test_the_iommu_goes_by_the_processor(
    iommu: str, parts: dict[str, Any], expected: list[str]
) -> None:
    """TUN-04."""
    assert kernel.words(host.read(seen(NONE, **parts), stated(iommu=iommu))) == expected


def test_a_former_value_outlives_another_setting() -> None:
    own = stated(hugepages_2mi=16)
    text = "# Was: vm.nr_hugepages = 3\nvm.nr_hugepages = 8\n# Was: broken\n# Was: a b c\n"
    found = tuning.decide(seen(own, files=texts(SYSCTL_FILE=text)), own)
    assert found["texts"][0]["content"].endswith(
        "# Was: vm.nr_hugepages = 3\nvm.nr_hugepages = 16\n"
    )


def test_numa_balancing_can_be_switched_on() -> None:
    assert kernel.parameters(host.read({}, stated(numa_balancing="enabled"))) == {
        "kernel.numa_balancing": "1"
    }


@pytest.mark.parametrize(
    ("settings", "state", "expected"),
    [
        (None, "active", 1),
        ("{}", "active", 1),
        ("no JSON", "active", 1),
        ("[]", "active", 1),
        ('{"live-restore": false}', "active", 1),
        ('{"live-restore": true}', "active", 0),
        (None, "inactive", 0),
    ],
)
def test_dockers_restart_ends_containers_without_live_restore(
    settings: str | None, state: str, expected: int
) -> None:
    """TUN-08."""
    own = stated(nofile=4096, runtime_services=[DOCKER])
    parts = {
        "files": {**texts(DOCKER_FILE=settings), places.limits_file(DOCKER): None},
        "units": unit(DOCKER, ActiveState=state),
    }
    found = tuning.decide(seen(own, **parts), own)
    assert len(found["interrupts"]) == expected
    assert found["restarts"] == [DOCKER]
    assert found["reboot_due"] is False


def test_limits_of_a_service_that_is_gone_go_too() -> None:
    own = stated(memlock="infinity", runtime_services=[RUNTIME, DOCKER])
    found = tuning.decide(seen(own, units=unit(DOCKER, **NO_UNIT)), own)
    assert (found["limits"], found["restarts"]) == ([], [])
    assert found["unlimited"] == [places.limits_file(DOCKER)]


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("topologyManagerPolicy: single-numa-node\n", "single-numa-node"),
        ("cgroupDriver: systemd\n", "none"),
        ("topologyManagerPolicy:\n", "none"),
    ],
)
def test_what_is_left_to_the_administrator_is_told(text: str, policy: str) -> None:
    own = stated(numa_balancing="disabled", hugepages_2mi=8, kubelet_services=[])
    found = tuning.decide(seen(own, files=texts(KUBELET_FILE=text)), own)
    first, second = found["notes"]
    assert first == f"topologyManagerPolicy in /var/lib/kubelet/config.yaml is {policy}"
    assert second.startswith("restart the kubelet yourself when the huge pages have changed")


def test_an_unchanged_host_is_asked_once() -> None:
    """GPUs that nothing is set on are read only where a former setting is to be reset."""
    assert tuning.questions(ALL, seen()) == tuning.questions(ALL, {})
    assert "smi" not in tuning.questions(NONE, {})["commands"]
    assert "smi" in tuning.questions(NONE, seen())["commands"]
    assert "bridges" not in tuning.questions(NONE, {})
    other = {**ALL, "__gpu_tuning_procfs": "/p", "__gpu_tuning_sysfs": "/s"}
    asked = tuning.questions(other, {})
    assert asked["bridges"] == ["/s"]
    assert "/p/cmdline" in asked["files"]


def test_another_setting_is_told_of_a_host_that_is_only_described() -> None:
    found = tuning.decide(tuning.described(NONE), ALL)
    assert found["faults"] == []
    assert found["due"] is True
    assert json.loads(json.dumps(found)) == found

# Copyright: the gpugen authors. Apache-2.0.
"""What is expected of a host, and what it has."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..common import host as system
from ..common import seen as answers
from . import places

Seen = Mapping[str, Any]
Wanted = Mapping[str, Any]
PREFIX = "gpu_tuning_"
NOTHING: dict[str, Any] = {
    "power_limit_watts": 0,
    "locked_clocks_mhz": [],
    "ecc": "",
    "compute_mode": "",
    "iommu": "",
    "acs": "",
    "hugepages_2mi": -1,
    "hugepages_1gi": 0,
    "numa_balancing": "",
    "memlock": "",
    "nofile": 0,
    "gpu_direct_rdma": "",
}


class Gpu(NamedTuple):
    """A row of nvidia-smi, in its words; QUERY names the columns."""

    name: str
    limit: str
    lowest: str
    highest: str
    default: str
    ecc: str
    ecc_pending: str
    mode: str
    clock: str
    highest_clock: str


QUERY = (
    "index,power.limit,power.min_limit,power.max_limit,power.default_limit,ecc.mode.current,"
    "ecc.mode.pending,compute_mode,clocks.gr,clocks.max.gr"
)


class Host(NamedTuple):
    """What is expected of a host, beside what it has."""

    seen: Seen
    tree: places.Trees
    power: int
    clocks: list[int]
    ecc: str
    mode: str
    iommu: str
    acs: str
    pages_2mi: int
    pages_1gi: int
    numa: str
    memlock: str
    nofile: int
    rdma: str
    services: list[str]  # that may run the container runtime
    kubelets: list[str]
    has_grubby: bool
    gpus: list[Gpu]

    @property
    def is_arm(self) -> bool:
        """Whether the processor is of the other architecture."""
        return answers.host(self.seen, "architecture") == "aarch64"

    @property
    def vendor(self) -> str:
        """Return the processor's vendor."""
        return ["", *str(answers.command(self.seen, "vendor")["out"]).split()][-1]

    @property
    def cmdline(self) -> list[str]:
        """Return the command line of the running kernel."""
        return answers.text(self.seen, self.tree.cmdline).split()

    @property
    def driver(self) -> str:
        """Return what the loaded driver says of itself."""
        return answers.text(self.seen, self.tree.driver)

    @property
    def bridges(self) -> list[str]:
        """Return the PCI bridges whose ACS is on."""
        return list(self.seen.get("bridges", {}).get(self.tree.sysfs, ()))

    @property
    def page_sizes(self) -> list[str]:
        """Return the sizes of huge pages, as the kernel names them."""
        return [posixpath.basename(path) for path in answers.found(self.seen, self.tree.pages)]

    @property
    def has_smi(self) -> bool:
        """Whether nvidia-smi answers."""
        return bool(answers.command(self.seen, "smi")["rc"] == 0)

    @property
    def needs_smi(self) -> bool:
        """Whether a setting is one of the GPUs."""
        return bool(self.power > 0 or self.clocks or self.mode or self.ecc)

    @property
    def has_limits(self) -> bool:
        """Whether the container runtime has limits of ours."""
        return bool(self.memlock or self.nofile > 0)

    @property
    def needs_peermem(self) -> bool:
        """Whether the module is expected."""
        return self.rdma == "peermem"

    @property
    def has_peermem(self) -> bool:
        """Whether the module is loaded."""
        return bool(answers.found(self.seen, self.tree.peermem))

    @property
    def runtimes(self) -> list[str]:
        """Return the services of the container runtime that the host has."""
        return [name for name in self.services if self.is_loaded(name)]

    @property
    def kernel_file(self) -> str:
        """Return where the words of the kernel's command line are kept."""
        return places.GRUBBY_FILE if self.has_grubby else places.GRUB_FILE

    def is_loaded(self, unit: str) -> bool:
        """Tell whether systemd has a unit."""
        return answers.unit(self.seen, unit)["LoadState"] == "loaded"

    def column(self, name: str) -> str:
        """Return what the GPUs say, each answer once."""
        return ", ".join(dict.fromkeys(getattr(gpu, name) for gpu in self.gpus))


def read(seen: Seen, wanted: Wanted) -> Host:
    """Return what the answers mean; where the role is removed, nothing is expected."""
    own = {name: wanted[PREFIX + name] for name in NOTHING}
    if wanted["state"] == "absent":
        own = NOTHING
    return Host(
        seen=seen,
        tree=places.trees(wanted),
        power=own["power_limit_watts"],
        clocks=own["locked_clocks_mhz"],
        ecc=own["ecc"],
        mode=own["compute_mode"],
        iommu=own["iommu"],
        acs=own["acs"],
        pages_2mi=own["hugepages_2mi"],
        pages_1gi=own["hugepages_1gi"],
        numa=own["numa_balancing"],
        memlock=own["memlock"],
        nofile=own["nofile"],
        rdma=own["gpu_direct_rdma"],
        services=wanted["gpu_tuning_runtime_services"],
        kubelets=wanted["gpu_tuning_kubelet_services"],
        has_grubby=system.package_manager(seen) == "dnf",
        gpus=_gpus(seen),
    )


def number(word: str) -> float:
    """Return a number as nvidia-smi writes it; 0 where there is none, such as [N/A]."""
    try:
        return float(word)
    except ValueError:
        return 0.0


def _gpus(seen: Seen) -> list[Gpu]:
    answer = answers.command(seen, "smi")
    lines = answer["out"].splitlines() if answer["rc"] == 0 else []
    rows = [[word.strip() for word in line.split(",")] for line in lines]
    return [Gpu(*row) for row in rows if len(row) == len(Gpu._fields)]

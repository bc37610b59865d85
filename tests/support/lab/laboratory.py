"""One sandbox with its kubelet: a spec goes in, what the real programs make of it comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpugen.model.assembly import Assembly
from gpugen.model.spec import MigManager, NodePool, SharingMode
from gpugen.text.yaml import to_yaml
from support.lab import agents, node, partitioning, rendered
from support.lab.models import PlayedGpu
from support.lab.sandbox import Sandbox

PROGRAMS = (
    "nvidia-device-plugin",
    "gpu-feature-discovery",
    "mps-control-daemon",
    "mig-parted",
    "fake-kubelet",
)


@dataclass(frozen=True, slots=True)
class Partitioned:
    """What mig-parted left on the GPUs. complaint: what it said against the layout."""

    layouts: list[dict[str, int]]  # per GPU
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What the programs of one node made of the configuration that was rendered for them."""

    mig: Partitioned
    offer: agents.Offer
    labelling: agents.Labelling
    daemon_complaint: str = ""


@dataclass(slots=True)
class Laboratory:
    """A node that can be booted with any GPU model. Layouts once applied are kept."""

    sandbox: Sandbox
    kubelet: agents.Kubelet
    _partitioned: dict[object, tuple[str, Partitioned]] = field(default_factory=dict)

    def observe(self, plan: Assembly, pool: NodePool, played: PlayedGpu) -> Observed:
        """Boot a node of the pool, partition its GPUs if the spec says so, and run its agents."""
        plugin = rendered.container(plan, f"device-plugin-{pool.name}")
        discovery = rendered.container(plan, f"gpu-feature-discovery-{pool.name}")
        here = node.node_of(pool, played)
        node.boot(self.sandbox, here, sees_whole_pci=discovery.has_sys_admin)
        mig = self.partition(plan, pool, here)
        labelling = agents.label(self.sandbox, discovery)
        if pool.sharing.mode is not SharingMode.MPS:
            offer = agents.serve(self.sandbox, self.kubelet, plugin)
            return Observed(mig, offer, labelling)
        container = rendered.container(plan, f"mps-control-daemon-{pool.name}")
        daemon = agents.MpsDaemon(self.sandbox, container)
        offer = agents.serve(self.sandbox, self.kubelet, plugin)
        daemon.close()
        return Observed(mig, offer, labelling, daemon.complaint)

    def partition(self, plan: Assembly, pool: NodePool, here: node.Node) -> Partitioned:
        """Apply the pool's rendered layout with mig-parted to a node that was just booted."""
        name = pool.prediction.mig_config_name
        if not name:
            return Partitioned([{}] * pool.gpu_count)
        text = to_yaml(pool.prediction.mig_config)
        if pool.mig.manager is MigManager.CLUSTER:
            text = rendered.config_map(plan, f"mig-config-{pool.name}")["config.yaml"]
        key = (here.played.gpu.id, here.gpu_count, text)
        if key not in self._partitioned:
            said = partitioning.apply(self.sandbox, text, name)
            found = node.layouts(self.sandbox, pool.gpu_count)
            fault = agents.last_line(said.stderr) if said.returncode else ""
            if not fault and not partitioning.is_applied(self.sandbox, text, name):
                fault = "mig-parted said success, and finds something else afterwards"
            state = self.sandbox.path("/lab/state").read_text(encoding="utf-8")
            self._partitioned[key] = (state, Partitioned(found, fault))
        state, result = self._partitioned[key]
        self.sandbox.write("/lab/state", state)
        return result

    def close(self) -> None:
        """End everything that was started."""
        self.kubelet.close()
        self.sandbox.close()


def open_laboratory(programs: Mapping[str, Path], library: Path) -> Laboratory:
    """Make a sandbox with a kubelet in it.

    Raises NoSandboxError: this machine does not allow it.
    """
    sandbox = Sandbox(programs, library)
    return Laboratory(sandbox, agents.Kubelet(sandbox))

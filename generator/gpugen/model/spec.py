"""The resolved spec of one cluster: complete and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from gpugen.model.access import Access, Ssh
    from gpugen.model.catalog import GpuModel
    from gpugen.model.delivery import Delivery
    from gpugen.model.driver import Driver, Repositories
    from gpugen.model.finding import Pointer
    from gpugen.model.host_services import Dcgm, MigService
    from gpugen.model.platform import Distribution, KubernetesMinor, OperatingSystem, Release
    from gpugen.model.prediction import Prediction
    from gpugen.model.stated import Stated
    from gpugen.model.tuning import CudaToolkit, Tuning

T = TypeVar("T")


class MigStrategy(StrEnum):
    """How MIG instances are named as resources."""

    NONE = "none"
    SINGLE = "single"
    MIXED = "mixed"


class MigManager(StrEnum):
    """What applies MIG layouts: the cluster's MIG manager, or the host's boot service."""

    CLUSTER = "cluster"
    HOST = "host"


class SharingMode(StrEnum):
    """How several pods share one device."""

    NONE = "none"
    TIME_SLICING = "time-slicing"
    MPS = "mps"


class Taint(NamedTuple):
    """A taint of the pool's nodes."""

    key: str
    value: str
    effect: str
    at: Pointer


class MigEntry(NamedTuple):
    """The MIG layout of some GPUs of a node: profile -> instances; empty disables MIG there."""

    gpus: tuple[int, ...]  # indices on the node, never "all"
    profiles: Mapping[str, int]
    at: Pointer


class Mig(NamedTuple):
    """The MIG settings of a pool."""

    strategy: MigStrategy
    manager: MigManager
    layout: tuple[MigEntry, ...]
    at: Pointer

    @property
    def has_instances(self) -> bool:
        """Tell whether any GPU of the node is to have MIG instances."""
        return any(entry.profiles for entry in self.layout)


class Sharing(NamedTuple):
    """Replicas per resource, under the names before renaming."""

    mode: SharingMode
    resources: Mapping[str, int]
    rename: bool
    fail_requests_greater_than_one: bool
    at: Pointer


class HostSettings(NamedTuple):
    """The configuration that Ansible applies to a pool's hosts."""

    os: OperatingSystem
    architecture: str  # amd64, arm64
    driver: Driver
    container_toolkit_version: str
    repositories: Repositories
    at: Pointer
    default_runtime: bool = False  # nvidia is the runtime of pods without a RuntimeClass
    further_runtimes: tuple[str, ...] = ()  # configured for the toolkit, besides the cluster's own
    smoke_test_image: str = ""  # whose container verifies the GPUs; empty: none is started
    tuning: Tuning | None = None  # None: the host's settings are not changed
    cuda_toolkit: CudaToolkit | None = None
    dcgm: Dcgm | None = None
    mig_service: MigService | None = (
        None  # None: the release's version, if the host applies the layout
    )
    allow_kernel_change: bool = False


class HostLine(NamedTuple):
    """One line of the inventory: a host, or an Ansible range of hosts that stays a range."""

    pattern: str
    hosts: tuple[str, ...]  # of the pattern; none if it is wrong or the spec has too many
    node_name: str  # empty: derived by access.nodeNames
    address: str
    description: str
    variables: Mapping[str, Any]
    at: Pointer
    ssh: Ssh | None = None  # None: as stated by its pool or the cluster


class NodePool(NamedTuple):
    """Hosts with the same hardware, labels and configuration."""

    name: str
    description: str
    gpu: GpuModel  # the catalogue entry, not its name
    gpu_count: int
    hosts: tuple[HostLine, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    mig: Mig
    sharing: Sharing
    host: HostSettings
    prediction: Prediction
    at: Pointer  # its place in the spec, for findings
    ssh: Ssh | None = None  # None: as the cluster states


class Kubernetes(NamedTuple):
    """The existing Kubernetes cluster."""

    version: str  # minor, e.g. "1.36"
    minor: int
    support: KubernetesMinor
    distribution: Distribution
    container_runtime: str
    at: Pointer


class Images(NamedTuple):
    """Where images come from: a mirror, pull secrets, digests by component."""

    registry: str
    pull_secrets: tuple[str, ...]
    digests: Mapping[str, str]
    at: Pointer
    previous_registries: tuple[str, ...] = ()  # in use before, until the roll-out is complete


class Namespaces(NamedTuple):
    """The two namespaces of gpugen: privileged agents, restricted controllers."""

    agents: str
    controllers: str


class Drain(NamedTuple):
    """How plays drain a node."""

    timeout: str
    delete_empty_dir: bool
    ignore_pod_disruption_budgets: bool


class Rollout(NamedTuple):
    """How plays proceed through the hosts: batch sizes, and whether disruption is allowed."""

    serial: tuple[int | str, ...]  # hosts, or a percentage such as "10%"; the last one repeats
    allow_disruption: bool


class ControlPlane(NamedTuple):
    """The hosts of the control plane; none if nothing is to be changed on them."""

    hosts: tuple[HostLine, ...]
    at: Pointer


class ClusterSpec(NamedTuple):
    """One cluster, resolved: every reference found, every default filled in."""

    name: str
    description: str
    source: str  # the spec's path relative to the repository's root
    release: Release
    kubernetes: Kubernetes
    access: Access
    pools: tuple[NodePool, ...]
    control_plane: ControlPlane
    stack: str  # device-plugin
    options: Mapping[str, tuple[Any, ...] | None]  # component that is on -> record of its options
    images: Images
    namespaces: Namespaces
    drain: Drain
    rollout: Rollout
    device_list_strategy: tuple[str, ...]
    delivery: Delivery
    stated: Stated
    at: Pointer

    def find(self, kind: type[T]) -> T | None:
        """Return the options of the component that has them as this record; None: it is off."""
        return next((own for own in self.options.values() if isinstance(own, kind)), None)

    def own(self, kind: type[T]) -> T:
        """Return the options of a component that is on. Raises LookupError: it is off."""
        found = self.find(kind)
        if found is None:
            raise LookupError(kind.__name__)
        return found

"""What clusters run on: systems, distributions and versions of Kubernetes, releases of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class VersionRange(NamedTuple):
    """Versions between two, which count with everything that begins like them; empty: no end."""

    first: str = ""
    last: str = ""

    def __contains__(self, version: object) -> bool:
        own = _parts(str(version))
        first, last = _parts(self.first), _parts(self.last)
        return first <= own[: len(first)] and own[: len(last)] <= last


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version else ()


class CudaRepository(NamedTuple):
    """A system's folder in the vendor's repository."""

    folder: str
    architectures: tuple[str, ...]  # amd64, arm64
    key: str  # entry of the keys in packages.yaml; empty: none is known


class Archive(NamedTuple):
    """The driver in a system's own archive."""

    packages: str  # entry of driverPackages in packages.yaml
    branches: tuple[int, ...]  # empty: any


class OperatingSystem(NamedTuple):
    """An operating system: package family, repository directories, status with reason."""

    id: str  # ubuntu-24.04
    family: str  # debian, redhat, suse, immutable
    is_supported: bool
    reason: str  # why not, or what to consider
    is_dnf: bool  # takes packages by dnf
    headers: tuple[str, ...]  # packages that a module build needs
    cuda_repository: CudaRepository | None
    driver_packages: str  # entry of driverPackages in packages.yaml
    min_branch: int | None  # of the vendor's repository
    max_branch: int | None
    archive: Archive | None
    has_module_streams: bool
    is_listed_for_dcgm4: bool | None  # None: not known
    is_override: bool  # the repository's own row, overriding gpugen's


class RootVersion(NamedTuple):
    """The version that containerd's root file declares, in some minors of Kubernetes."""

    minors: VersionRange
    declares: int


class Runtime(NamedTuple):
    """The container runtime of a distribution; what is empty it does not have."""

    is_bundled: bool  # the distribution brings its own containerd
    name: str
    config_file: str
    drop_in_folder: str
    merged_file: str  # into which the distribution merges drop-ins itself
    default_file: str  # of ours among the distribution's settings
    units: tuple[str, ...]
    socket: str
    client: tuple[str, ...]
    root_versions: tuple[RootVersion, ...]


class MainScheduler(NamedTuple):
    """How the role kube_scheduler gives the main scheduler a configuration; see the schema."""

    mode: str  # static-pod, drop-in, reported
    file: str
    flag_file: str
    patch_folder: str
    lines: str
    unit: str
    interrupts: str
    in_process: str  # k0s, k3s; empty: a program of its own


class Distribution(NamedTuple):
    """A Kubernetes distribution: paths, units, and what is not supported."""

    id: str
    is_supported: bool
    reason: str  # why it is not supported
    host_half: bool
    kubelet_root: str
    kubelet_unit: str  # which the MIG manager stops; empty: there is none
    has_runtime_class: bool  # ships RuntimeClass nvidia
    detects_nvidia: bool  # detects the runtime at start
    runtime: Runtime
    registration: str  # what makes a node register with its pool's label, and where to write it
    registration_file: str  # drop-in that says so; empty: there is none
    kubectl: str
    kubeconfig: str
    scheduler_kubeconfig: str
    main_scheduler: MainScheduler | None
    instead_of_main: str  # what to do where the role changes nothing
    is_override: bool  # the repository's own row, overriding gpugen's


class Features(NamedTuple):
    """Features of a release besides versions; a release without the key has none."""

    agent_policy: bool = False  # an admission policy over the agents' namespace
    network_policies: bool = False
    packages: str = "complete"  # of the driver: complete, compute-only
    requests_and_limits: bool = False  # requests on every container, measured limits of memory


class Image(NamedTuple):
    """An image of a component; the digest is empty where nobody states one."""

    repository: str  # with its registry
    tag: str  # empty: follows the cluster's minor
    digest: str


class Release(NamedTuple):
    """A set of component versions that never changes once shipped."""

    id: str
    images: Mapping[str, Image]  # by component
    scheduler_tags: Mapping[str, str]  # minor of Kubernetes -> tag
    scheduler_digests: Mapping[str, str]  # if known
    features: Features
    is_override: bool  # the repository's own row, overriding gpugen's


class KubernetesMinor(NamedTuple):
    """A minor version of Kubernetes and whether gpugen renders for it."""

    id: str  # 1.36
    status: str  # supported upstream, end of life
    is_supported: bool
    reason: str  # why not, or what to consider
    end_of_life: str  # date; empty: unknown

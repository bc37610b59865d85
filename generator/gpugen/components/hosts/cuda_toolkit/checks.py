"""Checks of CUDA toolkits on hosts: driver, GPU model and related settings."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.checks import POOL, Problem, check
from gpugen.components.hosts.cuda_toolkit import cudnn_package, table
from gpugen.hosts.places import host_setting
from gpugen.model.finding import Pointer, Severity
from gpugen.model.spec import ClusterSpec, NodePool
from gpugen.model.tuning import CudaToolkit
from gpugen.text.versions import is_older, parts

KEY = "cudaToolkit"


def _asking(spec: ClusterSpec) -> Iterator[tuple[NodePool, CudaToolkit]]:
    """List the pools whose hosts get a toolkit."""
    for pool in spec.pools:
        if pool.host.cuda_toolkit is not None:
            yield pool, pool.host.cuda_toolkit


def _versions(spec: ClusterSpec) -> Iterator[tuple[NodePool, str, Pointer]]:
    """List every toolkit of every pool, with its place in the spec."""
    for pool, toolkit in _asking(spec):
        at = host_setting(spec, pool, KEY, "versions")
        for index, version in enumerate(toolkit.versions):
            yield pool, version, at / index


def _known() -> list[str]:
    """Return the toolkits that the catalogue knows, oldest first."""
    minors = {version.partition(" ")[0] for version in table()["pairedDriver"]}
    return sorted({*minors, *table()["pairedBranch"]}, key=parts)


@check("cuda-toolkit-unknown", "CUD-01")
def unknown(spec: ClusterSpec) -> Iterator[Problem]:
    """There is no such toolkit, so its package would not be found. Source: CUDA release notes."""
    known = _known()
    for _, version, at in _versions(spec):
        if version not in known and is_older(version, known[-1]):
            near = [v for v in known if v.partition(".")[0] == version.partition(".")[0]]
            yield Problem(
                at=at,
                message=f"there is no CUDA toolkit {version}",
                hint=f"use one of {', '.join(near or known[-4:])}",
            )


@check("cuda-toolkit-not-judged", "CUD-02", severity=Severity.WARNING)
def newer_than_the_catalogue(spec: ClusterSpec) -> Iterator[Problem]:
    """The toolkit is newer than the catalogue: it is not checked against driver and GPU."""
    newest = _known()[-1]
    for _, version, at in _versions(spec):
        if is_older(newest, version):
            yield Problem(
                at=at,
                message=f"CUDA toolkit {version} is newer than what the catalogue knows ({newest})",
                hint="check its release notes for the driver that it needs",
            )


@check("cuda-toolkit-needs-newer-driver", "CUD-02")
def below_the_floor(spec: ClusterSpec) -> Iterator[Problem]:
    """The driver is too old for this CUDA major version.

    Programs end with "CUDA driver version is insufficient for CUDA runtime version". Source: CUDA
    compatibility guide.
    """
    floors = table()["minorVersionFloor"]
    for pool, version, at in _versions(spec):
        driver, floor = pool.host.driver.version, floors.get(version.partition(".")[0], "")
        if driver and floor and is_older(driver, floor):
            package = f"cuda-compat-{version.replace('.', '-')}"
            yield Problem(
                at=at,
                message=f"CUDA {version} needs driver {floor} or newer, but pool {POOL} has"
                f" {driver}",
                hint="use a newer driver or an older toolkit; your own programs could use"
                f" {package} on data-centre GPUs",
                pool=pool.name,
            )


@check("cuda-toolkit-newer-than-driver", "CUD-02", severity=Severity.WARNING)
def by_minor_version_compatibility(spec: ClusterSpec) -> Iterator[Problem]:
    """The driver is older than the toolkit's own, but supports its CUDA major version.

    Most programs run by minor-version compatibility; those that need the driver to compile PTX, or
    a newer driver feature, fail. Source: CUDA compatibility guide.
    """
    floors = table()["minorVersionFloor"]
    for pool, version, at in _versions(spec):
        driver, floor = pool.host.driver.version, floors.get(version.partition(".")[0], "")
        own = _own_driver(version)
        if driver and own and is_older(driver, own) and not (floor and is_older(driver, floor)):
            yield Problem(
                at=at,
                message=f"CUDA {version} came with driver {own}, but pool {POOL} has {driver}:"
                " programs depend on minor-version compatibility",
                hint="use that driver or a newer one, or an older toolkit",
                pool=pool.name,
            )


def _own_driver(version: str) -> str:
    """Return the driver, or its branch, that a toolkit came with; empty if not known."""
    return str(table()["pairedDriver"].get(version) or table()["pairedBranch"].get(version, ""))


@check("cuda-toolkit-without-architecture", "CUD-02")
def dropped(spec: ClusterSpec) -> Iterator[Problem]:
    """The toolkit no longer supports the pool's GPU architecture. Source: CUDA release notes."""
    for pool, version, at in _versions(spec):
        major = version.partition(".")[0]
        gone = [a for m, a in table()["droppedArchitectures"].items() if int(m) <= int(major)]
        if pool.gpu.architecture in {name for names in gone for name in names}:
            yield Problem(
                at=at,
                message=f"CUDA {version} no longer supports {pool.gpu.architecture}, the"
                f" architecture of {pool.gpu.id}",
                hint="use a toolkit of an older major version for this pool",
                pool=pool.name,
            )


@check("cuda-toolkit-default-not-installed", "CUD-03")
def default_without_version(spec: ClusterSpec) -> Iterator[Problem]:
    """The default must be one of the installed toolkits."""
    for pool, toolkit in _asking(spec):
        if toolkit.default and toolkit.default not in toolkit.versions:
            yield Problem(
                at=host_setting(spec, pool, KEY, "default"),
                message=f"the default {toolkit.default} is not among {', '.join(toolkit.versions)}",
                hint="add it to versions, or choose another default",
                pool=pool.name,
            )


@check("cuda-toolkit-profile-without-default", "CUD-03")
def profile_without_default(spec: ClusterSpec) -> Iterator[Problem]:
    """The shell profile puts the default toolkit on PATH, so a default is required."""
    for pool, toolkit in _asking(spec):
        if toolkit.profile and not toolkit.default:
            yield Problem(
                at=host_setting(spec, pool, KEY, "profile"),
                message="profile puts /usr/local/cuda on PATH, but no default toolkit is stated"
                " for it",
                hint=f'write default: "{toolkit.versions[-1]}"',
                pool=pool.name,
            )


@check("cuda-toolkit-cudnn-major", "CUD-04")
def cudnn(spec: ClusterSpec) -> Iterator[Problem]:
    """cuDNN is built for one CUDA major version, which has to be known.

    Source: cuDNN installation guide.
    """
    for pool, toolkit in _asking(spec):
        if not toolkit.cudnn or cudnn_package(toolkit):
            continue
        major = toolkit.cudnn_major
        said = (
            f"there is no cuDNN 9 for CUDA {major}"
            if major
            else ("cuDNN is built for one CUDA major version, and there are two")
        )
        yield Problem(
            at=host_setting(spec, pool, KEY, "cudnn"),
            message=f"pool {POOL}: {said}",
            hint="remove cudnn, or use a newer toolkit"
            if major
            else "write a default; cuDNN is installed for its major version",
            pool=pool.name,
        )

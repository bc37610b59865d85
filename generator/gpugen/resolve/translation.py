"""Translates the parts of a spec from its keys to model names; every default is filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugen.components.defaults import read
from gpugen.model.access import Access, Ssh
from gpugen.model.catalog import DriverBranch
from gpugen.model.delivery import ArgoCd, Delivery, Flux, SourceRef
from gpugen.model.driver import (
    Activation,
    Driver,
    DriverMethod,
    InUse,
    KernelModules,
    Repositories,
    Repository,
    Runfile,
    SecureBoot,
)
from gpugen.model.finding import ROOT, Pointer
from gpugen.model.host_services import Dcgm, DcgmMode, MigService
from gpugen.model.platform import Distribution
from gpugen.model.spec import (
    Drain,
    Images,
    Mig,
    MigEntry,
    MigManager,
    MigStrategy,
    Namespaces,
    Rollout,
    Sharing,
    SharingMode,
)
from gpugen.model.tuning import CudaToolkit, Tuning

VENDOR = "vendor"  # means the vendor's own repositories
WHOLE = {"baseURL", "keyFile", "fingerprint"}  # the keys of one repository for everything
PLAIN: dict[str, Any] = {"namespaces": Namespaces, "drain": Drain, "rollout": Rollout}


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts whose records have the keys of the spec, by field."""
    return {name: read(kind, data[name]) for name, kind in PLAIN.items()}


def access(data: Mapping[str, Any]) -> Access:
    """Return how plays reach the cluster."""
    return Access(
        ssh=_ssh(data["ssh"], ROOT / "access" / "ssh"),
        kubeconfig_context=data.get("kubeconfigContext", ""),
        cluster_uid=data.get("clusterUID", ""),
        node_names=data["nodeNames"],
        at=ROOT / "access",
    )


def ssh(data: Mapping[str, Any], owner: Pointer) -> Ssh | None:
    """Return the SSH settings of a pool or host; None if it states none."""
    return _ssh(data["ssh"], owner / "ssh") if "ssh" in data else None


def _ssh(data: Mapping[str, Any], at: Pointer) -> Ssh:
    return Ssh(
        user=data.get("user", ""),
        port=data.get("port", 0),
        become=data["become"],
        become_method=data["becomeMethod"],
        interpreter=data.get("interpreter", ""),
        proxy_jump=tuple(data["proxyJump"]),
        at=at,
    )


def mig(
    data: Mapping[str, Any] | None, gpu_count: int, pool: Pointer, distribution: Distribution | None
) -> Mig:
    """Return a pool's MIG settings; no layout if not stated."""
    at = pool / "mig"
    default = MigManager.CLUSTER
    if distribution is not None and not distribution.kubelet_unit:
        default = MigManager.HOST
    if data is None:
        return Mig(MigStrategy.NONE, default, (), at)
    layout = tuple(
        MigEntry(
            gpus=tuple(range(gpu_count))
            if entry["gpus"] == "all"
            else tuple(sorted(entry["gpus"])),
            profiles=dict(sorted(entry["profiles"].items())),
            at=at / "layout" / i,
        )
        for i, entry in enumerate(data.get("layout", ()))
    )
    manager = MigManager(data["manager"]) if "manager" in data else default
    return Mig(MigStrategy(data["strategy"]), manager, layout, at)


def sharing(data: Mapping[str, Any] | None, at: Pointer) -> Sharing:
    """Return a pool's sharing; none if not stated."""
    if data is None:
        return Sharing(
            SharingMode.NONE, {}, rename=False, fail_requests_greater_than_one=True, at=at
        )
    return Sharing(
        mode=SharingMode(data["mode"]),
        resources=dict(sorted(data["resources"].items())),
        rename=data["rename"],
        fail_requests_greater_than_one=data["failRequestsGreaterThanOne"],
        at=at,
    )


def repositories(data: Any, where: Callable[..., Pointer]) -> Repositories:
    """Return a pool's package repositories. where: key -> its place."""
    if data is None:
        return Repositories()
    if data == VENDOR or data.keys() >= WHOLE:
        own = _repository(data, where())
        return Repositories(own, own) if own.is_vendor else Repositories(both=own)
    return Repositories(
        *(
            _repository(data[key], where(key)) if key in data else None
            for key in ("driver", "containerToolkit")
        )
    )


def _repository(data: Any, at: Pointer) -> Repository:
    if data == VENDOR:
        return Repository(at)
    signs = data.get("signedMetadata", False)
    return Repository(at, data["baseURL"], data["keyFile"], data["fingerprint"], signs)


def driver(data: Mapping[str, Any], branch: DriverBranch | None, at: Pointer) -> Driver:
    """Return the driver of a pool's hosts. branch: of its version; None where none is stated."""
    own = data.get("runfile")
    return Driver(
        method=DriverMethod(data["method"]),
        version=data.get("version", ""),
        branch=branch,
        kernel_modules=KernelModules(data["kernelModules"]),
        at=at,
        secure_boot=SecureBoot(data["secureBoot"]),
        in_use=InUse(data["inUse"]),
        activation=Activation(data["activation"]),
        runfile=Runfile(own["url"], own["sha256"], at / "runfile") if own else None,
        graphics=data["graphics"],
    )


def tuning(data: Mapping[str, Any] | None, at: Pointer) -> Tuning | None:
    """Return the tuning of a pool's hosts; None if not stated."""
    if data is None:
        return None
    clocks, pages, limits = (data.get(k, {}) for k in ("lockedClocksMHz", "hugepages", "limits"))
    return Tuning(
        power_limit_watts=data.get("powerLimitWatts"),
        locked_clocks_mhz=(clocks["min"], clocks["max"]) if clocks else None,
        ecc=data.get("ecc"),
        compute_mode=data.get("computeMode", ""),
        iommu=data.get("iommu", ""),
        acs=data.get("acs", ""),
        hugepages_2mi=pages.get("2Mi"),
        hugepages_1gi=pages.get("1Gi"),
        numa_balancing=data.get("numaBalancing"),
        memlock=limits.get("memlock", ""),
        nofile=limits.get("nofile"),
        gpu_direct_rdma=data.get("gpuDirectRdma", ""),
        at=at,
    )


def cuda_toolkit(data: Mapping[str, Any] | None, at: Pointer) -> CudaToolkit | None:
    """Return the CUDA toolkits of a pool's hosts; None if not stated."""
    if data is None:
        return None
    return CudaToolkit(
        versions=tuple(data["versions"]),
        default=data.get("default", ""),
        profile=data["profile"],
        cudnn=data.get("cudnn", ""),
        at=at,
    )


def dcgm(data: Mapping[str, Any] | None, at: Pointer) -> Dcgm | None:
    """Return the DCGM engine of a pool's hosts; None if not stated, then hosts are not changed."""
    return None if data is None else Dcgm(DcgmMode(data["mode"]), data.get("version", ""), at)


def mig_service(data: Mapping[str, Any] | None, at: Pointer) -> MigService | None:
    """Return the stated version of the MIG boot service."""
    return None if data is None else MigService(data["version"], at)


def images(data: Mapping[str, Any]) -> Images:
    """Return where images come from."""
    return Images(
        registry=data.get("registry", ""),
        pull_secrets=tuple(data["pullSecrets"]),
        digests=dict(sorted(data["digests"].items())),
        at=ROOT / "images",
        previous_registries=tuple(data["previousRegistries"]),
    )


def delivery(data: Mapping[str, Any], cluster: str) -> Delivery:
    """Return the settings of the delivery engine."""
    argocd, flux = data["argocd"], data["flux"]
    source = flux.get("sourceRef")
    return Delivery(
        engine=data["engine"],
        repo_url=data.get("repoURL", ""),
        revision=data["revision"],
        path=data.get("path", f"out/{cluster}/kustomize"),
        argocd=ArgoCd(argocd["namespace"], argocd["project"], argocd.get("destination", {})),
        flux=Flux(flux["namespace"], SourceRef(source["kind"], source["name"]) if source else None),
        at=ROOT / "delivery",
    )

"""What a pool's hosts carry: its own settings merged over the defaults of all hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gpugen.components.defaults import fill
from gpugen.hosts.places import DEFAULTS, place_of
from gpugen.model.catalog import DriverBranch, GpuModel
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
from gpugen.model.finding import ROOT, Finding, Pointer
from gpugen.model.host_services import Dcgm, DcgmMode, MigService
from gpugen.model.spec import HostSettings
from gpugen.model.stated import Stated
from gpugen.model.tuning import CudaToolkit, Tuning
from gpugen.resolve.context import Context
from gpugen.resolve.schema import root_schema

_VENDOR = "vendor"  # means the vendor's own repositories
_WHOLE = {"baseURL", "keyFile", "fingerprint"}  # the keys of one repository for everything
_NEEDED = {
    "os": ("operating system", "os: ubuntu-24.04"),
    "driver-version": ("driver version", 'driver: {version: "580.178.04"}'),
    "container-toolkit-version": (
        "container toolkit version",
        'containerToolkit: {version: "1.20.0"}',
    ),
}


def host_settings(context: Context, index: int, gpu: GpuModel | None) -> HostSettings | None:
    """Return the settings of a pool's hosts; each value keeps its place. None: one is missing."""
    defaults = context.stated.get("hostDefaults", {})
    own = context.stated["pools"][index].get("host", {})
    schema = root_schema()
    merged = {
        key: _over(defaults.get(key), own[key]) if key in own else defaults[key]
        for key in sorted({*defaults, *own})
    }
    data = fill({"driver": {}, **merged}, schema["$defs"]["host"], schema)
    where = partial(place_of, Stated(context.stated), ROOT / "pools" / index)
    driver = _driver(context, data["driver"], where, index)
    toolkits = data.get("containerToolkit", {})
    toolkit = toolkits.get("version", "")
    system = data.get("os", "")
    if not system:
        context.missing.setdefault("os", []).append(index)
    if not toolkit:
        context.missing.setdefault("container-toolkit-version", []).append(index)
    row = context.row(context.catalog.operating_system, system, where("os")) if system else None
    if row is None or driver is None or not toolkit or gpu is None:
        return None
    return HostSettings(
        os=row,
        architecture=data.get("architecture", "") or gpu.host_architectures[0],
        driver=driver,
        container_toolkit_version=toolkit,
        repositories=_repositories(
            data.get("repositories"), lambda *key: where("repositories", *key)
        ),
        at=ROOT / "pools" / index / "host" if own else DEFAULTS,
        default_runtime=toolkits.get("defaultRuntime", False),
        further_runtimes=tuple(toolkits.get("furtherRuntimes", ())),
        smoke_test_image=toolkits.get("smokeTestImage", ""),
        tuning=_tuning(data.get("tuning"), where("tuning")),
        cuda_toolkit=_cuda_toolkit(data.get("cudaToolkit"), where("cudaToolkit")),
        dcgm=_dcgm(data.get("dcgm"), where("dcgm")),
        mig_service=_mig_service(data.get("migManager"), where("migManager")),
        allow_kernel_change=data["allowKernelChange"],
    )


def _driver(
    context: Context, data: Mapping[str, Any], where: Callable[..., Pointer], index: int
) -> Driver | None:
    method = DriverMethod(data["method"])
    version = data.get("version", "")
    branch: DriverBranch | None = None
    if version:
        number = int(version.partition(".")[0])
        branch = context.row(context.catalog.driver_branch, number, where("driver", "version"))
        if branch is None:
            return None
    elif method is not DriverMethod.NONE:
        context.missing.setdefault("driver-version", []).append(index)
        return None
    at = where("driver")
    own = data.get("runfile")
    return Driver(
        method=method,
        version=version,
        branch=branch,
        kernel_modules=KernelModules(data["kernelModules"]),
        at=at,
        secure_boot=SecureBoot(data["secureBoot"]),
        in_use=InUse(data["inUse"]),
        activation=Activation(data["activation"]),
        runfile=Runfile(own["url"], own["sha256"], at / "runfile") if own else None,
        graphics=data["graphics"],
    )


def _over(default: Any, own: Any) -> Any:
    """Merge a pool's setting over the default; mappings by key, a repository as a whole."""
    if not isinstance(default, dict) or not isinstance(own, dict) or "baseURL" in {*default, *own}:
        return own
    return {**default, **own}


def _repositories(data: Any, where: Callable[..., Pointer]) -> Repositories:
    if data is None:
        return Repositories()
    if data == _VENDOR or data.keys() >= _WHOLE:
        own = _repository(data, where())
        return Repositories(own, own) if own.is_vendor else Repositories(both=own)
    return Repositories(
        *(
            _repository(data[key], where(key)) if key in data else None
            for key in ("driver", "containerToolkit")
        )
    )


def _repository(data: Any, at: Pointer) -> Repository:
    if data == _VENDOR:
        return Repository(at)
    signs = data.get("signedMetadata", False)
    return Repository(at, data["baseURL"], data["keyFile"], data["fingerprint"], signs)


def _tuning(data: Mapping[str, Any] | None, at: Pointer) -> Tuning | None:
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


def _cuda_toolkit(data: Mapping[str, Any] | None, at: Pointer) -> CudaToolkit | None:
    if data is None:
        return None
    return CudaToolkit(
        versions=tuple(data["versions"]),
        default=data.get("default", ""),
        profile=data["profile"],
        cudnn=data.get("cudnn", ""),
        at=at,
    )


def _dcgm(data: Mapping[str, Any] | None, at: Pointer) -> Dcgm | None:
    return None if data is None else Dcgm(DcgmMode(data["mode"]), data.get("version", ""), at)


def _mig_service(data: Mapping[str, Any] | None, at: Pointer) -> MigService | None:
    return None if data is None else MigService(data["version"], at)


def missing_settings(
    missing: Mapping[str, list[int]], stated: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield the findings about missing host settings, one if all are missing.

    missing: part of a finding's id -> indices of the pools without it.
    """
    if set(missing) == set(_NEEDED) and len({tuple(pools) for pools in missing.values()}) == 1:
        examples = ", ".join(example for _, example in _NEEDED.values())
        what = "operating system, driver version or container toolkit version"
        yield _missing("settings", missing["os"], stated, what, f"{{{examples}}}")
        return
    for what, pools in missing.items():
        words, example = _NEEDED[what]
        yield _missing(what, pools, stated, words, f"{{{example}}}")


def _missing(
    what: str, pools: list[int], stated: Mapping[str, Any], words: str, example: str
) -> Finding:
    names = ", ".join(repr(stated["pools"][i]["name"]) for i in pools[:5])
    many = f"pools {names}{', …' if len(pools) > 5 else ''} have"
    who = many if len(pools) > 1 else f"pool {names} has"
    at = ROOT / "pools" / pools[0]
    if len(pools) == len(stated["pools"]) and "hostDefaults" in stated:
        at = DEFAULTS
    return Finding(
        f"host-missing-{what}",
        f"{who} no {words}, and neither has hostDefaults",
        f"write hostDefaults: {example}, or the same under host: in the pool",
        at,
        at_key=True,
    )

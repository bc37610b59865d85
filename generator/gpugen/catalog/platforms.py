"""Builds records of systems, distributions and releases from rows of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen.catalog.rows import NOTHING, Row
from gpugen.model.platform import (
    Archive,
    CudaRepository,
    Distribution,
    Features,
    Image,
    KubernetesMinor,
    MainScheduler,
    OperatingSystem,
    Release,
    RootVersion,
    Runtime,
    VersionRange,
)


def operating_system(id: str, row: Row) -> OperatingSystem:
    """Build a host system."""
    cuda, archive = row.get("cudaRepository"), row.get("archive")
    return OperatingSystem(
        id=id,
        family=row["family"],
        is_supported=row["isSupported"],
        reason=row.get("reason", ""),
        is_dnf=row.get("packageModule") == "dnf",
        headers=tuple(row.get("headers", ())),
        cuda_repository=cuda
        and CudaRepository(cuda["folder"], tuple(cuda["architectures"]), cuda.get("key", "")),
        driver_packages=row.get("driverPackages", ""),
        min_branch=row.get("minBranch"),
        max_branch=row.get("maxBranch"),
        archive=archive and Archive(archive["packages"], tuple(archive.get("branches", ()))),
        has_module_streams=row.get("moduleStreams", False),
        is_listed_for_dcgm4=row.get("isListedForDcgm4"),
        is_override="override" in row,
    )


def distribution(id: str, row: Row) -> Distribution:
    """Build a Kubernetes distribution."""
    scheduler: Mapping[str, Any] = row.get("scheduler", NOTHING)
    main = scheduler.get("main")
    return Distribution(
        id=id,
        is_supported=row["isSupported"],
        reason=row.get("reason", ""),
        host_half=row["hostHalf"],
        kubelet_root=row["kubeletRoot"],
        kubelet_unit=row.get("kubeletUnit", ""),
        has_runtime_class=row["bringsRuntimeClass"],
        detects_nvidia=row["detectsNvidia"],
        runtime=_runtime(row["runtime"]),
        registration=row.get("registration", ""),
        registration_file=row.get("registrationFile", ""),
        kubectl=row["kubectl"],
        kubeconfig=row["kubeconfig"],
        scheduler_kubeconfig=scheduler.get("kubeconfig", ""),
        main_scheduler=main and _main_scheduler(main),
        instead_of_main=scheduler.get("instead", ""),
        is_override="override" in row,
    )


def _runtime(row: Row) -> Runtime:
    return Runtime(
        is_bundled=row["bundled"],
        name=row["name"],
        config_file=row["configFile"],
        drop_in_folder=row.get("dropInFolder", ""),
        merged_file=row.get("mergedFile", ""),
        default_file=row.get("defaultFile", ""),
        units=tuple(row["units"]),
        socket=row["socket"],
        client=tuple(row.get("client", ())),
        root_versions=tuple(
            RootVersion(_range(entry.get("minors", NOTHING)), int(entry["declares"]))
            for entry in row.get("rootVersion", ())
        ),
    )


def _range(row: Row) -> VersionRange:
    return VersionRange(row.get("from", ""), row.get("to", ""))


def _main_scheduler(row: Row) -> MainScheduler:
    return MainScheduler(
        mode=row["mode"],
        file=row["file"],
        flag_file=row["flagFile"],
        patch_folder=row.get("patchFolder", ""),
        lines=row.get("lines", ""),
        unit=row.get("unit", ""),
        interrupts=row.get("interrupts", ""),
        in_process=row.get("inProcess", ""),
    )


def release(id: str, row: Row) -> Release:
    """Build a release."""
    return Release(
        id=id,
        images={
            name: Image(image["repository"], image.get("tag", ""), image.get("digest", ""))
            for name, image in row["images"].items()
        },
        scheduler_tags=row["schedulerTags"],
        scheduler_digests=row.get("schedulerDigests", NOTHING),
        features=_features(row.get("features", NOTHING)),
        is_override="override" in row,
    )


def _features(row: Row) -> Features:
    return Features(
        agent_policy=row.get("agentPolicy", False),
        network_policies=row.get("networkPolicies", False),
        packages=row.get("packages", "complete"),
        requests_and_limits=row.get("requestsAndLimits", False),
    )


def kubernetes(id: str, row: Row) -> KubernetesMinor:
    """Build a minor version of Kubernetes."""
    return KubernetesMinor(
        id=id,
        status=row["status"],
        is_supported=row["isSupported"],
        reason=row.get("reason", ""),
        end_of_life=row.get("endOfLife", ""),
    )

"""The starter repository: text templates and their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpugen.catalog import Catalog
from gpugen.catalog.packages import fetch_command, vendor_sources
from gpugen.model.catalog import DriverBranch, GpuModel
from gpugen.text import templates
from gpugen.text.versions import parts

SYSTEM = "ubuntu-24.04"
FILES = {
    "inventories/{cluster}/cluster.yaml": "cluster.yaml.j2",
    ".gitattributes": "gitattributes.j2",
}
INSTALLING = {  # files that install gpugen
    ".pre-commit-config.yaml": "pre-commit.yaml.j2",
    ".github/workflows/gpugen.yaml": "workflow.yaml.j2",
}


class Starter(NamedTuple):
    """The values of the templates."""

    cluster: str
    pool: str
    model: str
    gpu_count: int
    hosts: str
    release: str
    kubernetes: str
    distribution: str
    system: str
    driver: str
    toolkit: str
    requirement: str  # by which pip finds gpugen; empty: nothing installs it
    key_commands: tuple[str, ...]  # that fetch the keys of the vendor's repositories


def starter(
    catalog: Catalog, cluster: str, model: str, count: int, hosts: str, requirement: str = ""
) -> Starter:
    """Return a starter with the current versions of the catalogue."""
    minors = [minor.id for minor in catalog.kubernetes_minors() if minor.is_supported]
    return Starter(
        cluster=cluster,
        pool=model.partition("-")[0],
        model=model,
        gpu_count=count,
        hosts=hosts,
        release=catalog.ids("releases")[-1],
        kubernetes=minors[-2],  # the newest is rarely what clusters run
        distribution="kubeadm",
        system=SYSTEM,
        driver=_driver(catalog, model).latest_known,
        toolkit=str(catalog.container_toolkit()["latest"]),
        requirement=requirement,
        key_commands=_key_commands(catalog, catalog.gpu(model)),
    )


def _key_commands(catalog: Catalog, gpu: GpuModel) -> tuple[str, ...]:
    sources = vendor_sources(catalog.operating_system(SYSTEM), gpu.host_architectures[0])
    return tuple(fetch_command(source) for source in sources if source.fingerprint)


def _driver(catalog: Catalog, model: str) -> DriverBranch:
    """Return the driver branch to start with: long-term, supported, and fit for the GPU model."""
    gpu = catalog.gpu(model)
    floor = parts(gpu.min_driver or str(gpu.min_branch or 0))
    fitting = [
        branch
        for branch in catalog.driver_branches()
        if branch.is_supported
        and gpu.architecture in branch.architectures
        and parts(branch.latest_known) >= floor
    ]
    return next((b for b in fitting if b.kind == "LTS"), fitting[-1])


def files(values: Starter) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of the starter repository.

    Without a requirement there are none that install gpugen: a bare name would install whatever
    somebody else gives that name on a package index.
    """
    chosen = {**FILES, **INSTALLING} if values.requirement else FILES
    for path, template in chosen.items():
        text = templates.render(f"cli/starter/{template}", values)
        yield path.format(cluster=values.cluster), text

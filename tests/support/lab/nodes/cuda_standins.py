"""Stand-ins of CUDA toolkits and cuDNN: real names, a few of their many parts, and one trap."""

from __future__ import annotations

from collections.abc import Iterator

from support.lab.nodes import rpm
from support.lab.nodes.deb import Package

TOOLKITS = {"12.9": ("12.9.1-1", "12.9.86-1"), "13.0": ("13.0.1-1", "13.0.48-1")}
CUDNNS = ("9.12.0.46-1", "9.13.0.50-1", "9.14.0.64-1")  # the last is what pins keep away
# CUDA 12.8's compiler drags a driver in, as only a broken repository would.
TRAP = "12.8"


def packages() -> Iterator[Package]:
    """Yield what the repository offers."""
    yield Package("cuda-toolkit-config-common", "13.0.48-1")
    for minor, (version, part) in TOOLKITS.items():
        yield from toolkit(minor, version, part)
    yield from toolkit(TRAP, "12.8.1-1", "12.8.93-1", "cuda-drivers")
    for major in ("12", "13"):
        for version in CUDNNS:
            yield from cudnn(major, version)


def toolkit(minor: str, version: str, part: str, trap: str = "") -> Iterator[Package]:
    """Yield one toolkit: its meta package, its compiler and a library of it."""
    end = minor.replace(".", "-")
    home = f"usr/local/cuda-{minor}"
    needs = f"cuda-nvcc-{end} (>= {part}), cuda-cudart-{end} (>= {part})"
    yield Package(f"cuda-toolkit-{end}", version, needs)
    yield Package(
        f"cuda-nvcc-{end}",
        part,
        f"cuda-toolkit-config-common{', ' + trap if trap else ''}",
        {f"{home}/bin/nvcc": f"#!/bin/sh\necho 'Cuda compilation tools, release {minor}'\n"},
    )
    # The toolkit's own registration, which moves the link to the newest that is installed.
    choose = f"--install /usr/local/cuda cuda /{home} {minor.replace('.', '')}"
    yield Package(
        f"cuda-cudart-{end}",
        part,
        "cuda-toolkit-config-common",
        {f"{home}/lib64/libcudart.so": "stand-in\n"},
        {
            "postinst": f"update-alternatives --quiet {choose}",
            "prerm": f"update-alternatives --quiet --remove cuda /{home}",
        },
    )


def cudnn(major: str, version: str) -> Iterator[Package]:
    """Yield cuDNN for one CUDA major; its parts are free to be newer than what names them."""
    end = f"cuda-{major}"
    yield Package(f"cudnn9-{end}", version, f"libcudnn9-{end} (>= {version})")
    yield Package(f"libcudnn9-{end}", version)


def rpms() -> Iterator[rpm.Package]:
    """Yield what the repositories of Enterprise Linux offer: one toolkit, and the trap."""
    for minor, driver in (("13.0", []), (TRAP, ["cuda-drivers-580"])):
        end = minor.replace(".", "-")
        home = f"usr/local/cuda-{minor}"
        compiler = {f"{home}/bin/nvcc": f"#!/bin/sh\necho release {minor}\n"}
        yield rpm.Package(f"cuda-toolkit-{end}", f"{minor}.1", requires=[f"cuda-nvcc-{end}"])
        yield rpm.Package(f"cuda-nvcc-{end}", f"{minor}.48", requires=driver, files=compiler)
    yield rpm.Package("cuda-drivers-580", "580.105.08")
    for version in CUDNNS:
        number = version.partition("-")[0]
        needs = [f"libcudnn9-cuda-13 = {number}"]
        yield rpm.Package("cudnn9-cuda-13", number, requires=needs)
        yield rpm.Package("libcudnn9-cuda-13", number)

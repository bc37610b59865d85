"""Kernel modules that DKMS really builds, with headers and without (PRE-04, DRV-12).

Debian's driver and Debian's kernel: what DKMS says of it is read by the role.
GPUGEN_LAB_MODULES=all builds all five modules; by default the first alone, a third of the work.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import pytest

from gpugen.hosts.decisions import load
from support.lab.nodes import base, workshop
from support.lab.nodes.fixtures import missing, unmet
from support.wanted import wanted as every

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.slow,
    pytest.mark.xdist_group(__name__),
]

ALL = ("nvidia-uvm", "nvidia-modeset", "nvidia-drm", "nvidia-peermem")
ONE = f"""
sed -i -e "/^[A-Z_]*\\[[1-4]\\]=/d" \\
  -e "s/env NV_VERBOSE=1/& NV_EXCLUDE_KERNEL_MODULES='{" ".join(ALL)}'/" /usr/src/nvidia-*/dkms.conf
"""
INSTALL = "apt-get -qq -y install {}/{}/*.deb >/tmp/log 2>&1 || {{ tail -30 /tmp/log; exit 1; }}\n"
LOOK = """
echo "@ $(dkms status -k "$kernel")"
find /lib/modules -name 'nvidia*.ko*' 2>/dev/null || true
"""
KERNEL = f"""
kernel=$(basename {workshop.PACKAGES}/{workshop.HEADERS}/linux-headers-*-amd64_*_amd64.deb)
kernel=${{kernel#linux-headers-}} kernel=${{kernel%%_*}}
echo "@ $kernel"
"""


@dataclass(frozen=True)
class Build:
    """What DKMS said, and the modules that there were, before headers came and after."""

    kernel: str
    status: tuple[str, str]
    modules: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def version(self) -> str:
        """The driver's version."""
        return re.findall(r"/([0-9.]+)", self.status[0])[0]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Install the driver without headers, then the headers, and look each time."""
    if needs := unmet():
        missing(needs)
    try:
        workshop.tree()
    except base.UnavailableError as problem:
        missing(str(problem))
    scope = "" if os.environ.get("GPUGEN_LAB_MODULES") == "all" else ONE
    driver, headers = (
        INSTALL.format(workshop.PACKAGES, name) for name in (workshop.DRIVER, workshop.HEADERS)
    )
    script = KERNEL + driver + LOOK + scope + headers + LOOK
    told = workshop.run(script, tmp_path_factory.mktemp("workshop"))
    kernel, before, after = (part.strip().splitlines() for part in told.split("@ ")[1:])
    return Build(
        kernel[0],
        ("\n".join(x for x in before if "/lib/" not in x), after[0]),
        (
            tuple(x for x in before if x.startswith("/lib/modules")),
            tuple(x for x in after if x.startswith("/lib/modules")),
        ),
    )


def is_built(build: Build, status: str) -> bool:
    """Return whether the role has nothing to build after a text of DKMS."""
    own = {"nvidia_driver_version": build.version, "nvidia_driver_expected_gpus": 1}
    variables = {**every(), **own, "nvidia_driver_packages": ["nvidia-driver"]}
    seen = load("nvidia_driver").described(variables)
    said = {"dkms": status, "kernel": build.kernel}
    seen["commands"] |= {name: {"rc": 0, "out": out, "err": ""} for name, out in said.items()}
    return not load("nvidia_driver").decide(seen, variables)["dkms_due"]


def test_without_headers_the_packages_install_and_nothing_is_built(build: Build) -> None:
    """PRE-04, DRV-12: apt is content, and only DKMS tells."""
    assert build.status[0].endswith(": added")
    assert build.modules[0] == ()
    assert is_built(build, build.status[0]) is False


def test_with_headers_the_modules_are_there(build: Build) -> None:
    """DRV-12: the modules of this kernel."""
    assert build.status[1].endswith(": installed")
    assert build.kernel in build.status[1]
    assert f"/lib/modules/{build.kernel}/updates/dkms/nvidia-current.ko" in build.modules[1]
    assert is_built(build, build.status[1]) is True


def test_modules_of_another_kernel_do_not_count(build: Build) -> None:
    """DRV-12: a kernel that was updated needs modules of its own."""
    other = Build("6.1.0-999-amd64", build.status, build.modules)
    assert is_built(other, build.status[1]) is False

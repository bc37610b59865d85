"""Kernel modules that DKMS really builds, with headers and without (PRE-04, DRV-12).

Debian's driver and Debian's kernel: what DKMS says of it is read by the role's own variable.
GPUGEN_LAB_MODULES=all builds all five modules; by default the first alone, a third of the work.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import ROOT
from support.lab.nodes import base, workshop
from support.lab.nodes.fixtures import missing, unmet

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.slow,
    pytest.mark.xdist_group(__name__),
]

VARIABLES = ROOT / "roles" / "nvidia_driver" / "vars" / "main"
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


def is_built(build: Build, status: str, folder: Path) -> bool:
    """Return what the role thinks of a text of DKMS."""
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": {
                "nvidia_driver_version": build.version,
                "__nvidia_driver_kernel": build.kernel,
                "__nvidia_driver_seen": {"commands": {"dkms": {"out": status}}},
            },
            "tasks": [
                {"ansible.builtin.include_vars": {"file": str(VARIABLES / "state.yml")}},
                {"ansible.builtin.debug": {"msg": "built={{ __nvidia_driver_is_built | bool }}"}},
            ],
        }
    ]
    (folder / "play.yml").write_text(json.dumps(play))
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", "-c", "local"]
    done = subprocess.run(
        [*command, "play.yml"],
        cwd=folder,
        env={**os.environ, "ANSIBLE_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return "built=True" in done.stdout


def test_without_headers_the_packages_install_and_nothing_is_built(
    build: Build, tmp_path: Path
) -> None:
    """PRE-04, DRV-12: apt is content, and only DKMS tells."""
    assert build.status[0].endswith(": added")
    assert build.modules[0] == ()
    assert is_built(build, build.status[0], tmp_path) is False


def test_with_headers_the_modules_are_there(build: Build, tmp_path: Path) -> None:
    """DRV-12: the modules of this kernel."""
    assert build.status[1].endswith(": installed")
    assert build.kernel in build.status[1]
    assert f"/lib/modules/{build.kernel}/updates/dkms/nvidia-current.ko" in build.modules[1]
    assert is_built(build, build.status[1], tmp_path) is True


def test_modules_of_another_kernel_do_not_count(build: Build, tmp_path: Path) -> None:
    """DRV-12: a kernel that was updated needs modules of its own."""
    other = Build("6.1.0-999-amd64", build.status, build.modules)
    assert is_built(other, build.status[1], tmp_path) is False

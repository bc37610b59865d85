"""A Debian tree with the real DKMS, a compiler, and packages of a real driver and real headers.

Nothing boots: the kernel whose headers these are does not run here, and no module is loaded.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.lab.nodes import base
from support.upstream import cache

SCRIPT = Path(__file__).parent / "files" / "build-in"
COMPONENTS = "main contrib non-free non-free-firmware"
DRIVER, HEADERS = "nvidia-kernel-dkms", "linux-headers-amd64"
PACKAGES = "/srv/packages"  # in the tree: what DRIVER and HEADERS need, not installed
FETCH = """
fetch() {
	rm -f "$1"/var/cache/apt/archives/*.deb
	chroot "$1" apt-get -qq -y --download-only -o APT::Keep-Downloaded-Packages=true install "$2"
	mkdir -p "$1/srv/packages/$2"
	mv "$1"/var/cache/apt/archives/*.deb "$1/srv/packages/$2/"
}
"""
TIME = 900  # seconds


def tree() -> Path:
    """Return the tree, made if it is not in the cache. Raises UnavailableError."""
    key = cache.digest([base.SUITE, base.MIRROR, COMPONENTS, DRIVER, HEADERS, FETCH])
    target = cache.root().parent / "hosts" / f"workshop-{key}"
    if not target.is_dir():
        cache.install(target, _make)
    return target


def run(script: str, point: Path) -> str:
    """Run a script as root of a new overlay on the tree and return what it prints.

    point: an empty folder.
    """
    command = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"]
    done = subprocess.run(
        [*command, "sh", SCRIPT, tree(), point, script],
        capture_output=True,
        text=True,
        timeout=TIME,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _make(folder: Path) -> None:
    command = [
        *("mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--format=directory"),
        *("--aptopt=Acquire::Languages none", "--aptopt=APT::Install-Recommends false"),
        *(f"--components={COMPONENTS}", "--include=dkms,kmod"),
        *(f'--customize-hook={FETCH} fetch "$1" {name}' for name in (DRIVER, HEADERS)),
        *(base.SUITE, str(folder), base.MIRROR),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIME)
    except subprocess.CalledProcessError as problem:
        raise base.UnavailableError(f"mmdebstrap: {problem.stderr.strip()[-600:]}") from problem

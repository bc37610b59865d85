"""The file tree that every node starts from, and containerd of other Debian suites.

Both lie in the cache outside the checkout, keyed by what made them, and are made only once.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.upstream import cache


def first_mirror() -> str:
    """Return where this machine gets its packages from; empty where it is no Debian."""
    places = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    text = "".join(p.read_text(errors="replace") for p in places if p.is_file())
    return next(iter(re.findall(r"https?://\S+/debian/?(?=\s|$)", text)), "").rstrip("/")


SUITE = "bookworm"
MIRROR = os.environ.get("GPUGEN_DEBIAN_MIRROR", "") or first_mirror()
ARCHIVE_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
USER = "ops"
COMMON = (
    *("ca-certificates", "containerd", "dbus", "gnupg", "iproute2", "kmod", "openssh-server"),
    *("procps", "python3", "runc", "sudo", "systemd", "systemd-sysv", "udev"),
)
SERVICES = ("ssh", "systemd-networkd", "containerd")
MASKED = (  # work that a node of the lab has no use for
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer"),
    *("e2scrub_all.timer", "systemd-networkd-wait-online.service", "getty.target"),
    "systemd-timesyncd.service",
)
FILES = {
    "etc/apt/sources.list": "",
    "etc/sudoers.d/ops": f"{USER} ALL=(ALL) NOPASSWD: ALL\n",
    "etc/ssh/sshd_config.d/lab.conf": (
        "HostKey /etc/ssh/ssh_host_ed25519_key\nAuthorizedKeysFile /etc/ssh/lab_authorized_keys\n"
        "UseDNS no\nMaxStartups 100\n"
    ),
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=volatile\n",
    "etc/dpkg/dpkg.cfg.d/lab": "force-unsafe-io\n",
}
CONTAINERD_SUITES = {"1.6": "bookworm", "1.7": "trixie", "2": "forky"}  # forky moves on
DOCKER_SUITE = "trixie"  # the first whose dockerd checks its file without running
TIME = 900  # seconds that a slow mirror may take


class UnavailableError(Exception):
    """The packages cannot be had here; the message says what was tried."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a base tree has beside what all have, and what is taken away at the end.

    files: path below the root -> content; suite: of Debian.
    """

    name: str
    packages: tuple[str, ...]
    files: Mapping[str, str]
    without: tuple[str, ...] = ()
    suite: str = SUITE

    @property
    def digest(self) -> str:
        """Return what tells this tree from those made otherwise."""
        files = {**FILES, **self.files}.items()
        parts = [
            self.suite,
            MIRROR,
            USER,
            *COMMON,
            *self.packages,
            *SERVICES,
            *MASKED,
            *self.without,
        ]
        return cache.digest([*parts, *(x for pair in files for x in pair)])


DEBIAN = Kind("base", ("python3-apt",), {})
DEBIAN_13 = Kind("base", ("python3-apt",), {}, suite="trixie")


def tree(kind: Kind = DEBIAN) -> Path:
    """Return a base tree, made if it is not in the cache."""
    target = _root() / f"{kind.name}-{kind.digest}"
    if target.is_dir() and not _is_whole(target):
        shutil.rmtree(target)
    if not target.is_dir():
        cache.install(target, lambda folder: _make_tree(folder, kind))
    return target


def _is_whole(folder: Path) -> bool:
    """Tell whether nobody changed owners since, which takes the set-user-id bits away too."""
    has_bit = bool((folder / "usr/bin/sudo").stat().st_mode & stat.S_ISUID)
    return has_bit and (folder / "home" / USER).stat().st_uid != 0


def containerd(minor: str) -> Path:
    """Return a folder with ``usr/bin``, containerd's programs of another suite and no more.

    minor: a key of CONTAINERD_SUITES. Raises UnavailableError: the suite has another one now.
    """
    suite = CONTAINERD_SUITES[minor]
    target = _root() / f"containerd-{suite}-{cache.digest([MIRROR, suite])}"
    if not target.is_dir():
        cache.install(target, lambda folder: _fetch("containerd", suite, folder))
    program = [str(target / "usr/bin/containerd"), "--version"]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    if f" {minor}." not in said:
        raise UnavailableError(f"{suite} has no containerd {minor}: {said.strip()}")
    return target


def docker() -> Path:
    """Return a folder with ``usr/sbin/dockerd`` of DOCKER_SUITE and no more.

    Raises UnavailableError: it does not run here.
    """
    target = _root() / f"docker-{DOCKER_SUITE}-{cache.digest([MIRROR, DOCKER_SUITE])}"
    if not target.is_dir():
        cache.install(target, lambda folder: _fetch("docker.io", DOCKER_SUITE, folder))
    _run(str(target / "usr/sbin/dockerd"), "--version")
    return target


def _root() -> Path:
    return cache.root().parent / "hosts"


def _make_tree(folder: Path, kind: Kind) -> None:
    include = ",".join((*COMMON, *kind.packages))
    hooks = [
        f'chroot "$1" useradd --create-home --shell /bin/bash {USER}',
        'rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/machine-id',
        'rm -rf "$1"/var/lib/apt/lists/*',
        f'systemctl --quiet --root="$1" enable {" ".join(SERVICES)}',
        f'systemctl --quiet --root="$1" mask {" ".join(MASKED)}',
    ]
    _run(
        "mmdebstrap",
        *("--quiet", "--mode=root", "--variant=apt", "--format=directory"),
        *("--aptopt=Acquire::Languages none", f"--include={include}"),
        *(f"--customize-hook={hook}" for hook in hooks),
        *(kind.suite, str(folder), MIRROR),
    )
    for path in kind.without:
        (folder / path).unlink()
    for path, content in {**FILES, **kind.files}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def _fetch(package: str, suite: str, folder: Path) -> None:
    work = folder / "work"
    for name in ("state/lists/partial", "cache/archives/partial", "etc"):
        (work / name).mkdir(parents=True)
    (work / "sources.list").write_text(f"deb [signed-by={ARCHIVE_KEYS}] {MIRROR} {suite} main\n")
    options = {
        "Dir::Etc::SourceList": work / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State": work / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": work / "cache",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",
    }
    flags = [f"--option={name}={value}" for name, value in options.items()]
    _run("apt-get", "-qq", *flags, "update")
    _run("apt-get", "-qq", *flags, "download", package, folder=work)
    (file,) = work.glob(f"{package}_*.deb")
    _run("dpkg-deb", "--extract", str(file), str(work / "tree"))
    shutil.move(work / "tree/usr", folder / "usr")
    for path in set((folder / "usr").iterdir()) - {folder / "usr/bin", folder / "usr/sbin"}:
        shutil.rmtree(path)  # programs alone: units and configuration are the node's
    shutil.rmtree(work)


def _run(program: str, *arguments: str, folder: Path | None = None) -> None:
    command: Sequence[str] = [program, *arguments]
    environment: Mapping[str, str] = {"LC_ALL": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    try:
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=TIME,
        )
    except FileNotFoundError as problem:
        raise UnavailableError(f"there is no {program}") from problem
    except subprocess.CalledProcessError as problem:
        raise UnavailableError(f"{program}: {problem.stderr.strip()[-600:]}") from problem
    except subprocess.TimeoutExpired as problem:
        raise UnavailableError(f"{program} took longer than {TIME} s") from problem

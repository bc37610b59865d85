"""A root file system of its own, in a mount namespace of its own, for programs of a GPU node.

They find the mock of NVML, the files of /proc and /sys that a driver would make, and the folders
that a kubelet would have, all on a tmpfs; the machine below is left as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

SCRIPT = Path(__file__).parent / "stubs" / "make-root.sh"
STUBS = ("nvidia-smi", "nvidia-cuda-mps-control")
PATIENCE = 60  # seconds; programs answer within one


class NoSandboxError(Exception):
    """This machine does not allow mount namespaces; the message says what was tried."""


class Sandbox:
    """One namespace, held by a process that ends with it."""

    def __init__(self, programs: Mapping[str, Path], library: Path) -> None:
        """Make the root. programs: name -> file, found below /lab/bin there.

        Raises NoSandboxError: neither root nor an unprivileged user may make one here.
        """
        self._mount_point = tempfile.mkdtemp(prefix="gpugen-lab-")
        self._holder, self._enter = self._hold(programs, library)
        self.root = Path(f"/proc/{self._holder.pid}/root")

    def _hold(
        self, programs: Mapping[str, Path], library: Path
    ) -> tuple[subprocess.Popen[str], list[str]]:
        stubs = {name: SCRIPT.parent / name for name in STUBS}
        files = [f"{name}={path}" for name, path in {**programs, **stubs}.items()]
        refusals = []
        for flags, entry in ((["--mount"], []), (["--user", "--map-root-user", "--mount"], ["-U"])):
            holder = subprocess.Popen(
                [
                    *(_tool("unshare"), *flags, "/bin/sh", str(SCRIPT)),
                    *(self._mount_point, str(library), *files),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert holder.stdout is not None
            if holder.stdout.readline() == "ready\n":
                credentials = ["--preserve-credentials"] if entry else []
                target = ["--target", str(holder.pid), "--mount", "--root", "--wd", *entry]
                return holder, [_tool("nsenter"), *target, *credentials, "--"]
            refusals.append(holder.communicate()[1].strip())
        Path(self._mount_point).rmdir()
        raise NoSandboxError("; ".join(refusals))

    def path(self, inside: str) -> Path:
        """Return where a file of the sandbox is seen from outside."""
        return self.root / inside.removeprefix("/")

    def write(self, inside: str, content: str | bytes) -> None:
        """Write a file in the sandbox, and its folders."""
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def start(
        self,
        command: list[str],
        environment: Mapping[str, str] | None = None,
        *,
        source: int = subprocess.DEVNULL,
        log: IO[str] | int = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """Start a program of /lab/bin; its output is piped, its complaints go to the log."""
        return subprocess.Popen(
            [*self._enter, f"/lab/bin/{command[0]}", *command[1:]],
            env={**ENVIRONMENT, **(environment or {})},
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def run(
        self, command: list[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of /lab/bin to its end and return what it said."""
        process = self.start(command, environment)
        output, complaints = process.communicate(timeout=PATIENCE)
        assert_played(complaints)
        return subprocess.CompletedProcess(command, process.returncode, output, complaints)

    def close(self) -> None:
        """End the namespace, and with it everything in it."""
        self._holder.communicate(timeout=PATIENCE)
        Path(self._mount_point).rmdir()


ENVIRONMENT = {
    "PATH": "/lab/bin:/usr/bin:/bin",
    "LD_LIBRARY_PATH": "/lab/lib",
    "MOCK_NVML_NODE": "/lab/node",
    "MOCK_NVML_STATE": "/lab/state",
    "GOMAXPROCS": "2",
}


FAULTS = (
    "mock of NVML:",
    "undefined symbol",
)  # the second: from the loader, for a missing function


def assert_played(complaints: str) -> None:
    """Fail where a program asked the mock for what it does not play: that is no verdict."""
    faults = [line for line in complaints.splitlines() if any(f in line for f in FAULTS)]
    assert not faults, "\n".join(faults)


def _tool(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/bin:/usr/sbin:/bin:/sbin")
    if found is None:
        raise NoSandboxError(f"there is no {name} (util-linux)")
    return found

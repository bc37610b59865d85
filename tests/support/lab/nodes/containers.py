"""Machines whose containerd really starts containers, with NVIDIA's own runtime and a mock of NVML.

Real: containerd, runc, nvidia-container-runtime and its hooks. Played: the GPUs, by the mock and by
device files without a driver, and nvidia-smi, which counts these files.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from gpugen.catalog import Catalog
from support.lab import models
from support.lab import node as nodes
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.standins import FILES, text

SOURCE = "Types: deb\nURIs: http://10.77.0.1:8080/debian12/x86_64/\nSuites: /\nTrusted: yes\n"
PLAYED = "/run/lab-gpus"  # what the mock reads
PORT = 5000
REGISTRY = f"localhost:{PORT}"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
CUDA = f"/{LIBRARIES}/libcuda.so.{nodes.SOME_DRIVER}"
REGISTRIES = f"etc/containerd/certs.d/{REGISTRY}/hosts.toml"
# An overlay cannot lie on the overlay that a node's root is.
TABLE = "lab /var/lib/containerd tmpfs mode=711 0 0\n"
ENVIRONMENT = f"""\
[Service]
Environment=MOCK_NVML_NODE={PLAYED} MOCK_NVML_STATE=/dev/null
"""
# What a node of the lab may not write, runc must: the control groups of its containers.
OPEN = """
for place in /sys/fs/cgroup /sys/fs/cgroup/*; do
  mountpoint -q "$place" || continue
  mount -o remount,bind,rw "$place"
done
"""
CLOSE = """
for name in k8s.io gpugen; do
  find /sys/fs/cgroup -depth -type d \\( -name "$name" -o -path "*/$name/*" \\) -exec rmdir {} +
done
"""
SERVE = f"""
systemd-run --quiet --unit=lab-registry python3 /usr/local/libexec/registry /srv/lab/image {PORT}
for try in $(seq 50); do
  python3 -c 'import socket; socket.create_connection(("127.0.0.1", {PORT}))' && exit
  sleep 0.1
done 2>/dev/null
exit 1
"""


def program(folder: Path) -> Path:
    """Compile the stand-in of nvidia-smi into a folder, without libraries."""
    source, target = FILES / "containers" / "nvidia-smi.c", folder / "nvidia-smi"
    command = ["gcc", "-O1", "-Wall", "-Werror", "-static", "-o", target, source]
    subprocess.run(command, check=True, timeout=120)
    return target


def layer(
    folder: Path, programs: dict[str, Path], mock: Path, smi: Path, containerd: Path | None
) -> Path:
    """Make a tree with the programs, to be laid over the base tree.

    programs: by name. mock: the library. containerd: a folder with another version's programs.
    """
    if containerd is not None:
        shutil.copytree(containerd, folder)
    places = {f"usr/local/libexec/{name}": path for name, path in programs.items()}
    places["usr/bin/nvidia-smi"] = smi
    places[f"{LIBRARIES}/{mock.name}"] = mock
    places[CUDA[1:]] = mock  # by which the toolkit finds the driver's files
    for place, source in places.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / place)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return folder


def machine(tree: Path) -> Machine:
    """Return a machine that can start containers once start() was called."""
    return Machine(
        layer=tree,
        files={
            "etc/apt/sources.list.d/lab.sources": SOURCE,
            "etc/fstab": TABLE,
            "etc/systemd/system/containerd.service.d/lab.conf": ENVIRONMENT,
            REGISTRIES: f'server = "http://{REGISTRY}"\n',
            "usr/local/libexec/registry": text("containers/registry"),
        },
    )


def start(node: Node, gpus: int) -> None:
    """Let a booted node start containers and reach its registry, and give it GPUs."""
    node.sh(OPEN)
    node.sh(f"ldconfig; mknod /dev/nvidiactl c 195 255; {SERVE}")
    play(node, gpus)


def play(node: Node, gpus: int) -> None:
    """Give a node as many GPUs as the kernel and NVML shall show."""
    played = models.played(Catalog().gpu("a100-sxm4-40gb"))
    node.sh(f"cat >{PLAYED}", text=nodes.text_of(nodes.Node(played, gpus)))
    numbers = " ".join(map(str, range(gpus)))
    node.sh(f"rm -f /dev/nvidia[0-9]; for n in {numbers}; do mknod /dev/nvidia$n c 195 $n; done")


def stop(node: Node) -> None:
    """Take away the control groups that containerd leaves, which outlive a node."""
    node.sh(CLOSE)

"""What a node needs to have GPUs with MIG: the real mig-parted, and a mock of NVML."""

from __future__ import annotations

import shutil
from pathlib import Path

from gpugen.catalog import Catalog
from support import ROOT
from support.lab import models, node

FOLDER = "srv/lab/mig"  # in the node
STATE = "/run/lab-mig/gpus"  # on a temporary file system: instances do not survive a reboot
NVIDIA_SMI = ROOT / "tests/support/lab" / "stubs" / "nvidia-smi"


def layer(folder: Path, program: Path, library: Path, model: str, count: int) -> Path:
    """Make a tree with a node's GPUs, to be laid over the base tree."""
    own = folder / FOLDER
    (own / "bin").mkdir(parents=True)
    shutil.copy(program, own / "mig-parted")
    shutil.copy(library, own / library.name)
    shutil.copy(NVIDIA_SMI, own / "bin" / "nvidia-smi")
    played = models.played(Catalog().gpu(model))
    (own / "node").write_text(node.text_of(node.Node(played, count)), encoding="utf-8")
    device = played.gpu.pci_devices[0].lower()
    for index in range(1, count + 1):
        place = own / "devices" / f"0000:{index:02x}:00.0"
        place.mkdir(parents=True)
        facts = {"vendor": "0x10de", "device": f"0x{device}", "class": "0x030200"}
        facts |= {"numa_node": "0", "resource": "0x0 0x0 0x0"}
        for name, value in facts.items():
            (place / name).write_text(f"{value}\n", encoding="utf-8")
        (place / "config").write_bytes(bytes(256))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return folder

"""The files of a node: what the mock of NVML reads, and what the kernel would show of its GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpugen.model.catalog import MigGeometry
from gpugen.model.spec import NodePool
from support.lab.models import PlayedGpu
from support.lab.sandbox import Sandbox

ENGINES = {  # of the mock, in its order -> names in the catalogue
    "copy": (),
    "decoder": ("nvdec",),
    "encoder": ("nvenc",),
    "jpeg": ("jpeg", "media_ext"),  # media extensions: JPEG and OFA, which go together
    "ofa": ("ofa", "media_ext"),
}
PROFILES = (  # in the order of NVML_GPU_INSTANCE_PROFILE_*; nvml.h of NVIDIA/go-nvml v0.13.4
    *("1_SLICE", "2_SLICE", "3_SLICE", "4_SLICE", "7_SLICE", "8_SLICE", "6_SLICE"),
    *("1_SLICE_REV1", "2_SLICE_REV1", "1_SLICE_REV2"),
    *("1_SLICE_GFX", "2_SLICE_GFX", "4_SLICE_GFX", "1_SLICE_NO_ME", "2_SLICE_NO_ME"),
    *("1_SLICE_ALL_ME", "2_SLICE_ALL_ME", "3_SLICE_GFX"),
)
SWITCHED = {"switch", "switch-or-direct", "switch5"}  # switches in the node: a fabric without name
UNLIMITED = 99
SOME_DRIVER, SOME_CUDA = "580.178.04", "13.0"  # where the spec leaves the driver to the host


@dataclass(frozen=True, slots=True)
class Node:
    """One node: GPUs of one model, with one driver."""

    played: PlayedGpu
    gpu_count: int
    driver: str = SOME_DRIVER
    cuda: str = SOME_CUDA


def node_of(pool: NodePool, played: PlayedGpu) -> Node:
    """Return a node of a pool, with that form of its GPU model."""
    driver = pool.host.driver
    cuda = driver.branch.cuda if driver.branch and driver.branch.cuda else SOME_CUDA
    return Node(played, pool.gpu_count, driver.version or SOME_DRIVER, cuda)


def boot(sandbox: Sandbox, node: Node, *, sees_whole_pci: bool = True) -> None:
    """Make the sandbox that node, its GPUs without MIG instances.

    sees_whole_pci: the kernel shows 256 bytes of a device's configuration, which it does to
    containers with SYS_ADMIN only; others see 64. Source: Linux drivers/pci/pci-sysfs.c.
    """
    sandbox.write("/lab/node", text_of(node))
    sandbox.write("/lab/state", "")
    _show_devices(sandbox, node, 256 if sees_whole_pci else 64)


def text_of(node: Node) -> str:
    """Return the file in which the mock of NVML reads what a node is."""
    return "\n".join(_lines(node)) + "\n"


def driver(sandbox: Sandbox) -> str:
    """Return the driver of the node that the sandbox plays."""
    lines = sandbox.path("/lab/node").read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("driver "))


def layouts(sandbox: Sandbox, gpu_count: int) -> list[dict[str, int]]:
    """Return the instances that each GPU of the sandbox carries now: profile -> how many.

    A compute instance smaller than its GPU instance counts under its own name.
    """
    found: list[Counter[str]] = [Counter() for _ in range(gpu_count)]
    profiles: dict[tuple[str, str], str] = {}
    for line in sandbox.path("/lab/state").read_text(encoding="utf-8").splitlines():
        word, gpu, *rest = line.split()
        if word == "instance":
            profiles[gpu, rest[0]] = rest[1]
        if word == "part":
            profile = profiles[gpu, rest[0]]
            own = profile if profile.startswith(f"{rest[2]}g") else f"{rest[2]}c.{profile}"
            found[int(gpu)][own] += 1
    return [dict(sorted(each.items())) for each in found]


def modes(sandbox: Sandbox) -> list[bool]:
    """Return for each GPU whether MIG is on; empty where nobody has touched a GPU yet."""
    lines = sandbox.path("/lab/state").read_text(encoding="utf-8").splitlines()
    return [line.split()[2] == "1" for line in lines if line.startswith("gpu ")]


def _lines(node: Node) -> Iterator[str]:
    played, gpu = node.played, node.played.gpu
    major, minor = gpu.compute_capability
    yield f"product {played.product}"
    yield f"memory {played.memory_mib}"
    yield f"capability {major}.{minor}"
    yield f"driver {node.driver}"
    yield f"cuda {node.cuda}"
    yield f"gpus {node.gpu_count}"
    yield f"pci {_device(played)}"
    if gpu.imex in {"nvl", "multi-node"}:
        yield "fabric rack"
    elif gpu.nvlink in SWITCHED and major >= 9:  # GPU models before Hopper do not tell
        yield "fabric -"
    if gpu.is_mig_capable:
        # A change of the mode resets the GPU on Ampere; newer ones need none.
        slices = gpu.geometry.compute_slices if gpu.geometry else 7
        yield f"mig {slices} {int(major == 8)}"
    if gpu.geometry:
        yield f"budget {_engines(gpu.geometry.engine_budget, UNLIMITED)}"
        yield from _profiles(gpu.geometry, played)


def _profiles(geometry: MigGeometry, played: PlayedGpu) -> Iterator[str]:
    for number, (name, profile) in enumerate(geometry.profiles.items()):
        figures = played.figures[name]
        columns = [
            *(name, PROFILES.index(profile.nvml), number, profile.compute, profile.size),
            *(profile.max_count, figures.memory_mib, figures.multiprocessors),
            _engines(profile.engines, 0),
            ",".join(map(str, profile.starts)),
            ",".join(map(str, profile.compute_instances or (profile.compute,))),
        ]
        yield "profile " + " ".join(map(str, columns))


def _engines(amounts: Mapping[str, int], otherwise: int) -> str:
    values = (
        next((amounts[own] for own in names if own in amounts), otherwise)
        for names in ENGINES.values()
    )
    return " ".join(map(str, values))


def _device(played: PlayedGpu) -> str:
    return next(iter(played.gpu.pci_devices), "FFFF")


def _show_devices(sandbox: Sandbox, node: Node, config_bytes: int) -> None:
    """Show the GPUs below /sys, on the buses that the mock gives them."""
    folder = sandbox.path("/sys/bus/pci/devices")
    wanted = {f"0000:{index + 1:02x}:00.0" for index in range(node.gpu_count)}
    for address in {path.name for path in folder.iterdir()} - wanted:
        for file in (folder / address).iterdir():
            file.unlink()
        (folder / address).rmdir()
    files = {
        "vendor": b"0x10de\n",
        "device": f"0x{_device(node.played).lower()}\n".encode(),
        "class": b"0x030200\n",
        "numa_node": b"0\n",
        "resource": b"0x0 0x0 0x0\n",
        "config": bytes(config_bytes),
    }
    for address in wanted:
        (folder / address).mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / address / name).write_bytes(content)

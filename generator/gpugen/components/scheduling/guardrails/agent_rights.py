"""What each agent may at most be: the table that the policy over the agents' namespace enforces.

It covers every option of a release, so that no change of a spec meets a closed door: what an agent
really has is less, and stands with its component. A test lets the API server judge the agents of
every cluster and option by it.
"""

from __future__ import annotations

from typing import NamedTuple

from gpugen.catalog import reading
from gpugen.gpu.prediction import MPS_ROOT
from gpugen.model.spec import ClusterSpec

ADMIN = ("SYS_ADMIN",)
PLUGIN, DISCOVERY, DAEMON = "device-plugin", "gpu-feature-discovery", "mps-control-daemon"
MIG_MANAGER, EXPORTER, WORKER = "mig-manager", "dcgm-exporter", "nfd-worker"
OF_PLUGIN = (PLUGIN, DISCOVERY, DAEMON)  # one image, whose version a spec may choose
_GPUS = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_MIG_MONITOR_DEVICES")
_CONFIG, _NODE, _POD = "CONFIG_FILE", "NODE_NAME", "POD_NAME"
_OF_MIG_MANAGER = (
    *(_NODE, _CONFIG, "GPU_CLIENTS_FILE", "DEFAULT_GPU_CLIENTS_NAMESPACE"),
    *("HOST_ROOT_MOUNT", "HOST_NVIDIA_DIR", "HOST_KUBELET_SYSTEMD_SERVICE"),
    *("WITH_SHUTDOWN_HOST_GPU_CLIENTS", "WITH_REBOOT", "NVIDIA_VISIBLE_DEVICES"),
)
_OF_EXPORTER = (
    *(_NODE, "HOST_IP", "DCGM_REMOTE_HOSTENGINE_INFO", "NVIDIA_RESOURCE_NAMES"),
    *(
        f"DCGM_EXPORTER_{name}"
        for name in ("LISTEN", "KUBERNETES", "COLLECTORS", "INTERVAL", "WEB_CONFIG_FILE")
    ),
    "KUBERNETES_VIRTUAL_GPUS",
    "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS",
    "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX",
    *_GPUS,
)
_SEEN_BY_WORKER = ("/boot", "/etc/os-release", "/lib", "/proc/swaps", "/sys", "/usr/lib")


class AgentRights(NamedTuple):
    """The most that the pods of one agent have.

    image: the component whose image it runs. commands: of its containers, joined by blanks; empty
    is the image's own. environment: names of variables, as some of them name programs to run.
    paths: of the host, that it may write; seen: that it may only read. spaces: of the host, by
    their fields in a pod.
    """

    name: str
    image: str
    commands: tuple[str, ...]
    paths: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    is_privileged: bool = False
    capabilities: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    account: str = ""  # empty: it needs none
    may_read_secrets: bool = False


def agents(spec: ClusterSpec) -> tuple[AgentRights, ...]:
    """Return the rights of every agent that a spec of this release can have."""
    kubelet = spec.kubernetes.distribution.kubelet_root
    mps = (MPS_ROOT, f"{MPS_ROOT}/shm")
    return (
        AgentRights(
            PLUGIN,
            PLUGIN,
            ("nvidia-device-plugin",),
            environment=(_CONFIG, "PASS_DEVICE_SPECS", *_GPUS),
            paths=(f"{kubelet}/device-plugins", *mps, "/var/run/cdi"),
            seen=("/",),
            is_privileged=True,  # passDeviceSpecs
            capabilities=ADMIN,
        ),
        AgentRights(
            DISCOVERY,
            DISCOVERY,
            ("gpu-feature-discovery",),
            environment=(_CONFIG, _NODE, _POD, "NAMESPACE", "GFD_SLEEP_INTERVAL", *_GPUS),
            seen=("/sys",),
            capabilities=ADMIN,
            account=DISCOVERY,
        ),
        AgentRights(
            DAEMON,
            DAEMON,
            (DAEMON, f"{DAEMON} mount-shm"),
            environment=(_CONFIG, *_GPUS),
            paths=mps,
            is_privileged=True,
            spaces=("hostPID",),
        ),
        AgentRights(
            MIG_MANAGER,
            MIG_MANAGER,
            ("",),
            environment=_OF_MIG_MANAGER,
            paths=("/", "/sys"),
            is_privileged=True,
            spaces=("hostIPC", "hostPID"),
            account=MIG_MANAGER,
        ),
        AgentRights(
            EXPORTER,
            EXPORTER,
            ("",),
            environment=_OF_EXPORTER,
            seen=(f"{kubelet}/pod-resources",),
            capabilities=ADMIN,
            spaces=("hostNetwork", "hostPID"),
            account=EXPORTER,
            may_read_secrets=True,
        ),
        AgentRights(
            WORKER,
            "node-feature-discovery",
            (WORKER,),
            environment=(_NODE, _POD, "POD_UID"),
            seen=_SEEN_BY_WORKER,
            account=WORKER,
        ),
    )


def images(spec: ClusterSpec, component: str) -> tuple[str, ...]:
    """Return the images that a component may have, as regular expressions of the whole name.

    From the stated registry or one that is being left. Tags of this release and of those before
    it, so that a roll-out to it may end; any version where a spec may choose one; any digest.
    """
    row = spec.release.images[component]
    host, _, path = row.repository.partition("/")
    registries = (spec.images.registry or host, *spec.images.previous_registries)
    tags = "v[0-9.]+" if component in OF_PLUGIN else "|".join(map(_exact, _tags(spec, component)))
    return tuple(
        f"^{_exact(registry)}/{_exact(path)}:({tags})(@sha256:[0-9a-f]{{64}})?$"
        for registry in dict.fromkeys(registries)
    )


def _tags(spec: ClusterSpec, component: str) -> list[str]:
    earlier = (each for each in reading.shipped_ids("releases") if each < spec.release.id)
    rows = (reading.shipped("releases", each) or {"images": {}} for each in earlier)
    tags = {row["images"].get(component, {}).get("tag", "") for row in rows}
    return sorted({*tags, spec.release.images[component].tag} - {""})


def _exact(text: str) -> str:
    """Return text as a regular expression that matches it alone; names hold no other marks."""
    return text.replace(".", "[.]")

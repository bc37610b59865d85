# Copyright: the gpugen authors. Apache-2.0.
"""The smoke test: one container on all GPUs, only where an image is named (CTK-20)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .view import BINARY, RUNTIME, Host

NAME = "gpugen-smoke-test"
LIMIT = 900  # seconds for one command; nothing may hang
TIMED = ("timeout", "--kill-after=10", str(LIMIT))
IMAGE = re.compile(  # registry included, because containerd's client knows no default one
    r"([\w-]+([.][\w-]+)+(:\d+)?|[\w-]+:\d+|localhost)/[^\s:@]+"
    r"(:(?!latest$)[\w][\w.-]*|(:[\w.-]+)?@sha256:[0-9a-f]{64})$"
)
MOUNTS = "/var/run/nvidia-container-devices"
AS_MOUNTS = "accept-nvidia-visible-devices-as-volume-mounts"


def is_pinned(image: str) -> bool:
    """Tell whether an image names its registry, and a tag other than latest or a digest."""
    return IMAGE.match(image) is not None


def _image(host: Host) -> str:
    return str(host.option("smoke_test"))


def _by_mounts(host: Host) -> bool:
    """Tell in which of two ways the toolkit listens to a wish for GPUs (CTK-13)."""
    return str(host.option("config").get(AS_MOUNTS, "false")).lower() == "true"


def _environment(host: Host) -> list[str]:
    devices = MOUNTS if _by_mounts(host) else "all"
    wishes = (f"NVIDIA_VISIBLE_DEVICES={devices}", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    return [word for wish in wishes for word in ("--env", wish)]


def _ctr(host: Host) -> list[str]:
    return [*TIMED, *host.option("client"), "--address", host.option("socket")]


def questions(host: Host) -> dict[str, Any]:
    """Ask whether the image is there, before a container is started."""
    if not _image(host) or refusal(host):
        return {}
    among_pods = [*_ctr(host), "--namespace", "k8s.io", "images", "ls", "--quiet"]
    asked = {}
    if host.has("containerd"):
        argv = [*among_pods, f'name=="{_image(host)}"']
        asked["image of containerd"] = {"argv": argv, "limit": LIMIT + 30}
    if host.has("docker"):
        asked["image of docker"] = {"argv": ["docker", "image", "ls", "--quiet", _image(host)]}
    return asked


def refusal(host: Host) -> str:
    """Say why no container can be started; empty where one can."""
    if not is_pinned(_image(host)):
        return (
            f"CTK-20: {_image(host)} names no registry, or neither a tag other than latest nor a"
            " digest (nvidia_container_toolkit_smoke_test); write it like"
            " registry.example.com/cuda:13.0.1"
        )
    if host.has("crio"):
        return (
            "CTK-20: CRI-O starts containers for the kubelet alone, which deletes what it did not"
            f" ask for; run a pod with runtimeClassName: {RUNTIME} instead"
            " (nvidia_container_toolkit_smoke_test)"
        )
    return _failed(host)


def _failed(host: Host) -> str:
    """Say that images cannot be listed."""
    for name in ("containerd", "docker"):
        answer = host.said(f"image of {name}")
        if host.is_told(f"image of {name}") and answer["rc"] != 0:
            words = (answer["err"] or answer["out"]).strip()
            return f"CTK-20: {name} does not list its images ({answer['rc']}): {words[-600:]}"
    return ""


def part(host: Host) -> dict[str, Any]:
    """Return the commands of the test, for each runtime."""
    if not _image(host):
        return {}
    makers = {"containerd": _of_containerd, "docker": _of_docker}
    tests = [{"by": name, **make(host)} for name, make in makers.items() if host.has(name)]
    return {"refusal": refusal(host), "tests": tests}


def _of_containerd(host: Host) -> dict[str, Any]:
    """In the namespace of pods where the image is there, else in one of our own."""
    is_there = host.said("image of containerd")["out"] != ""
    own = [*_ctr(host), "--namespace", "k8s.io" if is_there else "gpugen"]
    mount = f"type=bind,src=/dev/null,dst={MOUNTS}/all,options=rbind:ro"
    mounts = ["--mount", mount] if _by_mounts(host) else []
    run = ["run", "--rm", "--runc-binary", BINARY, *_environment(host), *mounts]
    return {
        "is_there": is_there,
        "pull": [*own, "images", "pull", "--hosts-dir", "/etc/containerd/certs.d", _image(host)],
        "run": [*own, *run, _image(host), NAME, "nvidia-smi", "-L"],
        "looks_always": True,
        "find": [*own, "containers", "ls", "--quiet", f"id=={NAME}"],
        "end": [*own, "tasks", "delete", "--force", NAME],
        "delete": [*own, "containers", "delete", NAME],
        "remove_image": [*own, "images", "rm", "--sync", _image(host)],
    }


def _of_docker(host: Host) -> dict[str, Any]:
    volumes = ["--volume", f"/dev/null:{MOUNTS}/all"] if _by_mounts(host) else []
    run = ["docker", "run", "--rm", "--name", NAME, "--network", "none", "--runtime", RUNTIME]
    run += [*_environment(host), *volumes]
    return {
        "is_there": host.said("image of docker")["out"] != "",
        "pull": [*TIMED, "docker", "pull", "--quiet", _image(host)],
        "run": [*TIMED, *run, _image(host), "nvidia-smi", "-L"],
        "looks_always": False,  # docker removes it, unless the run failed
        "find": ["docker", "ps", "--all", "--quiet", "--filter", f"name=^/?{NAME}$"],
        "end": [],
        "delete": ["docker", "rm", "--force", NAME],
        "remove_image": ["docker", "image", "rm", _image(host)],
    }


def shortfalls(host: Host) -> list[str]:
    """Say what is wrong with the container that ran.

    The task that asks states what came of it: ``by`` (a runtime), ``pull`` and ``run``.
    """
    said = host.own("smoke_said")
    if not said:
        return []
    is_pulled = said["pull"].get("rc", 0) == 0
    last = said["run"] if is_pulled else said["pull"]
    lines = last.get("stdout", "").splitlines()
    count = len([line for line in lines if re.match(r"GPU \d+: ", line)])
    expected = int(host.option("expected_gpus"))
    is_run = is_pulled and last["rc"] == 0
    if is_run and count > 0 and expected in {0, count}:
        return []
    if is_run:
        count_words = f"shows {count} GPUs, expected {expected or 'any'}"
        came = f"{count_words} (nvidia_container_toolkit_expected_gpus)"
    else:
        came = _came_to_nothing(last["rc"], is_pulled)
    return [
        f"CTK-20: a container of {_image(host)}, started by {said['by']}, {came}."
        f" It said: {_words(last)[-900:]}"
    ]


def _came_to_nothing(status: int, is_pulled: bool) -> str:
    if status in {124, 137}:
        return f"ran longer than {LIMIT} s"
    words = "did not run" if is_pulled else "cannot be had: the image was not pulled"
    return f"{words} ({status})"


def _words(answer: Mapping[str, Any]) -> str:
    texts = (answer.get(name, "").strip() for name in ("stdout", "stderr"))
    return " ".join(text for text in texts if text) or "nothing"

"""Runs the real device plugin, GPU feature discovery and MPS daemon as a node would."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from support.lab import node
from support.lab.rendered import Container
from support.lab.sandbox import PATIENCE, Sandbox, assert_played

KUBELET_FOLDER = "/var/lib/kubelet/device-plugins"
LABELS = "/lab/labels"
DRIVER_ROOT = "/driver-root"
IN_VAIN = ("Failed to start plugin", "Failed to start MPS daemon")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a device plugin did. complaint: why it ended or tries for ever; empty: it serves."""

    resources: Mapping[str, int] = field(default_factory=dict)  # name -> units
    refuses_two: Mapping[str, bool] = field(default_factory=dict)  # where there are two units
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Labelling:
    """What GPU feature discovery did. complaint: why it ended; empty: it printed labels."""

    labels: Mapping[str, str] = field(default_factory=dict)
    complaint: str = ""


class Kubelet:
    """The kubelet's socket in a sandbox; it learns what plugins offer."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Start it and wait until it listens."""
        command = ["fake-kubelet", "--folder", KUBELET_FOLDER]
        self._process = sandbox.start(command, source=subprocess.PIPE)
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        os.set_blocking(self._output, False)
        socket = sandbox.path(f"{KUBELET_FOLDER}/kubelet.sock")
        assert until(socket.exists, self._process), "the kubelet does not listen"

    def heard(self) -> list[dict[str, Any]]:
        """Return what was registered since the last time; each line stands before its answer."""
        heard = b""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._output, 1 << 16):
                heard += chunk
        return [json.loads(line) for line in heard.splitlines()]

    def close(self) -> None:
        """End it, by the end of its input."""
        self._process.communicate(timeout=PATIENCE)


def until(claim: Callable[[], bool], process: subprocess.Popen[str]) -> bool:
    """Wait until a claim holds; False: the process ended before."""
    deadline = time.monotonic() + PATIENCE
    while not claim():
        if process.poll() is not None:
            return claim()
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)
    return True


def serve(sandbox: Sandbox, kubelet: Kubelet, container: Container) -> Offer:
    """Run the device plugin until it has registered everything that it has.

    For CDI it looks for the driver's libraries where the container is to mount the host's root.
    """
    shutil.rmtree(sandbox.path(DRIVER_ROOT), ignore_errors=True)
    if DRIVER_ROOT in container.mounts:
        driver = node.driver(sandbox)
        sandbox.write(f"{DRIVER_ROOT}/usr/lib64/libcuda.so.{driver}", "")
    process = _start(sandbox, container, "nvidia-device-plugin")
    return _offer(kubelet, process, *_end_after(process, "Starting Plugins."))


def _offer(kubelet: Kubelet, process: subprocess.Popen[str], log: str, complaint: str) -> Offer:
    heard = kubelet.heard()
    names = [each["resource"] for each in heard]
    assert len(set(names)) == len(names), f"registered twice: {names}"
    if process.returncode != 0 or complaint:
        return Offer(complaint=complaint or last_line(log))
    return Offer(
        resources={each["resource"]: each["units"] for each in heard},
        refuses_two={
            each["resource"]: bool(each["refusal"]) for each in heard if each["units"] > 1
        },
    )


def label(sandbox: Sandbox, container: Container) -> Labelling:
    """Run GPU feature discovery once, into a file instead of a NodeFeature."""
    sandbox.path(LABELS).unlink(missing_ok=True)
    once = ["--oneshot", "--use-node-feature-api=false", f"--output-file={LABELS}"]
    process = _start(sandbox, container, "gpu-feature-discovery", *once)
    log = process.communicate(timeout=PATIENCE)[1]
    assert_played(log)
    if process.returncode != 0:
        return Labelling(complaint=last_line(log))
    lines = sandbox.path(LABELS).read_text(encoding="utf-8").splitlines()
    return Labelling(dict(line.split("=", 1) for line in lines))


class MpsDaemon:
    """The MPS control daemon of a node. complaint: why it does not serve; empty: it is ready."""

    def __init__(self, sandbox: Sandbox, container: Container) -> None:
        """Start it and wait until it is ready, or has given up."""
        ready = sandbox.path("/mps/.ready")
        # A file and not a pipe: nobody reads while it starts, and it says a line per device.
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 close() does
        self._process = _start(sandbox, container, "mps-control-daemon", log=self._log)
        self.complaint = ""
        if not until(lambda: ready.exists() or bool(self._vain()), self._process):
            self.complaint = last_line(self._said())
        elif not ready.exists():
            self.complaint = self._vain()

    def close(self) -> None:
        """End it."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.communicate(timeout=PATIENCE)
        assert_played(self._said())
        self._log.close()

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def _vain(self) -> str:
        return in_vain(self._said())


def in_vain(log: str) -> str:
    """Return the line in which a program says what it tries again for ever; empty: none."""
    lines = (line for line in log.splitlines() if any(word in line for word in IN_VAIN))
    return next(lines, "")


def _start(
    sandbox: Sandbox,
    container: Container,
    program: str,
    *arguments: str,
    log: IO[str] | int = subprocess.PIPE,
) -> subprocess.Popen[str]:
    assert container.command == (program,), container.command
    for path, text in container.files.items():
        sandbox.write(path, text)
    return sandbox.start([program, *arguments], container.environment, log=log)


def _end_after(process: subprocess.Popen[str], line: str) -> tuple[str, str]:
    """End a program once it has printed a line; return its log, and what it would try again.

    The program hears of it only when it has started everything, or failed to.
    """
    assert process.stderr is not None
    log = ""
    for printed in process.stderr:
        log += printed
        if line in printed:
            process.terminate()
            break
    log += process.communicate(timeout=PATIENCE)[1]
    assert_played(log)
    return log, in_vain(log)


def last_line(log: str) -> str:
    """Return the last line of a log: what a program says before it ends with an error."""
    return (log.strip().splitlines() or ["it said nothing"])[-1]

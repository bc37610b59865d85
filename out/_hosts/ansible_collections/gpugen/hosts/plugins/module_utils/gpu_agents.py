# Copyright: the gpugen authors. Apache-2.0.
"""Finds and ends the programs of ours that hold a host's GPUs in containers.

A kubelet that is stopped leaves its containers running. These are the node's own agents: they hold
no work, and the kubelet starts them again. Linux truncates the name of a program after 15 characters.
Runs on the host, with Python 3.8 or newer.
"""

from __future__ import annotations

import os
import signal
import time

AGENTS = (
    "nvidia-device-plugin",
    "gpu-feature-discovery",
    "dcgm-exporter",
    "mps-control-daemon",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
)
NAMES = {name[:15] for name in AGENTS}
PATIENCE = 10  # seconds


def found(proc="/proc"):
    """List pid and name of every agent."""
    agents = []
    for entry in sorted(filter(str.isdigit, os.listdir(proc)), key=int):
        try:
            with open("%s/%s/stat" % (proc, entry)) as file:
                name, _bracket, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name in NAMES and rest.split()[0] != "Z":  # the dead hold nothing
            agents.append((int(entry), name))
    return agents


def end():
    """End them all; return those that were found, and those that did not end."""
    agents = found()
    for pid, _name in agents:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    limit = time.monotonic() + PATIENCE
    while found() and time.monotonic() < limit:
        time.sleep(0.2)
    return agents, found()

"""Ends the programs of ours that hold a host's GPUs in containers, and prints what was ended.

A kubelet that is stopped leaves its containers running. These are the node's own agents: they hold
no work, and the kubelet starts them again. Linux truncates the name of a program after 15 characters.
"""

import os
import signal
import sys
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


def found():
    """Yield pid and name of every agent."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name in NAMES and rest.split()[0] != "Z":  # the dead hold nothing
            yield int(entry), name


def main():
    """End them all, or say which one does not end."""
    for pid, name in found():
        print(name, pid)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    end = time.time() + PATIENCE
    while list(found()):
        if time.time() > end:
            sys.exit("still there: %s" % sorted(found()))
        time.sleep(0.2)


if __name__ == "__main__":
    main()

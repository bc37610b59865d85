"""Runs the real mig-parted on a node."""

from __future__ import annotations

import subprocess

from support.lab.sandbox import Sandbox

CONFIG = "/mig-parted-config/config.yaml"


def apply(sandbox: Sandbox, text: str, name: str) -> subprocess.CompletedProcess[str]:
    """Apply one configuration of a file to the node's GPUs; it may say 0 and do nothing."""
    sandbox.write(CONFIG, text)
    return sandbox.run(["mig-parted", "apply", "-f", CONFIG, "-c", name])


def is_applied(sandbox: Sandbox, text: str, name: str) -> bool:
    """Tell whether mig-parted finds one configuration of a file on the node's GPUs."""
    sandbox.write(CONFIG, text)
    return sandbox.run(["mig-parted", "assert", "-f", CONFIG, "-c", name]).returncode == 0

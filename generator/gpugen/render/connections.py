"""Connection settings as Ansible variables; the most specific scope replaces all others."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from typing import Any

from gpugen.model.access import Ssh
from gpugen.model.spec import HostLine, NodePool

SOCKETS = "~/.ansible/cp"  # where Ansible keeps the sockets of shared connections
NOTHING: Mapping[str, Any] = {  # resets a variable of a wider scope; null counts as not set
    "ansible_user": None,
    "ansible_port": None,
    "ansible_become": True,
    "ansible_become_method": "sudo",
    "ansible_python_interpreter": "auto",
    "ansible_ssh_common_args": "",
    "ansible_control_path_dir": None,
}


def of_all(ssh: Ssh) -> dict[str, Any]:
    """Return the variables of hosts whose pool and entry state none; plays leave out ``become``."""
    return {n: v for n, v in _stated(ssh).items() if v != NOTHING[n] or n == "ansible_become"}


def of_pool(pool: NodePool, wider: Ssh) -> dict[str, Any]:
    """Return the variables of a pool, none if it has no own settings."""
    return _over(pool.ssh, wider)


def of_line(line: HostLine, wider: Ssh) -> dict[str, Any]:
    """Return the variables of a host entry, none if it has no own settings."""
    return _over(line.ssh, wider)


def _over(own: Ssh | None, wider: Ssh) -> dict[str, Any]:
    """Return what a scope states; what only the wider one states is reset."""
    if own is None:
        return {}
    before = _stated(wider)
    return {n: v for n, v in _stated(own).items() if not v == before[n] == NOTHING[n]}


def _stated(ssh: Ssh) -> dict[str, Any]:
    """Return every variable of a connection.

    Ansible names a connection's socket by address, port and user. Behind two bastions one address
    may be two hosts, so each chain of jump hosts has its own folder.
    """
    way = ",".join(ssh.proxy_jump)
    jump = f"-o {shlex.quote(f'ProxyJump={way}')}" if way else ""
    sockets = f"{SOCKETS}/{hashlib.sha256(way.encode()).hexdigest()[:8]}" if way else None
    return {
        "ansible_user": ssh.user or None,
        "ansible_port": ssh.port or None,
        "ansible_become": ssh.become,
        "ansible_become_method": ssh.become_method,
        "ansible_python_interpreter": ssh.interpreter or "auto",
        "ansible_ssh_common_args": jump,
        "ansible_control_path_dir": sockets,
    }

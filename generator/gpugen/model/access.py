"""How plays reach hosts and the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpugen.model.finding import Pointer


class Ssh(NamedTuple):
    """How Ansible logs in and becomes root; nothing secret."""

    user: str  # empty: Ansible's own default
    port: int  # 0: as the control host's ssh_config says
    become: bool
    become_method: str  # sudo, su
    interpreter: str  # empty: Ansible searches for one
    proxy_jump: tuple[str, ...]  # jump hosts, each as [user@]host[:port]
    at: Pointer


class Access(NamedTuple):
    """How plays reach hosts and the cluster; nothing secret."""

    ssh: Ssh  # of hosts whose pool and entry state none
    kubeconfig_context: str
    cluster_uid: str
    node_names: str  # short, fqdn
    at: Pointer

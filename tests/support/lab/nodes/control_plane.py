"""Nodes of a control plane as kubeadm, k3s or k0s leave them: real etcd, API server, scheduler.

The first node has the API server that all schedulers talk to. Stand-ins play kubelet, k3s and k0s.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from support.lab.cluster.plane import make_key
from support.lab.cluster.programs import wait_until
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.standins import text

PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kubectl")
PORT = 6443
TOKEN = "lab-administrator"
API = ("lab-etcd", "lab-apiserver")
MANIFEST = "etc/kubernetes/manifests/kube-scheduler.yaml"
KEY = "etc/kubernetes/service-accounts.key"
K0S_CONFIG = "etc/k0s/k0s.yaml"
UNIT = "[Service]\nExecStart={}\nRestart=always\nRestartSec=1\nKillMode=control-group\n"
ETCD = "/usr/local/bin/etcd --data-dir=/var/lib/etcd --unsafe-no-fsync"
SERVER = " ".join(
    [
        "/usr/local/bin/kube-apiserver --etcd-servers=http://127.0.0.1:2379",
        f"--bind-address=0.0.0.0 --secure-port={PORT} --advertise-address=192.0.2.1",
        "--cert-dir=/var/lib/apiserver --service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file=/{KEY} --service-account-key-file=/{KEY}",
        "--authorization-mode=RBAC --token-auth-file=/etc/kubernetes/tokens.csv",
        "--endpoint-reconciler-type=none --allow-privileged=true",
    ]
)
HEALTH = (
    "import ssl, urllib.request as u; c = ssl.create_default_context(); c.check_hostname = False; "
    "c.verify_mode = 0; print(u.urlopen('https://127.0.0.1:10259/livez', context=c).read())"
)
STATIC_POD = """\
apiVersion: v1
kind: Pod
metadata:
  labels:
    component: kube-scheduler
    tier: control-plane
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
    - --bind-address=127.0.0.1
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    image: registry.k8s.io/kube-scheduler:v1.36.3
    name: kube-scheduler
    resources:
      requests:
        cpu: 100m
    volumeMounts:
    - mountPath: /etc/kubernetes/scheduler.conf
      name: kubeconfig
      readOnly: true
  hostNetwork: true
  priorityClassName: system-node-critical
  volumes:
  - hostPath:
      path: /etc/kubernetes/scheduler.conf
      type: FileOrCreate
    name: kubeconfig
status: {}
"""


def layer(find: Callable[[str], Path], folder: Path) -> Path:
    """Return a tree with the programs. find: from a program's name to its file."""
    place = folder / "usr" / "local" / "bin"
    place.mkdir(parents=True)
    for name in PROGRAMS:
        try:
            os.link(find(name), place / name)
        except OSError:
            shutil.copy2(find(name), place / name)
    return folder


def machine(programs: Path, folder: Path, server: str = "", manifest: str = STATIC_POD) -> Machine:
    """Return a node of kubeadm's. server: address of the API server; empty: the node has it."""
    files = {
        **_service("lab-static-pods", "/usr/local/bin/lab-static-pods"),
        "usr/local/bin/lab-static-pods": text("static-pods"),
        **{
            f"etc/kubernetes/{name}.conf": _kubeconfig(server or "127.0.0.1")
            for name in ("admin", "scheduler")
        },
        MANIFEST: manifest,
    }
    units = ["lab-static-pods", *([] if server else API)]
    return _machine(programs, units, files if server else {**files, **_api(folder)})


def k3s(programs: Path, folder: Path) -> Machine:
    """Return a server of k3s, whose API server is a process beside it."""
    files = {
        **_service("k3s", "/usr/local/bin/k3s server"),
        "usr/local/bin/k3s": text("k3s"),
        "etc/rancher/k3s/config.yaml": "kube-scheduler-arg:\n  - v=2\n",
        "etc/rancher/k3s/k3s.yaml": _kubeconfig("127.0.0.1"),
        "var/lib/rancher/k3s/server/cred/scheduler.kubeconfig": _kubeconfig("127.0.0.1"),
        **_api(folder),
    }
    return _machine(programs, ["k3s", *API], files)


def k0s(programs: Path, folder: Path) -> Machine:
    """Return a single controller of k0s, whose API server is a process beside it."""
    files = {
        **_service("k0scontroller", "/usr/local/bin/k0s controller"),
        "usr/local/bin/k0s": text("k0s"),
        K0S_CONFIG: "spec: {api: {}}\n",
        "var/lib/k0s/pki/admin.conf": _kubeconfig("127.0.0.1"),
        "var/lib/k0s/pki/scheduler.conf": _kubeconfig("127.0.0.1"),
        **_api(folder),
    }
    return _machine(programs, ["k0scontroller", *API], files)


def _machine(programs: Path, units: list[str], files: dict[str, str]) -> Machine:
    wanted = "".join(f"Wants={unit}.service\n" for unit in units)
    start = {"etc/systemd/system/multi-user.target.d/control-plane.conf": f"[Unit]\n{wanted}"}
    return Machine(files={**files, **start}, layer=programs)


def _api(folder: Path) -> dict[str, str]:
    """Return the files of etcd and the API server."""
    key = folder / "service-accounts.key"
    make_key(key)
    return {
        **_service("lab-etcd", ETCD),
        **_service("lab-apiserver", SERVER),
        "etc/kubernetes/tokens.csv": f'{TOKEN},admin,admin,"system:masters"\n',
        KEY: key.read_text(encoding="utf-8"),
    }


def _service(name: str, command: str) -> dict[str, str]:
    return {f"etc/systemd/system/{name}.service": UNIT.format(command)}


def _kubeconfig(server: str) -> str:
    cluster = {"server": f"https://{server}:{PORT}", "insecure-skip-tls-verify": True}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": "lab", "user": {"token": TOKEN}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
        "current-context": "lab",
    }
    return json.dumps(content)


def wait_for_scheduler(node: Node, kubeconfig: str = "/etc/kubernetes/admin.conf") -> None:
    """Wait until the API server is ready and the node's scheduler is healthy."""
    ask = ["kubectl", f"--kubeconfig={kubeconfig}", "get", "--raw"]
    wait_until("the server", lambda: "ok" in node.run(*ask, "/readyz", status=None))
    health = ["python3", "-c", HEALTH]
    wait_until("the scheduler", lambda: "ok" in node.run(*health, status=None))

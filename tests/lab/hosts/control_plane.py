"""Nodes of a control plane as kubeadm leaves them: real etcd, API server and scheduler.

The first node has the API server that all schedulers talk to. A stand-in plays the kubelet.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from lab.cluster.plane import make_key
from lab.hosts.machine import Machine
from lab.hosts.standins import text

PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kubectl")
PORT = 6443
TOKEN = "lab-administrator"
MANIFEST = "etc/kubernetes/manifests/kube-scheduler.yaml"
KEY = "etc/kubernetes/service-accounts.key"
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
    """Return a node. server: address of the API server; empty: the node has it itself."""
    units = ["lab-static-pods"]
    files = {
        "usr/local/bin/lab-static-pods": text("static-pods"),
        "etc/systemd/system/lab-static-pods.service": UNIT.format("/usr/local/bin/lab-static-pods"),
        **{
            f"etc/kubernetes/{name}.conf": _kubeconfig(server or "127.0.0.1")
            for name in ("admin", "scheduler")
        },
        MANIFEST: manifest,
    }
    if not server:
        units += ["lab-etcd", "lab-apiserver"]
        key = folder / "service-accounts.key"
        make_key(key)
        files |= {
            "etc/systemd/system/lab-etcd.service": UNIT.format(ETCD),
            "etc/systemd/system/lab-apiserver.service": UNIT.format(SERVER),
            "etc/kubernetes/tokens.csv": f'{TOKEN},admin,admin,"system:masters"\n',
            KEY: key.read_text(encoding="utf-8"),
        }
    wanted = "".join(f"Wants={unit}.service\n" for unit in units)
    files["etc/systemd/system/multi-user.target.d/control-plane.conf"] = f"[Unit]\n{wanted}"
    return Machine(files=files, layer=programs)


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

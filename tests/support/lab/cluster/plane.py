"""etcd and kube-apiserver on 127.0.0.1, and the programs that need only a kubeconfig.

Flags and traps: Kubernetes v1.36.3 and etcd v3.7.3, run without kubelets.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from support.lab.cluster.api import Api
from support.lab.cluster.programs import Program, ProgramError, free_port

Find: TypeAlias = Callable[[str], Path]
Started: TypeAlias = tuple[Program, str]  # and its address or port
TOKEN = "lab-administrator"
USER = "lab-admin"
AUTHORITY = "apiserver.crt"  # signed by itself, so it vouches for itself
AUDIT_LOG = "audit.log"
AUDIT_POLICY = {  # who of the service accounts asked for what, and whether it was allowed
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}
TRIES = 3  # a port that was free can be taken before its program has it


@dataclass(frozen=True, slots=True)
class Plane:
    """A running API server and where its files are."""

    folder: Path
    api: Api
    key: Path  # signs and checks the tokens of service accounts
    authority: Path
    find: Find

    @property
    def server(self) -> str:
        """Address of the API server."""
        return f"https://127.0.0.1:{self.api.port}"

    def kubeconfig(self, name: str, token: str = TOKEN) -> Path:
        """Write the kubeconfig of one user, whose context has the same name."""
        path = self.folder / f"{name}.kubeconfig"
        cluster = {"server": self.server, "certificate-authority": str(self.authority)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": "lab", "user": name}}],
            "current-context": name,
        }
        path.write_text(json.dumps(content), encoding="utf-8")
        path.chmod(0o600)
        return path

    def kubectl(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl as administrator; its discovery cache is this plane's own."""
        return subprocess.run(
            [
                str(self.find("kubectl")),
                f"--kubeconfig={self.kubeconfig('admin')}",
                f"--cache-dir={self.folder / 'kubectl-cache'}",
                *arguments,
            ],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @contextmanager
    def controller_manager(self) -> Iterator[Program]:
        """Run the controllers: pods of DaemonSets, quota, accounts, ends of namespaces."""
        command = [
            self.find("kube-controller-manager"),
            f"--kubeconfig={self.kubeconfig('controllers')}",
            f"--service-account-private-key-file={self.key}",
            f"--root-ca-file={self.authority}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
            "--allocate-node-cidrs=false",
            "--kube-api-qps=2000",
            "--kube-api-burst=4000",
        ]
        with Program("controller-manager", command, self.folder) as program:
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            program.wait_for("default account", lambda: bool(self.api.find(account)))
            yield program

    @contextmanager
    def scheduler(self) -> Iterator[Program]:
        """Run the main scheduler with its defaults."""
        command = [
            self.find("kube-scheduler"),
            f"--kubeconfig={self.kubeconfig('scheduler')}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--secure-port=0",
        ]
        with Program("kube-scheduler", command, self.folder) as program:
            yield program

    @contextmanager
    def kwok(self, stages: Path) -> Iterator[Program]:
        """Run KWOK, which plays the kubelets of nodes that are annotated as fake."""
        command = [
            self.find("kwok"),
            f"--config={stages}",
            f"--kubeconfig={self.kubeconfig('kwok')}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-lease-duration-seconds=40",
            "--cidr=10.128.0.0/14",
        ]
        with Program("kwok", command, self.folder) as program:
            yield program


@contextmanager
def running(folder: Path, find: Find) -> Iterator[Plane]:
    """Run etcd and an API server until the block ends."""
    key = folder / "service-accounts.key"
    make_key(key)
    (folder / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
    (folder / "tokens.csv").write_text(f'{TOKEN},{USER},{USER},"system:masters"\n')
    etcd, etcd_address = _tried(lambda: _etcd(find("etcd"), folder))
    with etcd:
        server, port = _tried(lambda: _server(find("kube-apiserver"), folder, key, etcd_address))
        authority = folder / "certificates" / AUTHORITY
        api = Api(int(port), authority, TOKEN)
        with server, closing(api):
            yield Plane(folder, api, key, authority, find)


def make_key(path: Path) -> None:
    """Write a new RSA key in the form that Kubernetes reads."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )


def _tried(start: Callable[[], Started]) -> Started:
    """Start a program on free ports, again where another took a port in between."""
    for _ in range(TRIES - 1):
        try:
            return start()
        except ProgramError as error:
            if "address already in use" not in str(error):
                raise
    return start()


def _etcd(program: Path, folder: Path) -> Started:
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    command = [
        program,
        f"--data-dir={folder / 'etcd'}",
        "--name=default",
        "--unsafe-no-fsync",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]
    etcd = Program("etcd", command, folder)
    try:
        etcd.wait_for("answer", lambda: b"ready to serve client requests" in etcd.log.read_bytes())
    except ProgramError:
        etcd.stop()
        raise
    return etcd, client


def _server(program: Path, folder: Path, key: Path, etcd: str) -> Started:
    port = free_port()
    certificates = folder / "certificates"
    command = [
        program,
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={certificates}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={key}",
        f"--service-account-key-file={key}",
        "--authorization-mode=RBAC",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        f"--audit-policy-file={folder / 'audit-policy.json'}",
        f"--audit-log-path={folder / AUDIT_LOG}",
        "--audit-log-mode=blocking-strict",  # a request is on record before it is answered
    ]
    server = Program("kube-apiserver", command, folder)
    try:
        server.wait_for("readiness", lambda: _is_ready(port, certificates / AUTHORITY))
    except ProgramError:
        server.stop()
        raise
    return server, str(port)


def _is_ready(port: int, authority: Path) -> bool:
    """Tell whether the server answers, and with the certificate of this folder."""
    if not authority.exists():
        return False
    api = Api(port, authority, TOKEN)
    try:
        return api.call("GET", "/readyz").is_good
    except OSError:
        return False
    finally:
        api.close()

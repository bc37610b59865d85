"""docs/cluster/simulate.md word for word: its commands are run, and what they print is compared.

Stand-ins: kwokctl runs plain programs instead of containers, by a configuration file; CRDs come
from what was built, not from the network. Blocks marked ``sh`` are not run: they need kind, which
needs Docker, or a delivery engine of your own.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpugen import kube
from support.documents import agrees, blocks, named_blocks, steps
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.shell import Shell
from support.lab.cluster.trees import ROOT
from support.upstream.table import table

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("spaces")]

PAGE = "docs/cluster/simulate.md"
PROGRAMS = ("kwokctl", "kwok", "kubectl")
CRD_FOLDER = re.compile(r"https://raw\.githubusercontent\.com/\S+/example/prometheus-operator-crd/")
BARE = "$ kwok "  # the block that runs against an API server of one's own


@pytest.fixture
def shell(
    upstream: Callable[[str], Path], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Shell]:
    """Return a shell in a copy of the repository's specs, with the page's programs on its path."""
    for name in ("inventories", "keys"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path, text in named_blocks(PAGE).items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in PROGRAMS:
        (tools / name).symlink_to(upstream(name))
    gpugen = tools / "gpugen"
    gpugen.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpugen "$@"\n', encoding="utf-8")
    gpugen.chmod(0o755)
    kept = {k: os.environ[k] for k in ("PYTHONPATH", "LANG", "TMPDIR") if k in os.environ}
    environment = {
        **kept,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "KWOK_WORKDIR": str(tmp_path / "kwok"),
    }
    found = Shell(tmp_path, environment)
    yield found
    found.close()


def kwokctl_options(upstream: Callable[[str], Path]) -> str:
    """Return a configuration of kwokctl: upstream programs, on this machine only."""
    version = next(b.version for b in table().builds if b.name == "kubernetes")
    options = {
        "runtime": "binary",
        "bindAddress": "127.0.0.1",
        "kubeVersion": version,
        "kubeApiserverBinary": str(upstream("kube-apiserver")),
        "kubeControllerManagerBinary": str(upstream("kube-controller-manager")),
        "kubeSchedulerBinary": str(upstream("kube-scheduler")),
        "kubectlBinary": str(upstream("kubectl")),
        "etcdBinary": str(upstream("etcd")),
        "kwokControllerBinary": str(upstream("kwok")),
    }
    return kube.to_yaml(
        {
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "kind": "KwokctlConfiguration",
            "options": options,
        }
    )


def follow(shell: Shell, *, bare: bool, crds: Path) -> int:
    """Run the steps of one half of the page; return how many there were."""
    count = 0
    for block in blocks(PAGE, "console"):
        if (BARE in block.text) is not bare:
            continue
        for step in steps(block):
            command = CRD_FOLDER.sub(f"{crds}/", step.command)
            assert "://" not in command, "there is no network here"
            status, printed = shell.run(command)
            assert status == 0, f"{command}\n{printed}"
            assert agrees(step.output, printed), f"{command}\n{printed}"
            count += 1
    return count


def test_in_a_cluster_of_simulated_nodes(
    shell: Shell,
    upstream: Callable[[str], Path],
    crds: Callable[[str], list[Path]],
    tmp_path: Path,
) -> None:
    (tmp_path / "kwok").mkdir()
    (tmp_path / "kwok" / "kwok.yaml").write_text(kwokctl_options(upstream), encoding="utf-8")
    assert follow(shell, bare=False, crds=crds("prometheus-operator")[0].parent) == 15


def test_with_a_bare_kwok(
    shell: Shell, plane: Plane, crds: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    shutil.copy(plane.kubeconfig("dev"), tmp_path / "kubeconfig")
    try:
        assert follow(shell, bare=True, crds=crds("prometheus-operator")[0].parent) == 5
    finally:
        for node in plane.api.items("/api/v1/nodes"):
            plane.api.delete(f"/api/v1/nodes/{node['metadata']['name']}")


def test_without_stages_a_bare_kwok_ends(shell: Shell, plane: Plane, tmp_path: Path) -> None:
    shutil.copy(plane.kubeconfig("dev"), tmp_path / "kubeconfig")
    status, printed = shell.run('kwok --kubeconfig "$KUBECONFIG" --manage-all-nodes=true')
    assert status != 0
    assert "no stages found" in printed

"""What a distribution changes in the output, or why it is refused (docs/hosts/rules.md, DIST)."""

from __future__ import annotations

import json

import pytest

from gpugen import checks
from gpugen.assemble import assemble
from gpugen.catalog import Catalog
from support.specs import resolved

NAME = "/kubernetes/distribution"
REFUSED = {  # distribution -> what the refusal must say
    "kubespray": "containerd_additional_runtimes",  # DIST-18: its next run removes our line
    "microk8s": "",  # DIST-09: nothing of ours makes its kubelet folder
    "talos": "",  # DIST-16: no host half on an immutable system
    "openshift": "",  # DIST-14: bindings of its security contexts are not rendered
    "eks": "",  # DIST-15: it brings an advertiser of its own
    "aks": "",
    "gke": "",
}
CHECKS = {check.id: check for check in checks.discover()}


@pytest.mark.parametrize("distribution", REFUSED)
def test_what_is_not_rendered_right_is_refused(distribution: str) -> None:
    """DIST-09, DIST-14, DIST-15, DIST-16, DIST-18: refused with the catalogue's reason."""
    spec = resolved({NAME: distribution})
    (finding,) = CHECKS["distribution-not-supported"].run(spec)
    assert spec.kubernetes.distribution.reason
    assert spec.kubernetes.distribution.reason in finding.message
    assert REFUSED[distribution] in finding.message


def objects(distribution: str) -> list[dict[str, object]]:
    return [placed.object for placed in assemble(resolved({NAME: distribution})).objects]


@pytest.mark.parametrize("distribution", ["kubeadm", "k3s", "rke2", "k0s"])
def test_agents_use_the_kubelets_own_folder(distribution: str) -> None:
    """DIST-08: with another folder the device plugin registers nowhere."""
    root = resolved({NAME: distribution}).kubernetes.distribution.kubelet_root
    text = json.dumps(objects(distribution))
    assert f'"{root}/device-plugins' in text
    others = {"/var/lib/kubelet", "/var/lib/k0s/kubelet"} - {root}
    assert not any(f'"path": "{other}' in text for other in others)


def test_namespaces_of_agents_are_privileged() -> None:
    """DIST-14: where Pod Security is enforced, agents start nowhere else."""
    (labels,) = [
        found["metadata"]["labels"]  # type: ignore[index]
        for found in objects("kubeadm")
        if found["kind"] == "Namespace" and found["metadata"]["name"] == "gpu-agents"  # type: ignore[index]
    ]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"


def test_every_refused_distribution_is_checked() -> None:
    known = [Catalog().distribution(name) for name in REFUSED]
    assert all(not row.is_supported for row in known)

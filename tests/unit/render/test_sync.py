"""What Argo CD and Flux are told: by the objects, and by what stands in sync/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from gpugen.model import NOTHING
from gpugen.model.assembly import KubeObject, Wave
from gpugen.model.tree import Tree
from gpugen.render.sync import delivery_annotations, render_sync
from support.specs import resolved

REPOSITORY = "https://git.example/gpu.git"
ARGO_WAVE = "argocd.argoproj.io/sync-wave"
ARGO_OPTIONS = "argocd.argoproj.io/sync-options"
FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
FLUX_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"


def item(kind: str, version: str = "v1", **content: Any) -> KubeObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **content}


def synced(
    delivery: dict[str, Any],
    waves: tuple[Wave, ...] = tuple(Wave),
    more: Mapping[str, Any] = NOTHING,
) -> dict[str, Any]:
    """Return what stands in sync/ by file name; YAML files loaded."""
    tree = Tree()
    for wave in waves:
        tree.add(f"kustomize/{wave}/kustomization.yaml", "resources: []\n")
    render_sync(resolved({"/delivery": delivery, "/description": "Berlin", **more}), tree)
    texts = {path.removeprefix("sync/"): tree[path].decode() for path in tree.below("sync")}
    return {
        name: yaml.safe_load(text) if name.endswith(".yaml") else text
        for name, text in texts.items()
    }


ORDERED = [
    (Wave.NAMESPACES, item("Namespace")),
    (Wave.CRDS, item("CustomResourceDefinition", "apiextensions.k8s.io/v1")),
    (Wave.DEVICES, item("ConfigMap")),
    (Wave.DEVICES, item("DaemonSet", "apps/v1")),
]


def test_argocd_waves_are_ordered() -> None:
    waves = [int(delivery_annotations("argocd", *pair)[ARGO_WAVE]) for pair in ORDERED]
    assert waves == sorted(set(waves))


@pytest.mark.parametrize(
    ("wave", "kind"),
    [
        *((Wave.MONITORING, kind) for kind in ("ConfigMap", "Deployment", "ServiceMonitor")),
        (Wave.SCHEDULING, "ValidatingAdmissionPolicy"),
        (Wave.SCHEDULING, "MutatingAdmissionPolicyBinding"),
        (Wave.SCHEDULER_NAME, "MutatingAdmissionPolicyBinding"),
    ],
)
def test_argocd_nothing_waits_for_workloads(wave: Wave, kind: str) -> None:
    last = delivery_annotations("argocd", *ORDERED[-1])[ARGO_WAVE]
    assert delivery_annotations("argocd", wave, item(kind))[ARGO_WAVE] == last


@pytest.mark.parametrize("kind", ["Deployment", "ConfigMap", "ServiceAccount", "ClusterRole"])
def test_argocd_pods_are_sent_to_a_second_scheduler_behind_it(kind: str) -> None:
    """And no DaemonSet stands before the policy that sends them: none is waited for."""
    binding = item("MutatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1")
    after = delivery_annotations("argocd", Wave.SCHEDULER_NAME, binding)[ARGO_WAVE]
    agent = delivery_annotations("argocd", *ORDERED[-1])[ARGO_WAVE]
    before = delivery_annotations("argocd", Wave.SCHEDULING, item(kind))[ARGO_WAVE]
    assert int(before) < int(after) <= int(agent)


@pytest.mark.parametrize(("wave", "kept"), ORDERED[:2])
def test_namespaces_and_crds_are_never_deleted(wave: Wave, kept: KubeObject) -> None:
    options = delivery_annotations("argocd", wave, kept)[ARGO_OPTIONS].split(",")
    assert options == ["Prune=false", "Delete=false"]
    assert delivery_annotations("flux", wave, kept)[FLUX_PRUNE] == "disabled"


@pytest.mark.parametrize(
    ("version", "is_custom"),
    [
        ("monitoring.coreos.com/v1", True),
        ("nfd.k8s-sigs.io/v1alpha1", True),
        ("v1", False),
        ("apps/v1", False),
        ("rbac.authorization.k8s.io/v1", False),
        ("node.k8s.io/v1", False),
    ],
)
def test_argocd_skips_the_dry_run_of_custom_resources(version: str, is_custom: bool) -> None:
    notes = delivery_annotations("argocd", Wave.MONITORING, item("Any", version))
    assert (ARGO_OPTIONS in notes) is is_custom


def test_flux_leaves_dollars_alone() -> None:
    dashboard = item("ConfigMap", data={"board.json": '{"expr": "up{node=~\\"${node}\\"}"}'})
    nested = item("PrometheusRule", spec={"groups": [{"rules": [{"expr": "x", "for": "$y"}]}]})
    plain = item("ConfigMap", data={"a": "b"}, spec={"replicas": 2})
    assert delivery_annotations("flux", Wave.MONITORING, dashboard) == {FLUX_SUBSTITUTE: "disabled"}
    assert delivery_annotations("flux", Wave.MONITORING, nested) == {FLUX_SUBSTITUTE: "disabled"}
    assert delivery_annotations("flux", Wave.MONITORING, plain) == {}


def test_without_an_engine_nothing_is_said() -> None:
    assert delivery_annotations("none", *ORDERED[0]) == {}
    assert synced({"engine": "none"}) == {}


def test_argocd_application() -> None:
    files = synced({"engine": "argocd", "repoURL": REPOSITORY, "revision": "v1"})
    assert sorted(files) == ["README.md", "application.yaml"]
    application = files["application.yaml"]
    assert application["metadata"]["namespace"] == "argocd"
    spec = application["spec"]
    assert spec["source"] == {
        "repoURL": REPOSITORY,
        "targetRevision": "v1",
        "path": "out/minimal/kustomize",
    }
    assert spec["destination"] == {"server": "https://kubernetes.default.svc"}
    assert spec["project"] == "default"
    assert {"name": "Description", "value": "Berlin"} in spec["info"]
    options = spec["syncPolicy"]["syncOptions"]
    assert "ServerSideApply=true" in options
    assert not [option for option in options if option.startswith("PruneLast")]


def test_argocd_fields_of_the_spec() -> None:
    files = synced(
        {
            "engine": "argocd",
            "repoURL": REPOSITORY,
            "path": "overlays/lab",
            "argocd": {"namespace": "gitops", "project": "edge", "destination": {"name": "lab"}},
        }
    )
    application = files["application.yaml"]
    assert application["metadata"]["namespace"] == "gitops"
    assert application["spec"]["project"] == "edge"
    assert application["spec"]["destination"] == {"name": "lab"}
    assert application["spec"]["source"]["path"] == "overlays/lab"
    assert "kubectl -n gitops apply" in files["README.md"]


def kustomizations(files: dict[str, Any]) -> list[dict[str, Any]]:
    return [files[name] for name in sorted(files) if name[:1].isdigit()]


def test_flux_waves_depend_on_what_they_need() -> None:
    """Without the CRDs of Prometheus' operator monitoring fails, and nothing else does."""
    waves = kustomizations(synced({"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}}))
    names = [wave["metadata"]["name"] for wave in waves]
    assert names == [f"gpugen-minimal-{wave}" for wave in Wave]
    before = {
        wave["metadata"]["name"].removeprefix("gpugen-minimal-"): [
            d["name"].removeprefix("gpugen-minimal-") for d in wave["spec"].get("dependsOn", [])
        ]
        for wave in waves
    }
    assert before == {
        Wave.NAMESPACES: [],
        Wave.CRDS: [Wave.NAMESPACES],
        Wave.ADMISSION: [Wave.CRDS],
        Wave.DEVICES: [Wave.ADMISSION],
        Wave.MONITORING: [Wave.DEVICES],
        Wave.SCHEDULING: [Wave.DEVICES],
        Wave.SCHEDULER_NAME: [Wave.SCHEDULING],
    }
    assert [wave["spec"]["path"] for wave in waves] == [
        f"./out/minimal/kustomize/{wave}" for wave in Wave
    ]


def test_flux_waits_for_what_it_never_deletes() -> None:
    waves = kustomizations(synced({"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}}))
    waited_for = [wave["spec"]["path"] for wave in waves if wave["spec"]["wait"]]
    folders = [path.rpartition("/")[2] for path in waited_for]
    assert folders == [Wave.NAMESPACES, Wave.CRDS]
    assert all(wave["spec"]["prune"] is not wave["spec"]["wait"] for wave in waves)


SECOND = {"/components/scheduler": {"mode": "second"}}
MAIN = {
    "/components/scheduler": {},
    "/controlPlane": {"hosts": ["cp-1.lab.example"]},
    "/access": {"kubeconfigContext": "lab"},
}


@pytest.mark.parametrize(
    ("more", "is_checked"),
    [
        (SECOND, True),
        (MAIN, False),
        ({}, False),
        ({**SECOND, "/components/guardrails": {"complete": False}}, False),
        ({**SECOND, "/kubernetes/version": "1.35"}, False),
    ],
    ids=["second", "main", "none", "not-completed", "older"],
)
def test_flux_waits_for_one_deployment(more: dict[str, Any], is_checked: bool) -> None:
    """Of all workloads only for a second scheduler, and only where a wave behind it names it."""
    files = synced({"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}}, more=more)
    checks = {
        wave["spec"]["path"].rpartition("/")[2]: wave["spec"]["healthChecks"]
        for wave in kustomizations(files)
        if "healthChecks" in wave["spec"]
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "gpu-scheduler",
        "namespace": "gpu-controllers",
    }
    assert checks == ({Wave.SCHEDULING: [deployment]} if is_checked else {})


@pytest.mark.parametrize("engine", ["argocd", "flux"])
@pytest.mark.parametrize(
    ("more", "words"), [(SECOND, "Its Deployment is ready"), (MAIN, "before-upgrade.yml"), ({}, "")]
)
def test_the_readme_says_when_pods_are_sent_to_the_scheduler(
    engine: str, more: dict[str, Any], words: str
) -> None:
    text = synced({"engine": engine, "repoURL": REPOSITORY}, more=more)["README.md"]
    assert words in text
    assert ("gpugen-gpu-scheduler" in text) is bool(words)


def test_flux_skips_waves_that_the_tree_lacks() -> None:
    delivery = {"engine": "flux", "flux": {"sourceRef": {"name": "gpu"}}}
    waves = kustomizations(synced(delivery, (Wave.NAMESPACES, Wave.DEVICES)))
    assert [wave["spec"].get("dependsOn") for wave in waves] == [
        None,
        [{"name": "gpugen-minimal-00-namespaces"}],
    ]


def test_flux_source_of_the_user() -> None:
    files = synced(
        {
            "engine": "flux",
            "flux": {"namespace": "gitops", "sourceRef": {"kind": "Bucket", "name": "gpu"}},
        }
    )
    assert "source.yaml" not in files
    for wave in kustomizations(files):
        assert wave["metadata"]["namespace"] == "gitops"
        assert wave["spec"]["sourceRef"] == {"kind": "Bucket", "name": "gpu"}


@pytest.mark.parametrize(
    ("url", "revision", "kind", "reference"),
    [
        (REPOSITORY, "main", "GitRepository", {"branch": "main"}),
        (REPOSITORY, "refs/tags/v1", "GitRepository", {"name": "refs/tags/v1"}),
        (REPOSITORY, "0123456789" * 4, "GitRepository", {"commit": "0123456789" * 4}),
        ("oci://registry.example/gpu", "v1", "OCIRepository", {"tag": "v1"}),
    ],
)
def test_flux_source_made_of_the_repository(
    url: str, revision: str, kind: str, reference: dict[str, str]
) -> None:
    files = synced({"engine": "flux", "repoURL": url, "revision": revision})
    source = files["source.yaml"]
    assert (source["kind"], source["spec"]["url"]) == (kind, url)
    assert source["spec"]["ref"] == reference
    names = {"kind": kind, "name": source["metadata"]["name"]}
    assert all(wave["spec"]["sourceRef"] == names for wave in kustomizations(files))


def test_longest_names_fit_into_a_label() -> None:
    tree = Tree()
    for wave in Wave:
        tree.add(f"kustomize/{wave}/kustomization.yaml", "resources: []\n")
    spec = resolved({"/name": "c" * 40, "/delivery": {"engine": "flux", "repoURL": REPOSITORY}})
    render_sync(spec, tree)
    for path in tree.below("sync"):
        if path.endswith(".yaml"):
            assert len(yaml.safe_load(tree[path])["metadata"]["name"]) <= 63

"""The delivery: objects for Argo CD or Flux, and annotations of rendered objects for them.

One Argo CD Application whose objects have sync waves, or one Flux Kustomization per wave. Neither
waits for DaemonSets: one broken node must not block later waves. Both wait for a second scheduler
before pods are sent to it. Sources: argoproj/argo-cd v3.5,
docs/user-guide/{sync-waves,sync-options,diff-strategies}.md and gitops-engine/pkg/sync;
fluxcd/kustomize-controller v1.9, docs/spec/v1/kustomizations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugen.kube import metadata, scheduling
from gpugen.model.assembly import KubeObject, Wave
from gpugen.model.delivery import Delivery, SourceRef
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree
from gpugen.render.sync_readme import readme
from gpugen.render.yaml_files import yaml_file

ARGOCD, FLUX = "argocd", "flux"
KEPT = frozenset(
    {"Namespace", "CustomResourceDefinition"}
)  # deleting them deletes everything in them
WORKLOADS = frozenset({"DaemonSet", "Deployment", "StatefulSet", "Job"})  # what Argo CD waits for
WAITED_FOR = (Wave.NAMESPACES, Wave.CRDS)
AFTER = {  # what a Flux wave depends on; monitoring's CRDs may be missing, so nothing waits for it
    Wave.CRDS: Wave.NAMESPACES,
    Wave.ADMISSION: Wave.CRDS,
    Wave.DEVICES: Wave.ADMISSION,
    Wave.MONITORING: Wave.DEVICES,
    Wave.SCHEDULING: Wave.DEVICES,
    Wave.SCHEDULER_NAME: Wave.SCHEDULING,
}
POLICY = "AdmissionPolicy"  # in the names of their kinds
OWN_CLUSTER = {"server": "https://kubernetes.default.svc"}
COMMIT_DIGITS = 40


def delivery_annotations(engine: str, wave: Wave, item: KubeObject) -> dict[str, str]:
    """Return an object's annotations for the engine: its order, and whether it may be deleted."""
    if engine == ARGOCD:
        return _argocd_annotations(wave, item)
    if engine == FLUX:
        return _flux_annotations(item)
    return {}


def _argocd_annotations(wave: Wave, item: KubeObject) -> dict[str, str]:
    notes = {"argocd.argoproj.io/sync-wave": str(_argocd_wave(wave, item["kind"]))}
    if item["kind"] in KEPT:
        notes["argocd.argoproj.io/sync-options"] = "Prune=false,Delete=false"
    elif _is_custom(item):
        notes["argocd.argoproj.io/sync-options"] = "SkipDryRunOnMissingResource=true"
    return notes


def _argocd_wave(wave: Wave, kind: str) -> int:
    """Return the number of the sync wave.

    Argo CD starts a wave only when the one before is healthy, so workloads and all that follows
    share the last one. That is 0, the wave of users' objects without annotation. A second scheduler
    is the exception: the policy with its name is in the last wave.
    """
    if wave in WAITED_FOR:
        return WAITED_FOR.index(wave) - 3
    is_scheduler = wave is Wave.SCHEDULING and POLICY not in kind
    is_before_workloads = wave in (Wave.ADMISSION, Wave.DEVICES) and kind not in WORKLOADS
    return -1 if is_scheduler or is_before_workloads else 0


def _is_custom(item: KubeObject) -> bool:
    """Tell whether a CRD defines the object, so that its kind may be missing in the cluster."""
    group = item["apiVersion"].rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def _flux_annotations(item: KubeObject) -> dict[str, str]:
    notes = {}
    if item["kind"] in KEPT:
        notes["kustomize.toolkit.fluxcd.io/prune"] = "disabled"
    if "$" in repr(item):  # Flux would replace ${...} wherever a Kustomization has variables
        notes["kustomize.toolkit.fluxcd.io/substitute"] = "disabled"
    return notes


def render_sync(spec: ClusterSpec, tree: Tree) -> None:
    """Add sync/ to the tree; call it after kustomize/, whose waves it lists."""
    if spec.delivery.engine == ARGOCD:
        objects = {"application": _application(spec)}
    elif spec.delivery.engine == FLUX:
        objects = _flux_objects(spec, _waves(tree))
    else:
        return
    for name, value in objects.items():
        tree.add(f"sync/{name}.yaml", yaml_file(spec, value))
    tree.add("sync/README.md", readme(spec))


def _object_name(spec: ClusterSpec) -> str:
    """Return the name of the Application, with which names of Flux objects begin."""
    return f"gpugen-{spec.name}"


def _waves(tree: Tree) -> list[Wave]:
    return [wave for wave in Wave if f"kustomize/{wave}/kustomization.yaml" in tree]


def _application(spec: ClusterSpec) -> KubeObject:
    delivery = spec.delivery
    meta = metadata(
        _object_name(spec),
        namespace=delivery.argocd.namespace,
        annotations={"argocd.argoproj.io/compare-options": "ServerSideDiff=true"},
    )
    info = [{"name": "Spec", "value": spec.source}]
    if spec.description:
        info.append({"name": "Description", "value": spec.description})
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": meta,
        "spec": {
            "project": delivery.argocd.project,
            "source": {
                "repoURL": delivery.repo_url,
                "targetRevision": delivery.revision,
                "path": delivery.path,
            },
            "destination": dict(delivery.argocd.destination or OWN_CLUSTER),
            "info": info,
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": ["ServerSideApply=true", "SkipDryRunOnMissingResource=true"],
                "retry": {
                    "limit": 5,
                    "backoff": {"duration": "30s", "factor": 2, "maxDuration": "5m"},
                },
            },
        },
    }


def _source_reference(spec: ClusterSpec) -> dict[str, str]:
    """Return the Flux source: the user's, or one for the repository that the spec states."""
    own = spec.delivery.flux.source_ref
    return (own or SourceRef(_source_kind(spec.delivery), _object_name(spec)))._asdict()


def _source_kind(delivery: Delivery) -> str:
    return "OCIRepository" if delivery.repo_url.startswith("oci://") else "GitRepository"


def _flux_objects(spec: ClusterSpec, waves: list[Wave]) -> dict[str, KubeObject]:
    reference = _source_reference(spec)
    objects: dict[str, KubeObject] = {}
    if spec.delivery.flux.source_ref is None:
        objects["source"] = _flux_source(spec)
    for wave in waves:
        objects[str(wave)] = _flux_kustomization(spec, wave, reference, _before(wave, waves))
    return objects


def _before(wave: Wave, waves: list[Wave]) -> Wave | None:
    """Return the nearest wave of the tree on which another one depends."""
    before = AFTER.get(wave)
    return before if before is None or before in waves else _before(before, waves)


def _flux_source(spec: ClusterSpec) -> KubeObject:
    """Return the source of a repository without login."""
    delivery = spec.delivery
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": _source_kind(delivery),
        "metadata": _flux_metadata(spec, _object_name(spec)),
        "spec": {
            "interval": "1m",
            "url": delivery.repo_url,
            "ref": _source_revision(delivery),
        },
    }


def _source_revision(delivery: Delivery) -> dict[str, str]:
    revision = delivery.revision
    if _source_kind(delivery) == "OCIRepository":
        return {"tag": revision}
    if revision.startswith("refs/"):
        return {"name": revision}
    is_commit = len(revision) == COMMIT_DIGITS and set(revision) <= set("0123456789abcdef")
    return {"commit": revision} if is_commit else {"branch": revision}


def _flux_kustomization(
    spec: ClusterSpec, wave: Wave, reference: Mapping[str, str], before: Wave | None
) -> KubeObject:
    is_waited_for = wave in WAITED_FOR
    is_checked = wave is Wave.SCHEDULING and scheduling.is_waited_for(spec)
    content: dict[str, Any] = {
        "interval": "10m",
        "retryInterval": "1m",
        "timeout": "5m",
        "sourceRef": dict(reference),
        "path": f"./{spec.delivery.path}/{wave}",
        "prune": not is_waited_for,
        "wait": is_waited_for,
        **({"healthChecks": [_second_scheduler(spec)]} if is_checked else {}),
    }
    if before:
        content["dependsOn"] = [{"name": f"{_object_name(spec)}-{before}"}]
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": _flux_metadata(spec, f"{_object_name(spec)}-{wave}"),
        "spec": content,
    }


def _second_scheduler(spec: ClusterSpec) -> dict[str, str]:
    """Return the one workload that Flux waits for before pods get its name."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": scheduling.DEPLOYMENT,
        "namespace": spec.namespaces.controllers,
    }


def _flux_metadata(spec: ClusterSpec, name: str) -> dict[str, Any]:
    notes = {"gpugen/description": spec.description} if spec.description else {}
    return metadata(name, namespace=spec.delivery.flux.namespace, annotations=notes)

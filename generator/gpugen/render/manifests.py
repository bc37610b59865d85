"""The Kubernetes half: one folder per wave, in it cluster/ and one per pool, one object per file.

``kustomization.yaml`` files are thin lists, so that controllers stay linear.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gpugen.model.assembly import Assembly, KubeObject, Placed, Wave
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree
from gpugen.render.sync import delivery_annotations
from gpugen.render.yaml_files import header, of_pools, to_yaml

ONCE = "cluster"  # the folder of cluster-wide objects; not a valid pool name


def render_manifests(spec: ClusterSpec, assembly: Assembly, tree: Tree) -> None:
    """Add kustomize/ to the tree."""
    head = header(spec)
    folders: defaultdict[Wave, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for placed in assembly.objects:
        folder = placed.pool or ONCE
        name = _file_name(placed)
        folders[placed.wave][folder].append(name)
        value = _annotated(spec, placed)
        path = f"kustomize/{placed.wave}/{folder}/{name}"
        tree.add(path, head + to_yaml(value), placed.pool)
    for wave, pools in folders.items():
        for folder, names in pools.items():
            pool = "" if folder == ONCE else folder
            _kustomization(f"kustomize/{wave}/{folder}", sorted(names), head, tree, pool)
        own = of_pools({pool.name: [pool.name] for pool in spec.pools if pool.name in pools})
        _kustomization(f"kustomize/{wave}", [ONCE] * (ONCE in pools) + own, head, tree)
    _kustomization("kustomize", [str(wave) for wave in folders], head, tree)


def _file_name(placed: Placed) -> str:
    """Name the file by kind and name, and by namespace or pool only if the folder does not tell.

    A pool's folder has one namespace; the cluster's folder has several.
    """
    meta = placed.object["metadata"]
    stem = f"{placed.object['kind'].lower()}-{meta['name'].replace(':', '-')}"
    if placed.pool:
        return f"{stem.removesuffix(f'-{placed.pool}')}.yaml"
    return f"{stem}.{meta['namespace']}.yaml" if "namespace" in meta else f"{stem}.yaml"


def _annotated(spec: ClusterSpec, placed: Placed) -> KubeObject:
    """Return the object with the annotations for the delivery engine."""
    notes = delivery_annotations(spec.delivery.engine, placed.wave, placed.object)
    if not notes:
        return placed.object
    meta: dict[str, Any] = dict(placed.object["metadata"])
    meta["annotations"] = dict(sorted({**meta.get("annotations", {}), **notes}.items()))
    return {key: meta if key == "metadata" else value for key, value in placed.object.items()}


def _kustomization(
    folder: str, resources: list[str], head: str, tree: Tree, pool: str = ""
) -> None:
    value = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    }
    tree.add(f"{folder}/kustomization.yaml", head + to_yaml(value), pool)

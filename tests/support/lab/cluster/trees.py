"""The Kubernetes half of rendered trees as a delivery engine sees it: files in order of waves."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpugen import pipeline
from gpugen.assemble import assemble
from gpugen.model.assembly import Assembly, Wave
from gpugen.model.finding import Pointer
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree
from gpugen.workspace import Workspace
from support import ROOT

NOTHING: Mapping[str, Any] = {}
ABSENT = object()  # as a change: the key is taken away
SYNC = "sync"  # what Argo CD or Flux is pointed at; applied last


@dataclass(frozen=True, slots=True)
class Item:
    """One rendered object: its place in the order, its text, what the text says."""

    wave: str
    path: str
    text: bytes
    object: dict[str, Any]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Group, kind, namespace, name: what makes it the same object in the next version."""
        meta = self.object["metadata"]
        group = self.object["apiVersion"].rpartition("/")[0]
        return group, self.object["kind"], meta.get("namespace", ""), meta["name"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A spec, its plan, and its objects in order."""

    spec: ClusterSpec
    plan: Assembly
    items: tuple[Item, ...]

    def of_kind(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the objects of some kinds."""
        return [item.object for item in self.items if item.object["kind"] in kinds]

    def text(self, kind: str, name: str, key: str) -> str:
        """Return one file out of a rendered ConfigMap or the like."""
        (found,) = (o for o in self.of_kind(kind) if o["metadata"]["name"] == name)
        content: str = found["data"][key]
        return content


def examples() -> list[str]:
    """List the example clusters of the repository."""
    return _workspace().clusters()


@cache
def example(name: str) -> Rendered:
    """Render an example as the command does."""
    workspace = _workspace()
    return _rendered(workspace, workspace.spec_path(name))


def edited(name: str, changes: Mapping[str, Any], folder: Path) -> Rendered:
    """Render an example after setting, or taking away, what stands at some pointers.

    Layers are merged before, so that the edit is the last word. Raises AssertionError: findings.
    """
    workspace = _workspace()
    document = pipeline.run(workspace.spec_path(name), workspace).document
    assert document is not None
    data = copy.deepcopy(document.data)
    for pointer, value in changes.items():
        _put(data, Pointer(pointer).parts, value if value is ABSENT else copy.deepcopy(value))
    path = folder / "inventories" / name / "cluster.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    shutil.copytree(ROOT / "keys", folder / "keys", dirs_exist_ok=True)  # of repositories
    return _rendered(Workspace(folder), path)


@cache
def _workspace() -> Workspace:
    return Workspace(ROOT)


def _rendered(workspace: Workspace, path: Path) -> Rendered:
    outcome = pipeline.run(path, workspace)
    errors = [f"{f.id}: {f.message}" for f in outcome.findings if f.severity == "error"]
    assert outcome.spec is not None, errors
    assert not errors, errors
    return Rendered(
        outcome.spec, assemble(outcome.spec), tuple(_items(outcome.spec, pipeline.build(outcome)))
    )


def _items(spec: ClusterSpec, tree: Tree) -> Iterator[Item]:
    for wave in Wave:
        folder = f"kustomize/{wave}"
        for path in tree.below(folder):
            if not path.endswith("/kustomization.yaml"):
                yield _item(str(wave), path, tree[path])
    for path in tree.below(SYNC):
        if path.endswith(".yaml"):
            yield _item(SYNC, path, tree[path])


def _item(wave: str, path: str, text: bytes) -> Item:
    return Item(wave, path, text, yaml.load(text, yaml.CSafeLoader))


def _put(data: Any, parts: tuple[str, ...], value: Any) -> None:
    for part in parts[:-1]:
        data = data[int(part)] if isinstance(data, list) else data.setdefault(part, {})
    if isinstance(data, list):
        data[int(parts[-1]) : int(parts[-1]) + 1] = [] if value is ABSENT else [value]
    elif value is ABSENT:
        data.pop(parts[-1], None)
    else:
        data[parts[-1]] = value

"""A rendered tree as its readers see it: files, objects, inventory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from support import ansible_yaml

Json = dict[str, Any]


@dataclass
class Rendered:
    """The files of ``out/<cluster>``, parsed where somebody parses them."""

    files: dict[str, bytes]
    kubernetes: str = "1.36"
    _parsed: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, kubernetes: str) -> Rendered:
        """Read a tree from a folder."""
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        return cls(files, kubernetes)

    def with_files(self, files: dict[str, bytes]) -> Rendered:
        """Return a tree of other files; what is the same in both is parsed once."""
        kept = {p: data for p, data in self._parsed.items() if files.get(p) == self.files[p]}
        return Rendered(files, self.kubernetes, kept)

    def parsed(self, path: str) -> Any:
        """Return a YAML file's data."""
        if path not in self._parsed:
            self._parsed[path] = ansible_yaml.read(self.files[path])
        return self._parsed[path]

    @cached_property
    def objects(self) -> dict[str, Json]:
        """Every Kubernetes object below kustomize/ by its path."""
        return {
            path: self.parsed(path)
            for path in sorted(self.files)
            if path.startswith("kustomize/") and not path.endswith("kustomization.yaml")
        }

    def of_kind(self, *kinds: str) -> dict[str, Json]:
        """Return the objects of some kinds."""
        return {path: item for path, item in self.objects.items() if item.get("kind") in kinds}

    @cached_property
    def group_vars(self) -> dict[str, Json]:
        """Variables by group: all, pool_a, ..."""
        start = "ansible/inventory/group_vars/"
        return {
            path.removeprefix(start).removesuffix(".yml"): self.parsed(path)
            for path in sorted(self.files)
            if path.startswith(start)
        }

    def payload(self, item: Json, ending: str) -> dict[str, str]:
        """Return a ConfigMap's entries with such an ending."""
        return {k: v for k, v in item.get("data", {}).items() if k.endswith(ending)}


def pod_of(item: Json) -> Json:
    """Return the pod that a workload makes."""
    pod: Json = item["spec"]["template"]["spec"]
    return pod


def text_of(value: Any) -> str:
    """Return a value as sorted JSON."""
    return json.dumps(value, sort_keys=True)

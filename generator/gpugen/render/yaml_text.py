"""Rendered YAML files: the header that names their source, then one document."""

from __future__ import annotations

from gpugen.kube import header
from gpugen.model.spec import ClusterSpec
from gpugen.yaml_text import Unsafe, to_yaml

__all__ = ["Unsafe", "header", "to_yaml", "yaml_file"]


def yaml_file(spec: ClusterSpec, value: object) -> str:
    """Write one YAML file with its header."""
    return header(spec) + to_yaml(value)

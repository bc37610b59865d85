"""Builders of Kubernetes objects as plain mappings; every object of ours is made here."""

from gpugen.kube.objects import (
    CHECKSUM,
    NAME_LABEL,
    NOTHING,
    OWNER,
    POOL_LABEL,
    RUNTIME_CLASS,
    checksum,
    config_map,
    header,
    image,
    metadata,
)
from gpugen.kube.pods import (
    config_volume,
    confined_security,
    empty_dir,
    env,
    field_env,
    host_path,
    mount,
    restricted_security,
)
from gpugen.kube.rbac import (
    cluster_role,
    cluster_role_binding,
    role,
    role_binding,
    rule,
    service_account,
)
from gpugen.kube.workloads import (
    deployment,
    node_agent,
    pod_spec,
    whole_or_percent,
)
from gpugen.yaml_text import to_yaml as yaml_text

__all__ = [
    "CHECKSUM",
    "NAME_LABEL",
    "NOTHING",
    "OWNER",
    "POOL_LABEL",
    "RUNTIME_CLASS",
    "checksum",
    "cluster_role",
    "cluster_role_binding",
    "config_map",
    "config_volume",
    "confined_security",
    "deployment",
    "empty_dir",
    "env",
    "field_env",
    "header",
    "host_path",
    "image",
    "metadata",
    "mount",
    "node_agent",
    "pod_spec",
    "restricted_security",
    "role",
    "role_binding",
    "rule",
    "service_account",
    "whole_or_percent",
    "yaml_text",
]

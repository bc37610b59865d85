"""Validates objects against the Kubernetes client's models, which are generated from the API.

A field that the client does not know is lost in it, a wrong type raises: either is a bug in a
builder. Custom resources are not validated: the client has no models of them.
"""

from __future__ import annotations

import json
from typing import Any

from gpugen.errors import GpugenError
from gpugen.model.assembly import KubeObject

CLIENT = "kubernetes>=37,<38"  # the extra of pyproject.toml: a major version per minor of the API
HOW = f"the Kubernetes client: pip install '{CLIENT}'"


def difference(item: KubeObject) -> str:
    """Return how an object differs from what the client returns for it; empty if it does not."""
    client = _client()
    version = item["apiVersion"].rpartition("/")[2]
    model = f"{version[0].upper()}{version[1:]}{item['kind']}"
    if not hasattr(client, model):
        return ""
    api = client.ApiClient()
    try:
        parsed = api.deserialize(json.dumps(item), model, "application/json")
        back: Any = api.sanitize_for_serialization(parsed)
    except Exception as error:  # noqa: BLE001 - the client raises whatever its models raise
        return f"{type(error).__name__}: {error}"
    return _first_difference(_plain(item), back, "")


def _client() -> Any:
    """Return the client's models. Raises GpugenError: it, or its version, is not installed."""
    try:
        from kubernetes import __version__, client
    except ImportError as missing:
        raise GpugenError(f"--verify needs {HOW}") from missing
    if not CLIENT.startswith(f"kubernetes>={__version__.partition('.')[0]},"):
        raise GpugenError(f"--verify needs another Kubernetes client than {__version__}: {HOW}")
    return client


def _plain(value: Any) -> Any:
    """Return the object as JSON would carry it, without empty values, which the client drops."""
    return json.loads(json.dumps(value))


def _first_difference(ours: Any, theirs: Any, at: str) -> str:
    """Return the first place where two values differ; empty if they are equal."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            if key not in theirs:
                return f"{at}/{key} is not a field of the API"
            if key not in ours:
                return f"{at}/{key} is added by the client"
            if found := _first_difference(ours[key], theirs[key], f"{at}/{key}"):
                return found
        return ""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next((f for i, (a, b) in pairs if (f := _first_difference(a, b, f"{at}/{i}"))), "")
    return "" if ours == theirs else f"{at} is {ours!r}, but {theirs!r} after the client"

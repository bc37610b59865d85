"""Components, one folder each, in families: when they are on and what they contribute."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from gpugen.components.defaults import fill, read
from gpugen.model.assembly import Contribution
from gpugen.model.spec import ClusterSpec

T = TypeVar("T")
FOLDER = Path(__file__).parent


class Component(NamedTuple, Generic[T]):
    """One component; its name is its folder's, with hyphens. When it is on says ``stacks``.

    options: the record of what ``options.schema.json`` allows; None: there is nothing to say.
    """

    contribute: Callable[[ClusterSpec, T], Contribution]
    options: type[T] | None = None


@cache
def folders() -> Mapping[str, Path]:
    """Return the folder of every component, sorted by name; the folder above is its family."""
    found = (path.parent for path in FOLDER.glob("*/*/__init__.py"))
    return {f.name.replace("_", "-"): f for f in sorted(found, key=lambda f: f.name)}


def names() -> tuple[str, ...]:
    """List all components, sorted."""
    return tuple(folders())


@cache
def options_schema(name: str) -> dict[str, Any] | None:
    """Read the schema of ``components.<name>``; None: specs cannot state it."""
    path = folders()[name] / "options.schema.json"
    if not path.is_file():
        return None
    schema: dict[str, Any] = json.loads(path.read_bytes())
    return schema


def find(name: str) -> Component[Any]:
    """Import one component."""
    folder = folders()[name]
    component = import_module(f"gpugen.components.{folder.parent.name}.{folder.name}").COMPONENT
    assert isinstance(component, Component)
    return component


def options_of(name: str, stated: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the options of a component, what is not stated by default; None: it has none."""
    kind, schema = find(name).options, options_schema(name) or {}
    return None if kind is None else read(kind, fill(stated, schema, schema))

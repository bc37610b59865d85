"""Finds collection and schemas: below the package in a wheel, beside generator/ in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


@cache
def _assets() -> Path:
    installed = PACKAGE / "_assets"
    return installed if installed.is_dir() else PACKAGE.parent.parent


def collection() -> Path:
    """Return the folder of the collection: that of galaxy.yml, with other files beside."""
    return _assets()


def roles() -> Path:
    """Return the folder of the Ansible roles."""
    return _assets() / "roles"


def schemas() -> Path:
    """Return the folder of the JSON Schemas."""
    return _assets() / "schemas"


def plugins() -> Path:
    """Return the folder of the collection's plugins."""
    return _assets() / "plugins"

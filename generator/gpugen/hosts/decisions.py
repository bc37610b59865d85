"""Loads what roles decide with out of the collection; it needs no Ansible."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

from gpugen import assets

PACKAGE = "gpugen_hosts_plugin_utils"


def load(name: str) -> ModuleType:
    """Return a module of plugins/plugin_utils, such as that of a role."""
    if PACKAGE not in sys.modules:
        folder = assets.plugins() / "plugin_utils"
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{PACKAGE}.{name}")

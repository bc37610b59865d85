# Copyright: the gpugen authors. Apache-2.0.
"""What was seen of toolkits on a host, and what is expected of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..common import host
from ..common import seen as read

RECORD = "/var/lib/misc/gpugen-cuda-toolkit.json"
LINK = "/usr/local/cuda"
NOTHING: Mapping[str, Any] = {  # what is expected of a host that the role leaves
    "cuda_toolkit_packages": [],
    "cuda_toolkit_default": "",
    "cuda_toolkit_profile": False,
    "cuda_toolkit_cudnn": "",
    "cuda_toolkit_cudnn_package": "",
}
OF_ONE_VERSION = re.compile(r"-[0-9]+-[0-9]+$|cudnn9")

Wanted = Mapping[str, Any]
Seen = Mapping[str, Any]


class Host(NamedTuple):
    """A host and what is expected of it."""

    seen: Seen
    manager: str  # apt, dnf
    packages: list[str]
    default: str
    has_profile: bool
    cudnn: str
    cudnn_package: str
    driver_floor: str
    procfs: str
    installed: Mapping[str, str]  # versions by name
    former: Mapping[str, Any]  # the role's record: default, packages with versions

    @property
    def cudnn_is_there(self) -> bool:
        """Tell whether cuDNN is installed in the expected version (CUD-04)."""
        found = self.installed.get(self.cudnn_package, "").removeprefix("0:")
        return found.startswith((f"{self.cudnn}.", f"{self.cudnn}-"))

    @property
    def missing(self) -> list[str]:
        """Return the packages that are missing, or of another version than expected."""
        found = [name for name in self.packages if name not in self.installed]
        return found + ([self.cudnn_package] if self.cudnn and not self.cudnn_is_there else [])

    @property
    def retired(self) -> list[str]:
        """Return what came with this role and nothing needs any more.

        A toolkit's packages end in its version, cuda-nvcc-13-0; what has no version in its name is
        shared, and stays with the last of them.
        """
        names = self.former["packages"]
        if self.packages:
            names = [name for name in names if OF_ONE_VERSION.search(name)]
        return sorted(name for name in names if not self._is_needed(name))

    def _is_needed(self, name: str) -> bool:
        ends = tuple(each.removeprefix("cuda-toolkit") for each in self.packages)
        if ends and name.endswith(ends):
            return True
        end = self.cudnn_package.removeprefix("cudnn9")
        is_cudnn = name.removeprefix("lib").startswith("cudnn9")
        return bool(self.cudnn) and is_cudnn and name.endswith(end)

    @property
    def kept(self) -> dict[str, str]:
        """Return what came with this role and stays, with versions."""
        retired = self.retired
        return {name: own for name, own in self.former["packages"].items() if name not in retired}

    @property
    def home(self) -> str:
        """Return where the default toolkit lies."""
        return f"{LINK}-{self.default}"

    @property
    def link(self) -> str:
        """Return where /usr/local/cuda leads."""
        return str(read.command(self.seen, "link")["out"]).strip()

    @property
    def is_link_due(self) -> bool:
        """Tell whether a stated default is not the one that is chosen (CUD-03)."""
        return bool(self.default) and self.link != self.home

    @property
    def is_link_former(self) -> bool:
        """Tell whether a default of ours is no longer stated."""
        return not self.default and bool(self.former["default"])


def view(seen: Seen, wanted: Wanted) -> Host:
    """Return what was seen and is expected; nothing is of a host that the role leaves."""
    own = {**wanted, **(NOTHING if wanted.get("state") == "absent" else {})}
    blank = {"default": "", "packages": {}}
    return Host(
        seen,
        host.package_manager(seen, str(wanted.get("gpu_prerequisites_os") or "")),
        list(own.get("cuda_toolkit_packages") or ()),
        str(own.get("cuda_toolkit_default") or ""),
        bool(own.get("cuda_toolkit_profile")),
        str(own.get("cuda_toolkit_cudnn") or ""),
        str(own.get("cuda_toolkit_cudnn_package") or ""),
        str(own.get("cuda_toolkit_driver_floor") or ""),
        str(own.get("__cuda_toolkit_procfs", "/proc")),
        read.packages(seen),
        {**blank, **json.loads(read.text(seen, RECORD) or "{}")},
    )


def loaded(own: Host) -> str:
    """Return the version of the loaded driver; empty where none is."""
    text = read.text(own.seen, version_file(own))
    for line in text.splitlines():
        words = line.partition("NVRM version:")[2].split()
        for word in words:
            if re.fullmatch(r"[0-9]{3}[.][0-9.]+", word):
                return word
    return ""


def version_file(own: Host) -> str:
    """Return the file in which the loaded driver names its version."""
    return f"{own.procfs}/driver/nvidia/version"

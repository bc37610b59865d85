# Copyright: the gpugen authors. Apache-2.0.
"""The answers of a host that is as its variables say."""

from __future__ import annotations

from typing import Any

from ..common.blocks import with_block
from . import files
from .host import LINK, Host, Wanted, view

VERSION = "1-1"  # of a toolkit's package, which no spec states


def described(wanted: Wanted) -> dict[str, Any]:
    """Return what such a host would answer."""
    bare = view({}, wanted)
    packages = dict.fromkeys(bare.packages, VERSION)
    if bare.cudnn:
        packages[bare.cudnn_package] = f"{bare.cudnn}.1-1"
    own = bare._replace(former={"default": bare.default, "packages": packages}, installed=packages)
    home = own.home if own.default else ""
    commands = {"link": home, "chosen": "/etc/alternatives/cuda", "known": f"{home} - "}
    return {
        "host": {"pkg_mgr": own.manager},
        "files": _files(own),
        "globs": {LINK: [LINK] if own.default else []},
        "packages": {name: {"version": own, "held": False} for name, own in packages.items()},
        "commands": {name: {"rc": 0, "out": out, "err": ""} for name, out in commands.items()},
    }


def _files(own: Host) -> dict[str, Any]:
    texts = {path: text for path, text in files.expected(own).items() if text}
    if lines := files.locks(own):
        texts[files.LOCKS] = with_block("", files.BLOCK, lines)
    return {path: {"text": text, "mtime": 0.0} for path, text in texts.items()}

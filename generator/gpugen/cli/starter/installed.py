"""The pip requirement of the running gpugen, read from how it was installed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

LEGAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 @._~:/+=<>!,#\[\]-]*\Z")  # no quotes, no shell
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\Z")


def installed() -> str:
    """Return the requirement of the running gpugen; empty if nothing identifies it exactly."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("gpugen").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return requirement(text or "")


def requirement(direct_url: str) -> str:
    """Return what names the same bytes elsewhere: a commit, or an archive with its hash.

    direct_url: content of direct_url.json. A folder or file of this machine, an address with a user
    or a query, and a branch name nothing that others could install; these give nothing.
    Source: PEP 610; pip's direct references, ``name @ address#sha256=...``.
    """
    try:
        origin = json.loads(direct_url)
    except ValueError:
        return ""
    if not isinstance(origin, dict) or not is_public(origin.get("url")):
        return ""
    found = _of_commit(origin) or _of_archive(origin)
    return found if LEGAL.match(found) else ""


def unfit(stated: str) -> str:
    """Return why a requirement cannot be in files that everybody reads; empty if it can."""
    if not LEGAL.match(stated):
        return "is not a pip requirement"
    address = stated.rpartition(" @ ")[2].strip()
    scheme, mark, rest = address.partition("://")
    if "file:" in stated or (not mark and "/" in address):
        return "is a file of this machine, which others cannot install"
    if mark and not scheme.endswith(("https", "ssh")):
        return "is not an https or ssh URL"
    user, at, _ = rest.partition("/")[0].rpartition("@")
    if at and user != "git":
        return "contains a user or a credential, which would be published"
    return ""


def is_public(url: object) -> bool:
    """Tell whether an address is https, with a host, without user, query and fragment."""
    if not isinstance(url, str) or not url.startswith("https://"):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) and not ("@" in parts.netloc or parts.query or parts.fragment)


def _of_commit(origin: Mapping[str, Any]) -> str:
    vcs = origin.get("vcs_info")
    if not isinstance(vcs, dict) or vcs.get("vcs") != "git":
        return ""
    commit, folder = str(vcs.get("commit_id", "")), str(origin.get("subdirectory", ""))
    if not _COMMIT.match(commit) or (folder and not _FOLDER.match(folder)):
        return ""
    return f"gpugen @ git+{origin['url']}@{commit}" + (f"#subdirectory={folder}" if folder else "")


def _of_archive(origin: Mapping[str, Any]) -> str:
    archive = origin.get("archive_info")
    if not isinstance(archive, dict) or "subdirectory" in origin:
        return ""
    hashes = archive.get("hashes")
    known = hashes.get("sha256") if isinstance(hashes, dict) else None
    digest = str(known or str(archive.get("hash", "")).removeprefix("sha256="))
    return f"gpugen @ {origin['url']}#sha256={digest}" if _SHA256.match(digest) else ""

"""Validates the public keys of package repositories, as the play will on the control host."""

from __future__ import annotations

import binascii
from pathlib import Path

from gpugen.catalog.packages import PackageSource, fetch_command
from gpugen.hosts import decisions
from gpugen.model.finding import Finding

ID = "repository-key-file"
LARGEST = 65536  # bytes of a key; a vendor's has less than 8192


def finding(path: Path, root: Path, stated: PackageSource) -> Finding | None:
    """Return the finding about a repository's key file, if any."""
    if stated.key_url:
        return _finding_of_vendors(path, root, stated)
    why = _unusable(path, root)
    found, why = ("", why) if why else _fingerprint(read(path))
    if why:
        return Finding(
            ID,
            f"the repository's key {stated.key_file!r} {why}",
            "put the vendor's or mirror's public key there, ASCII-armoured (gpg --armor --export)",
            stated.at / "keyFile",
        )
    if found == stated.fingerprint:
        return None
    return Finding(
        ID,
        f"the repository's key {stated.key_file!r} has another fingerprint: {found}",
        "compare it with what the vendor or mirror publishes; correct the fingerprint, or use"
        " their key",
        stated.at / "fingerprint",
    )


def _finding_of_vendors(path: Path, root: Path, stated: PackageSource) -> Finding | None:
    """Validate a vendor's key, whose file name and fingerprint the catalogue has."""
    why = _unusable(path, root)
    found, why = ("", why) if why else _fingerprint(read(path))
    if not why and found == stated.fingerprint:
        return None
    return Finding(
        ID,
        f"the vendor's key {stated.key_file!r} {why or f'has another fingerprint: {found}'}",
        f"fetch it and check its fingerprint with: {fetch_command(stated)}",
        stated.at,
    )


def read(path: Path) -> bytes:
    """Return the content of a key file, at most one byte more than allowed."""
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _unusable(path: Path, root: Path) -> str:
    """Return why a file is not a usable key; empty if nothing is wrong."""
    if not path.is_file():
        return "does not exist"
    if not path.resolve().is_relative_to(root):
        return "is outside of the repository"
    start = read(path)
    if len(start) > LARGEST:
        return f"has more than {LARGEST} bytes"
    if b"PRIVATE KEY" in start:
        return "contains a private key"
    if b"BEGIN PGP PUBLIC KEY BLOCK" not in start:
        return "is not an ASCII-armoured public key"
    return ""


def _fingerprint(content: bytes) -> tuple[str, str]:
    """Return the key's fingerprint as the role computes it, or why the role would refuse it."""
    reader = decisions.load("openpgp_key")
    try:
        return str(reader.fingerprint(reader.dearmor(content))), ""
    except (ValueError, IndexError, StopIteration, binascii.Error) as error:
        return "", f"is not a single public key: {error or 'truncated'}"

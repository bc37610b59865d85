# Copyright: the gpugen authors. Apache-2.0.
"""Reads the one OpenPGP public key of a file: its format and its fingerprint.

The control host needs no gpg for it. A version 4 fingerprint is the SHA-1 of the public-key packet
behind the octet 0x99 and its length (RFC 4880, section 12.2).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from typing import NamedTuple

PUBLIC_KEY = 6
ARMOR = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"


class Key(NamedTuple):
    """A public key. form: asc, which is armored, or gpg, which is binary."""

    form: str
    fingerprint: str


def read(content: bytes) -> Key:
    """Return the only public key of a file.

    Raises ValueError: there is none, or more than one.
    """
    is_armored = ARMOR in content
    try:
        found = fingerprint(dearmor(content) if is_armored else content)
    except (ValueError, IndexError, StopIteration, binascii.Error) as error:
        raise ValueError(f"is no single public key: {error}") from error
    return Key("asc" if is_armored else "gpg", found)


def dearmor(text: bytes) -> bytes:
    """Return the packets of an armored key."""
    if text.count(ARMOR) != 1:
        raise ValueError("several armored blocks")
    lines = [line.strip() for line in text.split(ARMOR, 1)[1].splitlines()]
    start = lines.index(b"", 1) + 1  # armor headers end with an empty line
    end = next(i for i, line in enumerate(lines) if i >= start and line[:1] in (b"=", b"-"))
    return base64.b64decode(b"".join(lines[start:end]), validate=True)


def old_length(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Return length and start of the body of an old-format packet."""
    size = (1, 2, 4)[kind]
    return int.from_bytes(data[at : at + size], "big"), at + size


def new_length(data: bytes, at: int) -> tuple[int, int]:
    """Return length and start of the body of a new-format packet."""
    first = data[at]
    if first < 192:
        return first, at + 1
    if first < 224:
        return ((first - 192) << 8) + data[at + 1] + 192, at + 2
    return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5


def packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and body of each packet."""
    at = 0
    while at < len(data):
        head = data[at]
        if not head & 0x80:
            raise ValueError("no OpenPGP packet")
        if head & 0x40:
            tag, (length, start) = head & 0x3F, new_length(data, at + 1)
        else:
            tag, (length, start) = (head >> 2) & 0x0F, old_length(data, at + 1, head & 3)
        if start + length > len(data):
            raise ValueError("truncated")
        yield tag, data[start : start + length]
        at = start + length


def fingerprint(data: bytes) -> str:
    """Return the fingerprint of the only primary key."""
    keys = [body for tag, body in packets(data) if tag == PUBLIC_KEY]
    if len(keys) != 1:
        raise ValueError(f"{len(keys)} keys, expected one")
    if keys[0][0] != 4:
        raise ValueError(f"a key of version {keys[0][0]}, expected 4")
    head = b"\x99" + len(keys[0]).to_bytes(2, "big")
    return hashlib.sha1(head + keys[0], usedforsecurity=False).hexdigest().upper()

"""The reader of OpenPGP keys."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support import ROOT

openpgp_key: Any = load("openpgp_key")
KEY = (ROOT / "tests" / "data" / "keys" / "packages.asc").read_text(encoding="utf-8")
FINGERPRINT = "FC89AF4178C3C8F9C767F9E28D970BAFFD4E85AD"  # as gpg prints it
PACKETS = openpgp_key.dearmor(KEY.encode())
BODY = next(body for tag, body in openpgp_key.packets(PACKETS) if tag == openpgp_key.PUBLIC_KEY)


def packet(body: bytes, length: bytes) -> bytes:
    """Return a public key as a packet of the new format."""
    return b"\xc6" + length + body


def test_fingerprint_of_an_armored_key() -> None:
    assert openpgp_key.read(KEY.encode()) == ("asc", FINGERPRINT)


def test_fingerprint_of_a_binary_key() -> None:
    lines = KEY.split("\n\n")[1].splitlines()
    binary = base64.b64decode("".join(line for line in lines if line[:1] not in ("=", "-")))
    assert openpgp_key.read(binary) == ("gpg", FINGERPRINT)


@pytest.mark.parametrize(
    "length",
    [bytes([len(BODY)]), b"\xff" + len(BODY).to_bytes(4, "big")],
    ids=["short", "long"],
)
def test_fingerprint_of_packets_of_the_new_format(length: bytes) -> None:
    assert openpgp_key.read(packet(BODY, length)) == ("gpg", FINGERPRINT)


def test_a_packet_of_middle_length() -> None:
    body = b"\x04" + bytes(299)
    rest = len(body) - 192
    found = list(openpgp_key.packets(packet(body, bytes([192 + (rest >> 8), rest & 0xFF]))))
    assert found == [(openpgp_key.PUBLIC_KEY, body)]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no key\n",
        KEY + KEY,
        KEY.replace("mDMEawGTRh", "mDMEawGTR"),
        KEY.split("ZxuM")[0],
        KEY.split("\n\n")[0] + "\n\n-----END PGP PUBLIC KEY BLOCK-----\n",
    ],
    ids=["empty", "text", "two-keys", "bad-base64", "cut", "no-content"],
)
def test_what_is_no_single_key_has_no_fingerprint(content: str) -> None:
    with pytest.raises(ValueError, match="is no single public key"):
        openpgp_key.read(content.encode())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (PACKETS + PACKETS, "2 keys, expected one"),
        (packet(b"\x05" + bytes(20), b"\x15"), "a key of version 5, expected 4"),
        (packet(BODY, b"\xbf"), "truncated"),
    ],
    ids=["two", "version", "cut"],
)
def test_why_a_binary_key_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        openpgp_key.read(content)

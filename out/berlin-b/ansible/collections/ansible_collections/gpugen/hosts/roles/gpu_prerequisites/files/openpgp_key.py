"""Prints format (asc or gpg) and fingerprint of the one OpenPGP public key in each file.

Runs on the control host, which needs no gpg for it. A version 4 fingerprint is the SHA-1 of the
public-key packet behind the octet 0x99 and its length (RFC 4880, section 12.2).
"""

import base64
import binascii
import hashlib
import sys

PUBLIC_KEY = 6
ARMOR = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"


def dearmor(text):
    """Return the packets of an armored key."""
    if text.count(ARMOR) != 1:
        raise ValueError("several armored blocks")
    lines = [line.strip() for line in text.split(ARMOR, 1)[1].splitlines()]
    start = lines.index(b"", 1) + 1  # armor headers end with an empty line
    end = next(i for i, line in enumerate(lines) if i >= start and line[:1] in (b"=", b"-"))
    return base64.b64decode(b"".join(lines[start:end]), validate=True)


def old_length(data, at, kind):
    """Return length and start of the body of an old-format packet."""
    size = (1, 2, 4)[kind]
    return int.from_bytes(data[at : at + size], "big"), at + size


def new_length(data, at):
    """Return length and start of the body of a new-format packet."""
    first = data[at]
    if first < 192:
        return first, at + 1
    if first < 224:
        return ((first - 192) << 8) + data[at + 1] + 192, at + 2
    return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5


def packets(data):
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


def fingerprint(data):
    """Return the fingerprint of the only primary key."""
    keys = [body for tag, body in packets(data) if tag == PUBLIC_KEY]
    if len(keys) != 1:
        raise ValueError("%d keys, expected one" % len(keys))
    if keys[0][0] != 4:
        raise ValueError("a key of version %d, expected 4" % keys[0][0])
    head = b"\x99" + len(keys[0]).to_bytes(2, "big")
    return hashlib.sha1(head + keys[0], usedforsecurity=False).hexdigest().upper()


def main(path):
    """Print format and fingerprint, or the reason why there is none."""
    with open(path, "rb") as file:
        content = file.read()
    is_armored = ARMOR in content
    try:
        key = fingerprint(dearmor(content) if is_armored else content)
    except (ValueError, IndexError, StopIteration, binascii.Error) as error:
        sys.exit("%s is no single public key: %s" % (path, error))
    print("asc" if is_armored else "gpg", key)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        main(each)

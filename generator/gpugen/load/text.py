"""From bytes to text: size, encoding, forbidden characters, files that are no spec at all."""

from __future__ import annotations

import re

from gpugen.load.faults import MAX_BYTES, Faults, finding
from gpugen.model.finding import Finding, Location
from gpugen.text.spelling import shown

# C0, DEL, C1, line separators, direction marks, byte order mark inside, non-characters, surrogates
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_ODD_SPACE = re.compile(
    "(?:^[ -]*|:)([\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000])", re.MULTILINE
)
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: .*)?$|^={7}$", re.MULTILINE)
_SIGNS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_SOPS = re.compile(r"ENC\[AES256_GCM,|^sops:", re.MULTILINE)
_DIRECTIVE = re.compile(r"^%.*", re.MULTILINE)
_YAML_12 = re.compile(r"(?:[ ]*(?:#.*)?\n)*%(?=YAML 1\.2[ ]*\n)")
_WIDE_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_CIPHERS = {
    b"$ANSIBLE_VAULT;": "Ansible Vault",
    b"-----BEGIN ": "PGP or age",
    b"age-encryption.org/": "age",
}
_LFS = b"version https://git-lfs.github.com/spec/"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def decode(raw: bytes, path: str) -> tuple[str, list[Finding]]:
    """Return the text with ``\\n`` as its only line end, or why there is none.

    A byte order mark and a line ``%YAML 1.2`` are accepted and lose their meaning.
    """
    finding = _foreign(raw, Location(path, 1, 1))
    if finding is not None:
        return "", [finding]
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + len(_BYTE_ORDER_MARK) * raw.startswith(_BYTE_ORDER_MARK)
        return "", [_not_utf8(raw, at, path)]
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    faults = Faults(path, text)
    _characters(text, faults)
    if not faults.found:
        text = _shapes(text, faults)
    return text, faults.found


def _foreign(raw: bytes, start: Location) -> Finding | None:
    """Refuse by the first bytes what is not a spec at all."""
    if len(raw) > MAX_BYTES:
        return finding("spec-size", start)
    if not raw.removeprefix(_BYTE_ORDER_MARK).strip():
        return finding("spec-empty", start, "")
    wide = next((name for mark, name in _WIDE_MARKS.items() if raw.startswith(mark)), "")
    if wide or _is_every_other_byte_zero(raw[:64]):
        return finding("spec-utf-16", start, wide or "UTF-16 by its look: each other byte is zero")
    if raw.startswith(_LFS):
        return finding("spec-lfs-pointer", start)
    for mark, name in _CIPHERS.items():
        if raw.removeprefix(_BYTE_ORDER_MARK).startswith(mark):
            return finding("spec-encrypted", start, name)
    return None


def _is_every_other_byte_zero(raw: bytes) -> bool:
    even, odd = raw[0::2], raw[1::2]
    return max(even.count(0) * len(odd), odd.count(0) * len(even)) * 5 > len(even) * len(odd) * 4


def _not_utf8(raw: bytes, offset: int, path: str) -> Finding:
    line = raw.count(b"\n", 0, offset) + 1
    before = raw[raw.rfind(b"\n", 0, offset) + 1 : offset]
    column = len(before.decode("utf-8-sig", "replace")) + 1
    return finding("spec-encoding", Location(path, line, column), raw[offset])


def named(character: str) -> str:
    """Spell a character that cannot be seen."""
    import unicodedata

    name = unicodedata.name(character, "a control character")
    return f"U+{ord(character):04X} ({name})"


def _characters(text: str, faults: Faults) -> None:
    """Refuse characters that no editor shows and that other readers trip over."""
    if match := FORBIDDEN.search(text):
        if match.group() == "\r":
            faults.add("spec-carriage-return", match.start())
        else:
            faults.add("spec-control-character", match.start(), named(match.group()))
    elif not text.isascii() and (match := _ODD_SPACE.search(text)):
        faults.add("spec-odd-space", match.start(1), named(match.group(1)))


def _shapes(text: str, faults: Faults) -> str:
    """Refuse merge conflicts, encrypted values and directives by their look."""
    if any(sign in text for sign in _SIGNS) and (match := _CONFLICT.search(text)):
        faults.add("spec-conflict-marker", match.start(), shown(match.group()))
    elif ("ENC[" in text or "sops:" in text) and (match := _SOPS.search(text)):
        faults.add("spec-encrypted", match.start(), "SOPS")
    elif "%" in text and (match := _DIRECTIVE.search(text)):
        if allowed := _YAML_12.match(text):
            end = allowed.end()
            text = text[: end - 1] + "#" + text[end:]
            match = _DIRECTIVE.search(text)
        if match:
            faults.add("spec-directive", match.start(), shown(match.group()))
    return text

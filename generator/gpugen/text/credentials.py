"""Detects credentials: known kinds by their prefixes, others by their randomness."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Any

from gpugen.model.finding import ROOT, Pointer

HIDDEN = "***"
LINE = 4096  # characters of a line that are shown: patterns take their time on more
LONG = 32  # characters from which on a random text is taken for a credential
_WORD = r"(?<![A-Za-z0-9])"
_MIXED = r"(?=[\w-]{0,60}[0-9])(?=[\w-]{0,60}[A-Z])"
_SAID = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|(?:access|account|client|private)"
_SAID += r"[_-]?(?:key|secret)|shared[_-]?access[_-]?key|credentials?)"
KINDS = {  # kind -> pattern; the sign that every one of them has is looked for first
    "an AWS access key": (("AKIA", "ASIA", "ABIA", "ACCA"), r"\b(?:A[KSB]IA|ACCA)[A-Z0-9]{16}\b"),
    "a GitHub token": (("gh", "github_pat_"), r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,})"),
    "a GitLab token": (("gl", "GR13"), r"\b(?:gl[a-z]{2,6}-[\w-]{16,}|GR1348941[\w-]{16,})"),
    "a Slack token": (("xox", "xapp-"), r"\b(?:xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,})"),
    "a webhook URL": (
        ("hook",),
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
        r"|webhook\.office\.com/webhookb2)/[\w/@.-]{8,}",
    ),
    "a Google key": (
        ("AIza", "ya29.", "GOCSPX-"),
        r"\b(?:AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,})",
    ),
    "a package index token": (
        ("pypi-", "npm_", "rubygems_"),
        r"\b(?:pypi-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|rubygems_[0-9a-f]{32,})",
    ),
    "a Docker token": (("dckr_",), r"\bdckr_[a-z]{2,4}_[\w-]{16,}"),
    "a model provider's API key": (
        ("sk-", "hf_", "nvapi-", "api_org_", "gsk_", "xai-", "r8_"),
        rf"{_WORD}(?:sk-{_MIXED}[\w-]{{20,}}|sk-(?:ant|proj)-[\w-]{{16,}}|hf_[A-Za-z0-9]{{20,}}"
        rf"|nvapi-[\w-]{{20,}}|api_org_[A-Za-z0-9]{{20,}}|gsk_\w{{20,}}|xai-\w{{20,}}|r8_\w{{20,}})",
    ),
    "a payment provider's key": (
        ("_live_", "_test_", "whsec_"),
        r"\b(?:[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})",
    ),
    "a Vault token": (
        ("hvs.", "hvb.", "hvr.", "s."),
        rf"\bhv[sbr]\.[\w-]{{16,}}|{_WORD}s\.{_MIXED}[A-Za-z0-9]{{24}}\b",
    ),
    "an Azure secret": (
        ("8Q~", "7Q~", "sig="),
        r"[\w.~-]{3}[78]Q~[\w.~-]{30,}|[?&;]sig=[\w%+/=]{16,}",
    ),
    "a SendGrid key": (("SG.",), r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    "a cloud provider's token": (
        ("dapi", "do", "tskey-", "LTAI", "AKID", "AQVN", "ATATT", "glsa_", "glc_", "dp.", "pul-"),
        r"\b(?:dapi[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{32,}|tskey-[\w-]{16,}|LTAI[A-Za-z0-9]{12,}"
        r"|AKID[A-Za-z0-9]{13,}|AQVN[\w-]{30,}|ATATT3[\w=-]{16,}|gl(?:sa|c)_\w{20,}"
        r"|dp\.[a-z]{2}\.\w{20,}|pul-[0-9a-f]{32,})",
    ),
    "a Telegram token": ((":AA",), r"\b[0-9]{8,10}:AA[\w-]{30,}"),
    "a bootstrap token of kubeadm": (
        (".",),
        r"(?<![\w.-])[a-z0-9]{6}\.(?=(?:[a-z]*[0-9]){2})(?=[0-9]*[a-z])(?![a-z]+[0-9]+(?!\w))"
        r"[a-z0-9]{16}(?![\w.-])",
    ),
    "a JSON Web Token": (("eyJ",), r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
    "a private key": (
        ("PRIVATE KEY", "PuTTY-User-Key", "LS0tLS1CRUdJTi", "b3BlbnNzaC1rZXktdjE"),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[\s\S]*|PuTTY-User-Key-File[\s\S]*"
        r"|LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[\w+/=-]*|b3BlbnNzaC1rZXktdjE[\w+/=-]*",
    ),
    "an age key": (("AGE-",), r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9-]+)-1[0-9A-Z]{16,}"),
    "a password in a URL": (
        ("://", "="),
        r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)|(?<=http://)[^/\s@]+(?=@)|(?<=https://)[^/\s@]+(?=@)"
        r"|[?&](?:[\w-]*token|[\w-]*key|sig|signature|password|auth|secret)=[^&\s'\"]{4,}",
    ),
    "a login": (
        ("asic ", "earer "),
        r"\b[Bb]asic\s+(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[0-9=])"
        r"[A-Za-z0-9+/]{8,}={0,2}|\b[Bb]earer\s+(?=\S*[0-9A-Z])[\w.~+/=-]{16,}",
    ),
    "a password": (
        ("=", ":"),
        rf"(?i:{_WORD}{_SAID}s?)[\"']?(?:\s*=\s*[\"']?(?![<*$\"'])[^\s\"',;]{{4,}}"
        rf"|:\s*[\"']?(?=[^\s\"',;]*[0-9])[^\s\"',;/<*$]{{6,}})",
    ),
}
_RUN = re.compile(rf"(?<![\w+/=-])[\w+/-]{{{LONG},}}={{0,2}}")
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]+\Z|[0-9A-F]+\Z")
_DIGEST = re.compile(
    r"(?:sha(?:1|224|256|384|512)|md5|blake2b|digest|checksum|revision|commit)[\"']?[:=-]?\s*"
    r"[\"']?\Z"
)
_FINGERPRINT = 40  # hexadecimal digits of an OpenPGP fingerprint, and of a commit
_LOWER = re.compile("a{4,}")  # a word, in kinds of characters
RANDOM = "random text like a key or token"
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_NAMES = {"pass", "pw", "pwd", "pin", "secret", "token", "tokens", "cred", "creds", "vault"}
_ENDS = re.compile(
    r"(?:passw(?:or)?d|passphrase|passcode|pwd|apikey|secret|credentials?|token|privatekey"
    r"|accesskey|licen[cs]ekey|secretkey|authkey|[a-z]{2}pw)s?\Z"
)
_OF_KEYS = {  # what a key is of, where it is secret
    *("access", "account", "activation", "api", "app", "auth", "client", "deploy", "encryption"),
    *("licence", "license", "master", "private", "product", "secret", "service", "shared"),
    *("signing", "ssh", "storage"),
}
_ABOUT = {  # what is said about a secret, and is none
    *("address", "backend", "class", "count", "dir", "engine", "expiry", "file", "files", "folder"),
    *("kind", "length", "mount", "name", "names", "namespace", "path", "paths", "policy"),
    *("provider", "ref", "rotation", "store", "ttl", "type", "url", "version"),
}


def secret_in(text: str) -> str:
    """Return the kind of credential that a text looks like, or nothing."""
    for kind, (signs, _) in KINDS.items():
        if any(sign in text for sign in signs) and _pattern(kind).search(text):
            return kind
    return RANDOM if any(_is_secret(found, text) for found in _RUN.finditer(text)) else ""


def masked(text: str) -> str:
    """Return a text with asterisks in place of credentials."""
    for kind, (signs, _) in KINDS.items():
        if any(sign in text for sign in signs):
            text = _pattern(kind).sub(HIDDEN, text)
    if len(text) < LONG:
        return text
    return _RUN.sub(lambda found: HIDDEN if _is_secret(found, text) else found[0], text)


def masked_line(text: str) -> str:
    """Return a line with asterisks in place of credentials, truncated if very long."""
    return masked(text) if len(text) <= LINE else f"{masked(text[:LINE])}…"


def masked_lines(text: str) -> str:
    """Hide credentials of a YAML text, and values of keys that are named like one."""
    lines = []
    for line in text.split("\n"):
        name, colon, value = line.partition(": ")
        is_named = bool(colon) and names_secret(name) and value[:1] not in "|>&!{["
        lines.append(f"{name}: {HIDDEN}" if is_named else masked_line(line))
    return "\n".join(lines)


def names_secret(name: str) -> bool:
    """Tell whether a name is that of a password, key or token rather than of something about it."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] in {"key", "keys"} and len(words) > 1:
        return words[-2] in _OF_KEYS
    return any(word in _NAMES or _ENDS.search(word) for word in words)


def masked_pointer(pointer: Pointer) -> Pointer:
    """Hide the keys of a pointer that are credentials; it escapes characters that they have."""
    found = ROOT
    for part in pointer.parts:
        found = found / masked(part)
    return found


def stated_secret(data: Any, pointer: Pointer) -> str:
    """Return the text in data whose key is named like a secret, or nothing."""
    for part in pointer.parts:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
        else:
            return ""
    is_named = isinstance(data, str) and bool(pointer.parts) and names_secret(pointer.parts[-1])
    return str(data) if is_named else ""


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """Compile a pattern when its sign was seen for the first time."""
    return re.compile(KINDS[kind][1])


def _is_secret(found: re.Match[str], text: str) -> bool:
    """Tell whether a long run of letters and digits is random, and no digest or name."""
    before = text[max(0, found.start() - 16) : found.start()].lower()
    if _DIGEST.search(before):
        return False
    run = _UID.sub("", found[0]).rstrip("=")
    return any(len(part) >= LONG and _is_drawn(part) for part in (run, *re.split("[/_+-]", run)))


def _is_drawn(run: str) -> bool:
    if _HEX.match(run):
        return len(run) != _FINGERPRINT and not run.isdigit() and len(set(run)) >= 8
    return _is_random(run)


def _is_random(run: str) -> bool:
    """Tell whether upper case, lower case and digits have no order; words and names have one.

    Names are words of lower-case letters, or have a separator every few characters; in random
    base64 a tenth of the letters look like a word, and one character in thirty is a separator.
    """
    kinds = "".join("0" if c.isdigit() else "A" if c.isupper() else "a" for c in run if c.isalnum())
    if len(set(kinds)) < 3 or len(set(run)) < 12 or len(run) - len(kinds) > len(run) // 8:
        return False
    changes = sum(a != b for a, b in pairwise(kinds))
    in_words = sum(len(word) for word in _LOWER.findall(kinds))
    return changes >= len(kinds) // 4 and in_words < 0.4 * len(kinds)

"""The public keys of package repositories are checked as the play would check them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import TESTS
from support.commands import gpugen

KEY = (TESTS / "data/keys/packages.asc").read_text("utf-8")
SPEC = "inventories/lab/cluster.yaml"
WRONG = "0123456789ABCDEF0123456789ABCDEF01234567"


def said(root: Path, key: str, fingerprint: str) -> str:
    """Return the findings about a starter repository whose hosts take packages by that key."""
    gpugen("init", root)
    (root / "keys").mkdir()
    (root / "keys/cuda.asc").write_text(key, "utf-8")
    spec = root / SPEC
    stated = (
        "hostDefaults:\n  repositories:\n    baseURL: https://packages.lab.example/repos\n"
        f"    keyFile: keys/cuda.asc\n    fingerprint: {fingerprint}\n"
    )
    spec.write_text(spec.read_text("utf-8").replace("hostDefaults:\n", stated), "utf-8")
    return gpugen("validate", cwd=root).err


def test_a_key_with_another_fingerprint_is_refused_before_any_play(tmp_path: Path) -> None:
    answer = said(tmp_path, KEY, WRONG)
    assert "key 'keys/cuda.asc' has another fingerprint: " in answer
    assert "at   /hostDefaults/repositories/fingerprint" in answer
    own = answer.partition("another fingerprint: ")[2].partition("\n")[0]
    spec = tmp_path / SPEC
    spec.write_text(spec.read_text("utf-8").replace(WRONG, own), "utf-8")
    assert gpugen("validate", cwd=tmp_path).err == "1 spec: no findings\n"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("ssh-ed25519 AAAA", "is not an ASCII-armoured public key"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----", "contains a private key"),
        (KEY + KEY, "is not a single public key: several armored blocks"),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n", "is not a single public key: "),
        (KEY[: len(KEY) // 2], "is not a single public key: "),
    ],
    ids=["ssh", "private", "two", "empty", "half"],
)
def test_what_is_no_single_key_is_refused(tmp_path: Path, key: str, why: str) -> None:
    answer = said(tmp_path, key, WRONG)
    assert f"the repository's key 'keys/cuda.asc' {why}" in answer
    assert answer.endswith("1 error\n")

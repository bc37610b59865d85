"""The index is read as hostile input, and written in one spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpugen.errors import GpugenError, NotOursError
from gpugen.write import INDEX, compare, prune, read_index
from gpugen.write.index import Index, parse, parse_journal, sha256
from support.trees import FIRST, INPUTS, SPEC, is_current, kinds, render, snapshot, tree_of

HASH = sha256(b"secret\n")
HOSTILE = [
    "../target", "/etc/hostname", "..", ".", "", "/", "a/../../target", "a/./b", "a//b", "a/",
    "//a", "./a", "a/..", ".git/config", "sub/.git/config", ".GIT/hooks/x", "a\\..\\b", "a\0b",
    "a\nb", "a\x1bb", "a\x7fb", "\ud800", "a\u202eb", "\u2028", "x" * 256, "a/" * 40 + "b", INDEX,
    "../lab2/site.yml", "a/../b", "\u0085",
]  # fmt: skip


def _index(**changes: Any) -> bytes:
    data = {"version": 1, "spec": SPEC, "inputs": INPUTS, "files": {"a": HASH}, **changes}
    return json.dumps(data).encode()


def test_sound_index_is_read() -> None:
    assert parse(_index()) == Index(SPEC, INPUTS, {"a": HASH})
    assert parse(_index(files={})) == Index(SPEC, INPUTS, {})


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_path_discredits_the_whole_index(path: str) -> None:
    assert parse(_index(files={"a": HASH, path: HASH})) is None
    assert parse(_index(files={path: HASH})) is None
    assert parse_journal(json.dumps({path: [HASH]}).encode()) == {}


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 100_000, b"9" * 5000,
        b'{"version": 1}', b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n",
        _index(version=0), _index(version="1"), _index(version=True), _index(version=1.0),
        _index(version=None), _index(files=[]), _index(files=None), _index(files={"a": 1}),
        _index(files={"a": "0" * 63}), _index(files={"a": "G" * 64}), _index(files={"a": [HASH]}),
        _index(files={"a": HASH + "\n"}), _index(files={"a": "\u0660" * 64}),
        _index(files={"a": HASH.upper()}),
        _index(files={"a": HASH, "a/b": HASH}), _index(inputs=1), _index(inputs="a\nb"),
        _index(spec=None), _index(spec="\x1b[2J"),
    ],
)  # fmt: skip
def test_anything_else_is_no_index(text: bytes) -> None:
    assert parse(text) is None


def test_newer_index_is_refused() -> None:
    with pytest.raises(GpugenError, match="version 2"):
        parse(_index(version=2))


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"a": "x"}', b'{"a": ["x"]}', b'{"a": null}', b'{"a": {"b": 1}}']
)
def test_torn_journal_says_nothing(text: bytes) -> None:
    assert parse_journal(text) == {}


def test_spelling_is_stable_and_is_json() -> None:
    files = {"b": HASH, "a/ü": HASH, 'a/"q': HASH}
    index = Index(SPEC, INPUTS, files)
    text = index.to_bytes()
    assert text == Index(SPEC, INPUTS, dict(reversed(files.items()))).to_bytes()
    assert parse(text) == index
    assert text.isascii()
    assert text.endswith(b"}\n")
    assert list(json.loads(text)["files"]) == sorted(files)
    assert parse(Index("", "", {}).to_bytes()) == Index("", "", {})


def test_same_facts_in_another_spelling_are_not_current(tmp_path: Path) -> None:
    render(FIRST, tmp_path / "out")
    path = tmp_path / "out/lab" / INDEX
    path.write_bytes(json.dumps(json.loads(path.read_bytes())).encode())
    assert not is_current(tmp_path / "out", "lab", INPUTS)
    assert kinds(compare(tree_of(FIRST), tmp_path / "out", "lab", None)) == {INDEX: "changed"}
    assert read_index(tmp_path / "out/lab") is not None
    render(FIRST, tmp_path / "out")
    assert is_current(tmp_path / "out", "lab", INPUTS)


@pytest.mark.parametrize("path", [*HOSTILE, "link/target", "listed", "SITE.YML"])
def test_tampered_index_deletes_nothing_outside(tmp_path: Path, path: str) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    (tmp_path / "target").write_text("secret\n")
    (out / "target").write_text("secret\n")
    (out / "lab2").mkdir()
    (out / "lab2/site.yml").write_text("secret\n")
    (out / "lab/link").symlink_to("..")
    (out / "lab/listed").mkdir()
    (out / "lab/.git").mkdir()
    (out / "lab/.git/config").write_text("secret\n")
    (out / "lab" / INDEX).write_bytes(_index(files={path: HASH}))
    before = snapshot(tmp_path)
    for force in (False, True):
        try:
            prune(out, "lab", force=force)
        except NotOursError:
            assert not force or (out / "lab/.git/config").exists()
    after = snapshot(tmp_path)
    before.pop("out/lab/.gpugen.json", None), after.pop("out/lab/.gpugen.json", None)
    assert after == before


def test_every_surviving_step_of_a_path_must_be_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    render({"waves/a": "secret\n"}, out)
    outside = tmp_path / "outside"
    (out / "lab/waves").rename(outside)
    (out / "lab/waves").symlink_to(outside)
    prune(out, "lab")
    assert (outside / "a").read_text() == "secret\n"
    assert (out / "lab/waves").readlink() == outside

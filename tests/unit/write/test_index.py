"""The index is read as hostile input and as what git leaves of it, and written in one spelling."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpugen import __version__
from gpugen.errors import ExitCode, GpugenError, NotOursError
from gpugen.write import INDEX, compare, diff, listed, prune
from gpugen.write.index import FORMER, sha256
from support.trees import FIRST, SECOND, is_current, kinds, render, snapshot, tree_of

HASH = sha256(b"secret\n")
HOSTILE = [
    "../target", "/etc/hostname", "..", ".", "", "/", "a/../../target", "a/./b", "a//b", "a/",
    "//a", "./a", "a/..", ".git/config", "sub/.git/config", ".GIT/hooks/x", "a\\..\\b", "a\0b",
    "a\rb", "a\x1bb", "a\x7fb", "a\u202eb", "\u2028", "x" * 256, "a/" * 40 + "b", INDEX,
    "../lab2/site.yml", "a/../b", "\u0085", FORMER, ".gpugen-index/x", ".gpugen-index",
]  # fmt: skip


def put(out: Path, text: str | bytes, path: str = INDEX) -> None:
    place = out / "lab" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode(errors="surrogateescape") if isinstance(text, str) else text)


def former(**hashes: object) -> bytes:
    data = {"version": 1, "spec": "s", "inputs": "1" * 64, "files": hashes}
    return json.dumps(data).encode()


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("name", [INDEX, FORMER])
def test_a_hostile_path_says_nothing(out: Path, path: str, name: str) -> None:
    text = f"{HASH} {path}\n{HASH} a\n".encode()
    put(out, former(**{path: HASH, "a": HASH}) if name == FORMER else text, name)
    assert listed(out, "lab") == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, f"{HASH[:-1]} a".encode(),
        f"{HASH.upper()} a".encode(), f" {HASH} a".encode(), f"{HASH}\ta".encode(), HASH.encode(),
        f"{HASH} ".encode(), f"{HASH}a a".encode(), ("\u0660" * 64 + " a").encode(),
        former(), former(a=1), former(a=[HASH]), former(a=HASH + "\n"), former(a="0" * 63),
        b"<<<<<<< HEAD\n=======\n>>>>>>> b\n", b"gpugen 0.0.1\n", b"9" * 5000,
    ],
)  # fmt: skip
def test_anything_else_is_no_line(out: Path, text: bytes) -> None:
    for name in (INDEX, FORMER):
        put(out, text, name)
    assert listed(out, "lab") == []


@pytest.mark.parametrize(
    "name", ["cluster~HEAD", "pool-", "pool-A", "pool-a.orig", "x", "pool-a/b"]
)
def test_other_files_beside_the_index_are_foreign(out: Path, name: str) -> None:
    render(FIRST, out)
    put(out, f"{HASH} mine\n", f".gpugen-index/{name}")
    assert listed(out, "lab") == sorted(FIRST)
    assert set(kinds(compare(tree_of(FIRST), out, "lab")).values()) == {"foreign"}


def test_every_side_of_a_conflict_is_read_and_one_render_heals(out: Path) -> None:
    for content in (FIRST, SECOND):
        render(content, out)
    text = (out / "lab" / INDEX).read_text()
    lines = "".join(f"{sha256(t.encode())} {path}\n" for path, t in FIRST.items())
    put(out, f"<<<<<<< HEAD\n{text}||||||| 12\n{HASH} base\n=======\n{lines}>>>>>>> topic\n")
    assert listed(out, "lab") == sorted({*FIRST, *SECOND, "base"})
    (out / "lab/site.yml").write_text(FIRST["site.yml"])
    render(SECOND, out)
    assert is_current(SECOND, out)
    assert (out / "lab" / INDEX).read_text() == text


def test_several_lines_for_one_path_prove_nothing_wrong(out: Path) -> None:
    render(FIRST, out)
    before = snapshot(out)
    put(out, (out / "lab" / INDEX).read_text() + f"{HASH} site.yml\n{HASH} absent\n")
    assert kinds(render(FIRST, out)) == {INDEX: "changed"}
    assert snapshot(out) == before


def test_a_line_for_an_edited_file_lets_that_file_be_overwritten_and_no_other(out: Path) -> None:
    """It says no more than editing the file itself would do."""
    render(FIRST, out)
    (out / "lab/site.yml").write_text("secret\n")
    (out / "lab/roles/gpu/main.yml").write_text("secret\n")
    put(out, (out / "lab" / INDEX).read_text() + f"{HASH} site.yml\n")
    with pytest.raises(NotOursError, match=r": roles/gpu/main.yml \(edited\);"):
        render(FIRST, out)


def test_the_json_of_former_versions_is_read_once(out: Path) -> None:
    render(FIRST, out)
    before = snapshot(out)
    hashes = {path: sha256(text.encode()) for path, text in FIRST.items()}
    (out / "lab" / INDEX).unlink()
    (out / "lab" / INDEX).parent.rmdir()
    put(out, former(**hashes), FORMER)
    assert kinds(render(FIRST, out)) == {INDEX: "added", FORMER: "deleted"}
    assert snapshot(out) == before
    put(out, former(**{**hashes, "old": HASH}), FORMER)
    put(out, "secret\n", "old")
    assert kinds(render(SECOND, out))["old"] == "deleted"
    assert is_current(SECOND, out)


@pytest.mark.parametrize(
    "newer", ["99", "99.0", "0.1.1", "0.2.0.dev1", "0.2rc1", "0.1.0.post1", "0.1.0.1", "9.0a1"]
)
def test_an_older_gpugen_refuses(out: Path, newer: str) -> None:
    assert __version__ == "0.1.0", "choose other versions for this test"
    render(FIRST, out)
    text = (out / "lab" / INDEX).read_text().replace(f"gpugen {__version__}", f"gpugen {newer}")
    put(out, f"<<<<<<< HEAD\ngpugen {__version__}\n=======\n{text}>>>>>>> b\n")
    before = snapshot(out)
    tree = tree_of(SECOND)
    for run in (
        lambda: render(SECOND, out),
        lambda: render(SECOND, out, force=True),
        lambda: compare(tree, out, "lab"),
        lambda: list(diff(tree, out, "lab")),
        lambda: prune(out, "lab"),
    ):
        with pytest.raises(GpugenError, match=re.escape(newer)) as caught:
            run()
        assert caught.value.exit_code == ExitCode.ENVIRONMENT
        assert f"install gpugen {newer} or newer" in caught.value.hint
    assert snapshot(out) == before


@pytest.mark.parametrize("older", ["0.0.9", "0.1", "0.1.0.0", "0.1.0rc1", "0.1.0.dev3", "0.1a2"])
def test_the_version_changes_only_with_another_byte(out: Path, older: str) -> None:
    render(FIRST, out)
    new = (out / "lab" / INDEX).read_text()
    put(out, new.replace(f"gpugen {__version__}", f"gpugen {older}"))
    before = snapshot(out)
    assert render(FIRST, out) == []
    (out / "lab/site.yml").unlink()
    render(FIRST, out)
    assert snapshot(out) == before
    render(SECOND, out)
    assert f"\ngpugen {__version__}\n" in (out / "lab" / INDEX).read_text()


@pytest.mark.parametrize(
    "odd", ["", "x", "1.x", "-1", "1" * 50, "1.2.3.4.5.6", "latest", "\x1b[2J"]
)
def test_what_is_no_version_is_none(out: Path, odd: str) -> None:
    render(FIRST, out)
    text = (out / "lab" / INDEX).read_text()
    put(out, text.replace(f"gpugen {__version__}", f"gpugen {odd}"))
    render(FIRST, out)
    assert (out / "lab" / INDEX).read_text() == text


@pytest.mark.parametrize("path", [*HOSTILE, "link/target", "listed", "SITE.YML"])
@pytest.mark.parametrize("name", [INDEX, FORMER, ".gpugen-index/pool-a"])
def test_tampered_index_deletes_nothing_outside(tmp_path: Path, path: str, name: str) -> None:
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
    (out / "lab" / INDEX).write_text("")
    put(out, former(**{path: HASH}) if name == FORMER else f"{HASH} {path}\n", name)
    before = snapshot(tmp_path)
    for force in (False, True):
        try:
            prune(out, "lab", force=force)
        except NotOursError:
            assert not force or (out / "lab/.git/config").exists()
    after = snapshot(tmp_path)
    for gone in (INDEX, FORMER, ".gpugen-index/pool-a", ".gpugen-index"):
        before.pop(f"out/lab/{gone}", None), after.pop(f"out/lab/{gone}", None)
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

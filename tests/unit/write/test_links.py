"""A link at any level stops the run, and nothing is written through it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from gpugen.errors import GpugenError, NotOursError
from gpugen.write import INDEX, compare, prune
from gpugen.write.index import FOLDER
from gpugen.write.lock import STATE
from support.trees import FIRST, SECOND, is_current, render, snapshot, tree_of

LEVELS = [
    "out",
    "out/lab",
    "out/lab/roles",
    "out/lab/site.yml",
    f"out/lab/{FOLDER}",
    f"out/lab/{INDEX}",
]
TARGETS = ["absolute", "relative", "inside", "dangling", "loop"]
WANTED = {**SECOND, "roles/gpu/main.yml": "other\n"}


def _replace_by_link(root: Path, level: str, target: str) -> None:
    """Put a link in place of a rendered path; what stood there becomes the target or goes."""
    place = root / level
    depth = len(place.relative_to(root).parts) - 1
    if target in ("absolute", "relative", "inside"):
        home = place.parent if target == "inside" else root / "elsewhere"
        home.mkdir(exist_ok=True)
        moved = home / f"moved-{place.name}"
        place.rename(moved)
        to = {"absolute": str(moved), "inside": moved.name}.get(target)
        place.symlink_to(to or "../" * depth + f"elsewhere/{moved.name}")
        return
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(place.name if target == "loop" else "nowhere")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", LEVELS)
def test_link_is_refused(tmp_path: Path, level: str, target: str) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    _replace_by_link(tmp_path, level, target)
    before = snapshot(tmp_path)
    with pytest.raises(NotOursError):
        render(WANTED, out)
    assert snapshot(tmp_path) == before
    assert not is_current(FIRST, out)
    if level in LEVELS[:2]:
        with pytest.raises(NotOursError, match="link"):
            compare(tree_of(WANTED), out, "lab")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", LEVELS)
def test_force_replaces_the_link_and_never_its_target(
    tmp_path: Path, level: str, target: str
) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    _replace_by_link(tmp_path, level, target)
    kept = {path: found for path, found in snapshot(tmp_path).items() if "moved-" in path}
    if level in LEVELS[:2]:
        with pytest.raises(NotOursError):
            render(WANTED, out, force=True)
        return
    render(WANTED, out, force=True)
    after = snapshot(tmp_path)
    assert {path: after.get(path) for path in kept} == kept
    assert not (tmp_path / level).is_symlink()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", LEVELS)
def test_prune_never_follows(tmp_path: Path, level: str, target: str) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    _replace_by_link(tmp_path, level, target)
    kept = {path: found for path, found in snapshot(tmp_path).items() if "moved-" in path}
    with suppress(NotOursError):
        prune(out, "lab", force=True)
    after = snapshot(tmp_path)
    assert {path: after.get(path) for path in kept} == kept


@pytest.mark.parametrize("name", [STATE, f"{STATE}/lock", f"{STATE}/stage"])
@pytest.mark.parametrize("is_there", [False, True])
def test_planted_state_is_not_followed(tmp_path: Path, name: str, is_there: bool) -> None:
    out = tmp_path / "out"
    render(FIRST, out)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "lab").write_text("mine")
    (outside / "lock").write_text("mine")
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).symlink_to(outside if is_there else "nowhere")
    before = snapshot(outside)
    with pytest.raises(GpugenError, match=r"out/\.gpugen"):
        render(WANTED, out)
    assert snapshot(outside) == before

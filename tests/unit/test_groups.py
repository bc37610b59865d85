"""Tests of a group stay together when tests are dealt out to several workers."""

from __future__ import annotations

from pathlib import Path

from support import TESTS
from support.groups import group_of

UPSTREAM = TESTS / "upstream"


def test_a_file_belongs_to_the_group_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text('pytestmark = [pytest.mark.xdist_group("a"), pytest.mark.slow]\n')
    assert group_of(file) == f'{tmp_path.name}/"a"'
    file = tmp_path / "test_x_alone.py"
    file.write_text("pytestmark = [pytest.mark.xdist_group(__name__)]\n")
    assert group_of(file) == f"{tmp_path.name}/test_x_alone"
    file = tmp_path / "test_y.py"
    file.write_text("pytestmark = pytest.mark.slow\n")
    assert group_of(file) == ""


def test_everybody_on_the_control_plane_is_in_one_group() -> None:
    """A file that took the fixture without the mark would start a second control plane."""
    users = [
        path
        for path in UPSTREAM.glob("test_*.py")
        if "from support.lab.cluster.plane import Plane\n" in path.read_text()
    ]
    assert len(users) > 5
    assert {group_of(path) for path in users} == {"upstream/GROUP"}


def test_every_file_on_booted_hosts_is_a_group() -> None:
    """Two workers have two machine rooms, but the nodes of a file are booted once."""
    files = list((TESTS / "nodes").glob("test_*.py"))
    assert len(files) > 5
    assert [file.name for file in files if not group_of(file)] == []

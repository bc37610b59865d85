"""The write stage: what is written, what is left alone, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from trees import FIRST, INPUTS, SECOND, SPEC, kinds, names, render, snapshot, stamps, tree_of

from gpugen.errors import ExitCode, GpugenError, NotOursError
from gpugen.write import INDEX, Lock, compare, is_current, orphans, prune, read_index, write


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_first_write_holds_exactly_the_tree_and_its_index(out: Path) -> None:
    changes = render(FIRST, out)
    assert kinds(changes) == dict.fromkeys((*FIRST, INDEX), "added")
    found = snapshot(out / "lab")
    index = json.loads(found.pop(INDEX))
    assert {p: c for p, c in found.items() if isinstance(c, bytes)} == {
        path: text.encode() for path, text in FIRST.items()
    }
    hashes = {path: sha256(text.encode()).hexdigest() for path, text in FIRST.items()}
    assert index == {"version": 1, "spec": SPEC, "inputs": INPUTS, "files": hashes}
    assert names(out) == ["lab"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_modes_do_not_depend_on_the_umask(out: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        render(FIRST, out)
        render(SECOND, out)
    finally:
        assert os.umask(before) == umask
    for path in [out, *out.rglob("*")]:
        assert path.stat().st_mode & 0o7777 == (0o755 if path.is_dir() else 0o644)


def test_second_write_writes_nothing_at_all(out: Path) -> None:
    render(FIRST, out)
    before = stamps(out)
    assert render(FIRST, out) == []
    assert stamps(out) == before
    assert is_current(out, "lab", INPUTS)


def test_files_that_stay_the_same_are_not_touched(out: Path) -> None:
    render(FIRST, out)
    before = stamps(out)
    assert kinds(render(SECOND, out)) == {
        INDEX: "changed",
        "site.yml": "changed",
        "waves/10/pool.yaml": "deleted",
        "waves/20/pool.yaml": "added",
    }
    same = str(out / "lab/roles/gpu/main.yml")
    assert stamps(out)[same] == before[same]
    assert names(out / "lab/waves") == ["20"]
    assert names(out) == ["lab"]


def test_files_and_folders_trade_places(out: Path) -> None:
    one = {"a": "1", "b/c": "2", "b/d/e": "3"}
    two = {"a/b": "1", "b": "2"}
    for content in (one, two, one):
        render(content, out)
        assert compare(tree_of(content), out, "lab", INPUTS) == []


def test_other_inputs_with_the_same_bytes_change_the_index_alone(out: Path) -> None:
    render(FIRST, out)
    assert kinds(compare(tree_of(FIRST), out, "lab", "2" * 64)) == {INDEX: "changed"}
    assert not is_current(out, "lab", "2" * 64)
    assert kinds(render(FIRST, out, inputs="2" * 64)) == {INDEX: "changed"}
    assert is_current(out, "lab", "2" * 64)


def test_moved_spec_is_noticed_where_it_is_known(out: Path) -> None:
    render(FIRST, out)
    tree = tree_of(FIRST)
    assert compare(tree, out, "lab", INPUTS, spec_source=SPEC) == []
    assert kinds(compare(tree, out, "lab", INPUTS, spec_source="x")) == {INDEX: "changed"}


def test_empty_folder_is_filled(out: Path) -> None:
    (out / "lab").mkdir(parents=True)
    render(FIRST, out)
    assert is_current(out, "lab", INPUTS)


def test_clusters_of_one_run_share_a_lock(out: Path) -> None:
    with Lock(out) as lock:
        for cluster in ("a", "b"):
            render(FIRST, out, cluster=cluster, lock=lock)
    render(SECOND, out, cluster="b")
    assert is_current(out, "a", INPUTS)
    assert names(out) == ["a", "b"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".gpugen", "../out"])
def test_cluster_cannot_leave_the_folder(out: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a folder"):
        render(FIRST, out, cluster=name)


# What may stand where the tree wants site.yml, and is not ours.
def _edit(path: Path) -> None:
    path.write_text("mine\n")


def _read_only(path: Path) -> None:
    path.write_text("mine\n")
    path.chmod(0o444)


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "notes").write_text("mine")


def _repository(path: Path) -> None:
    _folder(path)
    (path / ".git").mkdir()
    (path / ".git/config").write_text("[core]")


def _link(path: Path) -> None:
    path.unlink(missing_ok=True)
    target = path.parents[2] / "target"
    target.write_text("outside")
    path.symlink_to(target)


def _dangling(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")


def _fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.unlink(missing_ok=True)
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


FOREIGN: list[Callable[[Path], None]] = [
    _edit, _read_only, _folder, _repository, _link, _dangling, _fifo, _socket,
]  # fmt: skip
REMOVABLE = [make for make in FOREIGN if make not in (_folder, _repository)]


@pytest.mark.parametrize("make", FOREIGN)
@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "unlisted"])
def test_what_is_not_ours_stops_the_run(
    out: Path, make: Callable[[Path], None], is_listed: bool
) -> None:
    render(FIRST if is_listed else {"other": "x"}, out)
    make(out / "lab/site.yml")
    before = snapshot(out.parent), stamps(out)
    with pytest.raises(NotOursError, match=r"site\.yml") as caught:
        render(SECOND, out)
    assert caught.value.exit_code == ExitCode.NOT_OURS
    assert snapshot(out.parent) == before[0]
    after = stamps(out)
    after.pop(str(out)), before[1].pop(str(out))  # lock and staging came and went
    assert after == before[1]
    assert not is_current(out, "lab", INPUTS)
    assert "site.yml" in {path.rstrip("/").partition("/notes")[0] for path in kinds(
        compare(tree_of(SECOND), out, "lab", INPUTS)
    )}  # fmt: skip


@pytest.mark.parametrize("make", REMOVABLE)
@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "unlisted"])
def test_force_takes_over(out: Path, make: Callable[[Path], None], is_listed: bool) -> None:
    render(FIRST if is_listed else {"other": "x"}, out)
    make(out / "lab/site.yml")
    render(SECOND, out, force=True)
    assert compare(tree_of(SECOND), out, "lab", INPUTS) == []
    target = out.parent / "target"
    assert not target.exists() or target.read_text() == "outside"


@pytest.mark.parametrize("make", REMOVABLE)
def test_obsolete_file_that_was_replaced_stops_the_run(
    out: Path, make: Callable[[Path], None]
) -> None:
    render(FIRST, out)
    make(out / "lab/site.yml")
    before = snapshot(out)
    with pytest.raises(NotOursError):
        render({"other": "x"}, out)
    assert snapshot(out) == before
    render({"other": "x"}, out, force=True)
    assert compare(tree_of({"other": "x"}), out, "lab", INPUTS) == []


@pytest.mark.parametrize("make", [_folder, _repository])
def test_not_even_force_deletes_a_folder(out: Path, make: Callable[[Path], None]) -> None:
    render(FIRST, out)
    make(out / "lab/site.yml")
    before = snapshot(out)
    with pytest.raises(NotOursError, match="site") as caught:
        render(SECOND, out, force=True)
    assert "move them away" in caught.value.hint
    assert snapshot(out) == before


def test_folder_in_place_of_an_obsolete_file_stops_the_run_and_is_kept_by_force(out: Path) -> None:
    render(FIRST, out)
    _folder(out / "lab/site.yml")
    with pytest.raises(NotOursError):
        render({"other": "x"}, out)
    render({"other": "x"}, out, force=True)
    assert (out / "lab/site.yml/notes").read_text() == "mine"


@pytest.mark.parametrize("make", REMOVABLE)
def test_thing_where_a_folder_goes(out: Path, make: Callable[[Path], None]) -> None:
    render({"other": "x"}, out)
    make(out / "lab/roles")
    before = snapshot(out)
    with pytest.raises(NotOursError, match="roles"):
        render(FIRST, out)
    assert snapshot(out) == before
    render(FIRST, out, force=True)
    assert compare(tree_of(FIRST), out, "lab", INPUTS) == []


def test_index_that_is_no_file(out: Path) -> None:
    render(FIRST, out)
    (out / "lab" / INDEX).unlink()
    (out / "lab" / INDEX).symlink_to("/etc/hostname")
    with pytest.raises(NotOursError, match="gpugen"):
        render(FIRST, out)
    render(FIRST, out, force=True)
    assert is_current(out, "lab", INPUTS)
    (out / "lab" / INDEX).unlink()
    _folder(out / "lab" / INDEX)
    with pytest.raises(NotOursError, match="gpugen"):
        render(FIRST, out, force=True)


def test_empty_folder_where_a_file_goes_is_no_loss(out: Path) -> None:
    render({"other": "x"}, out)
    (out / "lab/site.yml").mkdir()
    render(FIRST, out)
    assert compare(tree_of(FIRST), out, "lab", INPUTS) == []


def test_foreign_files_beside_ours_are_reported_and_left_alone(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/waves/10/notes").write_text("mine")
    (out / "lab/vendor/deep").mkdir(parents=True)
    (out / "lab/vendor/deep/x").write_text("mine")
    (out / "lab/empty").mkdir()
    reported = {"waves/10/notes": "foreign", "vendor/": "foreign"}
    assert kinds(compare(tree_of(FIRST), out, "lab", INPUTS)) == reported
    assert render(FIRST, out) == []
    assert not is_current(out, "lab", INPUTS)
    assert "notes" not in str(render(SECOND, out))
    assert (out / "lab/waves/10/notes").read_text() == "mine"
    left = {"waves/10/": "foreign", "vendor/": "foreign"}
    assert kinds(compare(tree_of(SECOND), out, "lab", INPUTS)) == left


def test_kinds_of_difference(out: Path) -> None:
    render({**FIRST, "gone": "1", "run": "2", "old": "3", "link": "4"}, out)
    lab = out / "lab"
    (lab / "gone").unlink()
    (lab / "run").chmod(0o755)
    (lab / "link").unlink()
    (lab / "link").symlink_to("run")
    (lab / "roles/gpu/main.yml").write_text("edited")
    wanted = {**FIRST, "gone": "1", "run": "2", "link": "4", "new": "5", "site.yml": "6"}
    before = snapshot(out), stamps(out)
    assert kinds(compare(tree_of(wanted), out, "lab", INPUTS)) == {
        INDEX: "changed", "gone": "missing", "run": "mode", "link": "replaced-by-link",
        "roles/gpu/main.yml": "edited", "new": "added", "site.yml": "changed", "old": "deleted",
    }  # fmt: skip
    assert (snapshot(out), stamps(out)) == before


def test_missing_file_and_wrong_mode_are_repaired(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/site.yml").unlink()
    (out / "lab/roles/gpu/main.yml").chmod(0o755)
    assert not is_current(out, "lab", INPUTS)
    assert kinds(render(FIRST, out)) == {"site.yml": "missing", "roles/gpu/main.yml": "mode"}
    assert (out / "lab/roles/gpu/main.yml").stat().st_mode & 0o777 == 0o644
    assert is_current(out, "lab", INPUTS)


def test_at_most_ten_paths_are_named_and_controls_are_escaped(out: Path) -> None:
    content = {f"f{number:02}": "x" for number in range(14)}
    render(content, out)
    for path in content:
        (out / "lab" / path).write_text("mine")
    with pytest.raises(NotOursError) as caught:
        render(content, out)
    assert caught.value.message.count("(edited)") == 10
    assert "and 4 more" in caught.value.message
    (out / "lab/\x1b[2Jx").write_text("mine")
    with pytest.raises(NotOursError, match=r"\\x1b\[2Jx"):
        render({"\x1b[2Jx": "ours"}, out)


def test_same_bytes_are_adopted(out: Path) -> None:
    render({"other": "x"}, out)
    (out / "lab/site.yml").write_text(FIRST["site.yml"])
    before = stamps(out)[str(out / "lab/site.yml")]
    render({"other": "x", "site.yml": FIRST["site.yml"]}, out)
    assert stamps(out)[str(out / "lab/site.yml")] == before
    render({"other": "x"}, out)
    assert not (out / "lab/site.yml").exists()


def test_index_torn_at_any_byte_loses_nothing(out: Path) -> None:
    content = {"site.yml": FIRST["site.yml"]}
    render(content, out)
    index = out / "lab" / INDEX
    whole = index.read_bytes()
    (out / "lab/site.yml").write_text("mine")
    for length in range(len(whole) - 1):
        index.write_bytes(whole[:length])
        with pytest.raises(NotOursError, match=r"site\.yml \(foreign\)"):
            render(content, out)
    index.unlink()
    with pytest.raises(NotOursError):
        render(content, out)
    (out / "lab/site.yml").write_text(FIRST["site.yml"])
    assert kinds(render(content, out)) == {INDEX: "added"}
    assert index.read_bytes() == whole


def test_older_index_swapped_in_loses_nothing(out: Path) -> None:
    render(FIRST, out)
    old = (out / "lab" / INDEX).read_bytes()
    render(SECOND, out)
    (out / "lab" / INDEX).write_bytes(old)
    with pytest.raises(NotOursError, match=r"site\.yml \(edited\)"):
        render(FIRST, out)
    assert kinds(render(SECOND, out)) == {INDEX: "changed"}


def test_prune_deletes_what_the_index_lists(out: Path) -> None:
    render(FIRST, out)
    render(FIRST, out, cluster="kept")
    assert orphans(out, ["kept"]) == ["lab"]
    assert set(kinds(prune(out, "lab")).values()) == {"deleted"}
    assert names(out) == ["kept"]
    assert prune(out, "lab") == []


def test_prune_leaves_foreign_files_and_says_so(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/waves/notes").write_text("mine")
    assert kinds(prune(out, "lab"))["waves/notes"] == "foreign"
    assert snapshot(out) == {"lab": "kind 40000", "lab/waves": "kind 40000",
                             "lab/waves/notes": b"mine"}  # fmt: skip
    assert orphans(out, []) == []


def test_prune_stops_at_an_edited_file(out: Path) -> None:
    render(FIRST, out)
    (out / "lab/site.yml").write_text("mine")
    before = snapshot(out)
    with pytest.raises(NotOursError, match=r"site\.yml"):
        prune(out, "lab")
    assert snapshot(out) == before
    prune(out, "lab", force=True)
    assert names(out) == []


def test_prune_without_a_sound_index_deletes_nothing(out: Path) -> None:
    render(FIRST, out)
    (out / "lab" / INDEX).write_text("{")
    assert orphans(out, []) == ["lab"]
    with pytest.raises(NotOursError, match="damaged"):
        prune(out, "lab", force=True)
    assert (out / "lab/site.yml").exists()


def test_orphans_are_folders_with_an_index(out: Path) -> None:
    assert orphans(out, []) == []
    render(FIRST, out)
    (out / "plain").mkdir()
    (out / "file").write_text("")
    (out / "link").symlink_to("lab")
    assert orphans(out, []) == ["lab"]
    assert orphans(out, {"lab"}) == []


def test_read_index(out: Path) -> None:
    assert read_index(out / "lab") is None
    render(FIRST, out)
    index = read_index(out / "lab")
    assert index is not None
    assert (index.inputs, index.spec, set(index.files)) == (INPUTS, SPEC, set(FIRST))


def test_folder_above_is_missing(tmp_path: Path) -> None:
    with pytest.raises(GpugenError, match="folder above it is missing"):
        render(FIRST, tmp_path / "a/out")
    assert names(tmp_path) == []


@pytest.mark.parametrize("place", ["out", "out/lab"])
def test_file_where_the_folder_goes(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("mine")
    for force in (False, True):
        with pytest.raises(NotOursError, match="no folder"):
            render(FIRST, tmp_path / "out", force=force)
    assert (tmp_path / place).read_text() == "mine"


LIMITED = """
import os, resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from trees import render
from gpugen.errors import GpugenError
kind, limit = sys.argv[2].split("=")
if kind == "user":
    os.setuid(int(limit))
else:
    resource.setrlimit(getattr(resource, kind), (int(limit), int(limit)))
content = {"big": "x" * 40000, **{f"d{n}/e/f/g{n}": "y" for n in range(40)}}
try:
    print(len(render(content, Path(sys.argv[1]))))
except GpugenError as error:
    print(error.message)
    sys.exit(int(error.exit_code))
"""


def _limited(out: Path, limit: str) -> subprocess.CompletedProcess[str]:
    paths = [str(Path(__file__).parents[1]), *(p for p in sys.path if p)]
    command = [sys.executable, "-c", LIMITED, str(out), limit, *paths]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("is_there", [False, True])
def test_file_size_limit_leaves_the_old_tree(out: Path, is_there: bool) -> None:
    if is_there:
        render({"big": "old"}, out)
    before = snapshot(out)
    ran = _limited(out, "RLIMIT_FSIZE=20000")
    assert ran.returncode == ExitCode.ENVIRONMENT, ran.stderr
    assert "cannot write" in ran.stdout
    assert "lab/big: File too large" in ran.stdout
    assert snapshot(out) == before


def test_few_file_handles_suffice(out: Path) -> None:
    for _ in range(2):
        ran = _limited(out, "RLIMIT_NOFILE=24")
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("is_there", [False, True])
def test_foreign_folder_is_reported_and_left_alone(out: Path, is_there: bool) -> None:
    user = os.getuid() or 65534
    if is_there:
        render({"big": "old"}, out)
    else:
        out.mkdir()
    for folder in (out.parent, *out.parent.parents[:3]):
        if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
            folder.chmod(0o755)
    out.chmod(0o555)
    before = snapshot(out)
    ran = _limited(out, f"user={user}")
    out.chmod(0o755)
    assert ran.returncode == ExitCode.ENVIRONMENT, ran.stdout + ran.stderr
    assert "Permission denied" in ran.stdout
    assert snapshot(out) == before


def test_thousands_of_files(out: Path) -> None:
    content = {f"d{number % 50}/f{number}": f"{number}\n" for number in range(4000)}
    render(content, out)
    assert is_current(out, "lab", INPUTS)
    del content["d1/f1"]
    assert kinds(render(content, out)) == {"d1/f1": "deleted", INDEX: "changed"}


def test_folder_deleted_by_hand_is_written_anew(out: Path) -> None:
    render(FIRST, out)
    shutil.rmtree(out / "lab")
    assert compare(tree_of(FIRST), out, "lab", INPUTS)
    render(FIRST, out)
    assert is_current(out, "lab", INPUTS)


def test_empty_tree(out: Path) -> None:
    write(tree_of({}), out, "lab", inputs=INPUTS, spec_source=SPEC)
    assert names(out / "lab") == [INDEX]
    assert is_current(out, "lab", INPUTS)

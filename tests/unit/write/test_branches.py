"""Branches that meet in git: pools merge, one pool conflicts, and one render without force heals.

Real git, real renders; whatever somebody edited by hand stays, in the middle of a merge too.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import begin, gpugen

SPEC = "inventories/lab/cluster.yaml"
VARIABLES = "out/lab/ansible/inventory/group_vars/pool_{}.yml"
POOL = """\
  - name: {0}
    description: first
    gpu: {{model: t4, count: 2}}
    hosts: ["{0}-[01:03].lab.example"]
    labels: {{lab.example/a: x, lab.example/c: x}}
    sharing: {{mode: time-slicing, resources: {{nvidia.com/gpu: 4}}}}
"""
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
}  # fmt: skip


class Repository:
    """A repository of one cluster with two pools, rendered and committed on ``main``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        begin(root)
        text = (root / SPEC).read_text().partition("pools:\n")[0]
        text += "pools:\n" + POOL.format("alpha") + POOL.format("beta")
        (root / SPEC).write_text(text)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit("first")

    def git(self, *arguments: str, code: int | None = 0) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env={**os.environ, **GIT},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def commit(self, message: str) -> None:
        """Render what the spec says, and commit everything."""
        answer = gpugen("render", "--quiet", cwd=self.root)
        assert answer.code == 0, answer.err
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def pool(self, name: str, old: str, new: str) -> None:
        """Change the spec of one pool."""
        text = (self.root / SPEC).read_text()
        head, mark, rest = text.partition(f"- name: {name}\n")
        own, following, tail = rest.partition("  - name: ")
        assert old in own
        (self.root / SPEC).write_text(head + mark + own.replace(old, new) + following + tail)

    def branch(self, name: str, *changes: tuple[str, str, str]) -> None:
        """Commit changes of pools on a branch of ``main``."""
        self.git("checkout", "--quiet", "-b", name, "main")
        for change in changes:
            self.pool(*change)
        self.commit(name)

    def resolve(self, side: str = "--theirs") -> None:
        """Take the spec of one side, as an editor would, if it conflicts."""
        if "<<<<<<<" in (self.root / SPEC).read_text():
            self.git("checkout", "--quiet", side, "--", SPEC)

    def conflicts(self) -> list[str]:
        return self.git("diff", "--name-only", "--diff-filter=U").split()

    def heals(self) -> None:
        """One render, no force, and the tree is what the spec says, without a marker."""
        answer = gpugen("render", cwd=self.root)
        assert answer.code == 0, answer.err
        assert gpugen("render", "--check", cwd=self.root).code == 0
        self.git("add", "--all")
        assert "<<<<<<<" not in self.git("grep", "-c", "<<<<<<<", "--", "out", code=None)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


COUNT = ("count: 2", "count: 4")
SHARES = ("nvidia.com/gpu: 4", "nvidia.com/gpu: 8")
WORDS = ("description: first", "description: second")
LABEL = ("lab.example/a: x", "lab.example/a: new")
OTHER_LABEL = ("lab.example/c: x", "lab.example/c: new")
TAINT = ("    sharing:", "    taints: [{key: lab.example/x, effect: NoSchedule}]\n    sharing:")
CHANGES = {
    "words": WORDS, "hosts": ("[01:03]", "[01:05]"), "count": COUNT, "shares": SHARES,
    "taint": TAINT, "label": LABEL,
    "unshared": ("    sharing: {mode: time-slicing, resources: {nvidia.com/gpu: 4}}\n", ""),
    "model": ("model: t4", "model: l4"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_two_pools_merge_without_a_conflict(repository: Repository, change: str) -> None:
    repository.branch("one", ("alpha", *CHANGES[change]))
    repository.branch("two", ("beta", *CHANGES[change]))
    repository.git("merge", "--quiet", "one")
    assert gpugen("render", "--check", cwd=repository.root).code == 0
    assert gpugen("render", cwd=repository.root).err.endswith("lab: unchanged\n")
    assert repository.git("status", "--porcelain") == ""


def merge(repository: Repository) -> None:
    repository.git("merge", "one", code=1)


def rebase(repository: Repository) -> None:
    repository.git("rebase", "one", code=1)


def cherry_pick(repository: Repository) -> None:
    repository.git("cherry-pick", "one", code=1)


def revert(repository: Repository) -> None:
    repository.git("merge", "--quiet", "--strategy", "ours", "one")
    repository.git("revert", "--no-edit", "one", code=1)


OPERATIONS = [merge, rebase, cherry_pick, revert]
PAIRS = {  # what two branches do to one pool
    "the same lines": ([SHARES], [("nvidia.com/gpu: 4", "nvidia.com/gpu: 6")]),
    "two hunks": ([SHARES, WORDS], [("nvidia.com/gpu: 4", "nvidia.com/gpu: 6"), LABEL]),
    "other lines": ([LABEL], [SHARES]),
    "neighbours": ([LABEL], [OTHER_LABEL]),
    "one removes": ([("    sharing: {mode: time-slicing, resources: {nvidia.com/gpu: 4}}\n", "")],
                    [SHARES]),
}  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
@pytest.mark.parametrize("pair", PAIRS)
def test_one_pool_is_healed_by_one_render(
    repository: Repository, pair: str, operation: Callable[[Repository], None]
) -> None:
    one, two = PAIRS[pair]
    repository.branch("one", *(("alpha", *change) for change in one))
    repository.branch("two", *(("alpha", *change) for change in two))
    operation(repository)
    assert all(
        "alpha" in path or "cluster" in path or path == SPEC for path in repository.conflicts()
    )
    repository.resolve()
    repository.heals()


def squash(repository: Repository) -> None:
    repository.git("merge", "--squash", "one", code=1)


def stash(repository: Repository) -> None:
    """Bring what was rendered and not committed to the other branch."""
    repository.git("reset", "--quiet", "--mixed", "main")
    repository.git("stash")
    repository.git("checkout", "--quiet", "one")
    repository.git("stash", "pop", code=1)


@pytest.mark.parametrize("operation", [squash, stash], ids=lambda o: o.__name__)
@pytest.mark.parametrize("edit", ["", "mine: 1\n"])
def test_what_git_merges_without_a_commit(
    repository: Repository, edit: str, operation: Callable[[Repository], None]
) -> None:
    path = repository.root / VARIABLES.format("alpha")
    repository.branch("one", ("alpha", *LABEL))
    repository.branch("two", ("alpha", *SHARES))
    operation(repository)
    repository.resolve()
    repository.pool("alpha", *COUNT)
    assert path.relative_to(repository.root).as_posix() not in repository.conflicts()
    if not edit:
        repository.heals()
        return
    path.write_text(path.read_text() + edit)
    assert gpugen("render", cwd=repository.root).code == 5
    assert path.read_text().endswith(edit)


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
@pytest.mark.parametrize("pair", PAIRS)
def test_every_style_of_markers(repository: Repository, pair: str, style: str) -> None:
    one, two = PAIRS[pair]
    repository.git("config", "merge.conflictStyle", style)
    repository.branch("one", *(("alpha", *change) for change in one))
    repository.branch("two", *(("alpha", *change) for change in two))
    merge(repository)
    repository.resolve("--ours")
    repository.heals()


def test_a_file_that_git_merged_is_known_after_the_commit_too(repository: Repository) -> None:
    repository.branch("one", ("alpha", *LABEL))
    repository.branch("two", ("alpha", *SHARES))
    merge(repository)
    repository.git("checkout", "--ours", "--", *repository.conflicts())
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "merged")
    repository.pool("alpha", *COUNT)
    repository.heals()


def test_without_git_a_merged_file_costs_one_confirmation(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.branch("one", ("alpha", *LABEL))
    repository.branch("two", ("alpha", *SHARES))
    merge(repository)
    repository.resolve()
    repository.pool("alpha", "lab.example/a: new", "lab.example/a: z")
    monkeypatch.setenv("PATH", "/nowhere")
    answer = gpugen("render", cwd=repository.root)
    assert answer.code == 5
    edited = re.findall(r"(\S+) \(edited\)", answer.err)
    assert "ansible/inventory/group_vars/pool_alpha.yml" in edited
    named = (f"--overwrite=out/lab/{path}" for path in edited)
    assert gpugen("render", *named, cwd=repository.root).code == 0
    assert gpugen("render", "--check", cwd=repository.root).code == 0


@pytest.mark.parametrize("operation", OPERATIONS[:3], ids=lambda o: o.__name__)
@pytest.mark.parametrize("when", ["before", "committed", "in the middle", "between the marks"])
def test_a_hand_edited_file_stays(
    repository: Repository, when: str, operation: Callable[[Repository], None]
) -> None:
    path = repository.root / VARIABLES.format("alpha")
    repository.branch("one", ("alpha", *SHARES), ("alpha", *LABEL))
    if when == "committed":
        path.write_text(path.read_text() + "mine: 1\n")
        repository.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    repository.git("checkout", "--quiet", "-b", "two", "main")
    repository.pool("alpha", "nvidia.com/gpu: 4", "nvidia.com/gpu: 6")
    repository.commit("two")
    if when == "before":
        path.write_text(path.read_text().replace("gpugen_pool:", "mine: 1\ngpugen_pool:", 1))
        repository.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    operation(repository)
    text = path.read_text()
    if when == "in the middle":
        path.write_text(text + "mine: 1\n")
    if when == "between the marks":
        assert "=======\n" in text
        path.write_text(text.replace("=======\n", "mine: 1\n=======\n", 1))
    before = path.read_bytes()
    assert b"mine: 1\n" in before
    repository.resolve()
    answer = gpugen("render", cwd=repository.root)
    assert answer.code == 5, answer.err
    assert "group_vars/pool_alpha.yml (edited)" in answer.err
    assert path.read_bytes() == before


def test_branches_of_another_gpugen_merge_to_the_higher(repository: Repository) -> None:
    index = repository.root / "out/lab/.gpugen-index/cluster"
    ours = index.read_text()
    for name, version in (("one", "0.0.3"), ("two", "0.0.12")):
        repository.git("checkout", "--quiet", "-b", name, "main")
        index.write_text(ours.replace("gpugen 0.1.0", f"gpugen {version}"))
        repository.git("commit", "--quiet", "--all", "--message", name)
    merge(repository)
    repository.heals()
    assert index.read_text() == ours.replace("gpugen 0.1.0", "gpugen 0.0.12")


def test_three_branches_at_once(repository: Repository) -> None:
    repository.branch("one", ("alpha", *WORDS))
    repository.branch("two", ("beta", *WORDS))
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "one", "two")
    assert gpugen("render", cwd=repository.root).err.endswith("lab: unchanged\n")


def test_branches_that_crossed(repository: Repository) -> None:
    """Each has merged an earlier commit of the other, so there are two bases."""
    repository.branch("one", ("alpha", *WORDS))
    repository.branch("two", ("beta", *WORDS))
    repository.git("branch", "earlier")
    repository.git("merge", "--quiet", "one")
    repository.pool("alpha", *SHARES)
    repository.commit("more")
    repository.git("checkout", "--quiet", "one")
    repository.git("merge", "--quiet", "earlier")
    repository.pool("alpha", "nvidia.com/gpu: 4", "nvidia.com/gpu: 6")
    repository.commit("more")
    repository.git("checkout", "--quiet", "two")
    merge(repository)
    repository.resolve()
    repository.heals()


def test_new_pools_on_two_branches_are_healed(repository: Repository) -> None:
    for name in ("gamma", "delta"):
        repository.git("checkout", "--quiet", "-b", name, "main")
        with (repository.root / SPEC).open("a") as file:
            file.write(POOL.format(name))
        repository.commit(name)
    repository.git("merge", "gamma", code=1)
    text = (repository.root / SPEC).read_text().splitlines(keepends=True)
    kept = [line for line in text if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")]
    (repository.root / SPEC).write_text("".join(kept))
    if gpugen("validate", cwd=repository.root).code:  # git took common lines out of the conflict
        (repository.root / SPEC).write_text(
            repository.git("show", "delta:" + SPEC) + POOL.format("gamma")
        )
    repository.heals()


def test_a_removed_pool_and_a_changed_one(repository: Repository) -> None:
    repository.branch("one", ("beta", *SHARES))
    repository.git("checkout", "--quiet", "-b", "two", "main")
    text = (repository.root / SPEC).read_text()
    (repository.root / SPEC).write_text(text.replace(POOL.format("beta"), ""))
    repository.commit("two")
    merge(repository)
    repository.git("checkout", "--quiet", "two", "--", SPEC)
    repository.heals()
    assert "beta" not in repository.git("ls-files", "out")


def rename(repository: Repository, name: str) -> None:
    """Commit on a branch of ``main`` that pool alpha is called gamma."""
    repository.git("checkout", "--quiet", "-b", name, "main")
    path = repository.root / SPEC
    path.write_text(path.read_text().replace("name: alpha\n", "name: gamma\n"))
    repository.commit(name)


@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry-pick"])
@pytest.mark.parametrize("renames", ["one", "two"])
def test_a_renamed_pool_and_a_change_of_it(
    repository: Repository, renames: str, operation: str
) -> None:
    """git moves the change to the new names; a file that only one side adds goes along."""
    rename(repository, renames)
    changes = "two" if renames == "one" else "one"
    repository.branch(changes, ("alpha", *LABEL), ("alpha", "time-slicing", "mps"))
    repository.git("checkout", "--quiet", "two")
    repository.git(operation, "one", code=None)
    repository.heals()
    assert not list(repository.root.glob("out/lab/**/*alpha*"))


def test_an_edit_beside_a_rename_stays(repository: Repository) -> None:
    rename(repository, "one")
    repository.branch("two", ("alpha", *LABEL))
    path = repository.root / VARIABLES.format("alpha")
    path.write_text(path.read_text() + "mine: 1\n")
    repository.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    repository.git("merge", "one", code=None)
    path = repository.root / VARIABLES.format("gamma")
    assert "mine: 1\n" in path.read_text()
    assert gpugen("render", cwd=repository.root).code == 5
    assert "mine: 1\n" in path.read_text()


def test_a_fresh_clone_stays_clean(repository: Repository, tmp_path_factory) -> None:
    clone = tmp_path_factory.mktemp("clone")
    repository.git("clone", "--quiet", ".", str(clone))
    assert gpugen("render", cwd=clone).err.endswith("lab: unchanged\n")
    repository.root = clone
    assert repository.git("status", "--porcelain") == ""


def test_files_of_the_tree_are_no_repository(repository: Repository) -> None:
    """git takes a folder with these files for one, and runs what its configuration says."""
    lab = repository.root / "out/lab"
    for name in ("objects", "refs"):
        (lab / name).mkdir()
        (lab / name / "x").write_text("")
    (lab / "HEAD").write_text("ref: refs/heads/main\n")
    (lab / "config").write_text('[core]\n\tfsmonitor = "touch pwned"\n')
    path = repository.root / VARIABLES.format("alpha")
    path.write_text("mine\n")
    assert gpugen("render", cwd=repository.root).code == 5
    assert not list(repository.root.rglob("pwned"))

"""containerd as a service of booted nodes: the role adds its drop-in, takes it back, removes it.

CTK-01, CTK-08 to CTK-11, CTK-17, CTK-19, CTK-21, DRV-20, GEN-04, GEN-10, GEN-11. Every version and
main file, without a node, is conformance/test_containerd_versions.py.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from support.lab.containerds import VERSION_2, VERSION_3, lost, runtimes
from support.lab.nodes.machine import Machine
from support.lab.nodes.node import Node
from support.lab.nodes.plays import ALL_AT_ONCE, Checkout, Run, spec
from support.lab.nodes.room import Room

pytestmark = [pytest.mark.hosts, pytest.mark.xdist_group(__name__)]

ROLE = "nvidia_container_toolkit"
ROOT = "/etc/containerd/config.toml"
DROPIN = "/etc/containerd/conf.d/99-nvidia.toml"
SOURCE = "Types: deb\nURIs: http://10.77.0.1:8080/debian12/x86_64/\nSuites: /\nTrusted: yes\n"
OTHERS_D = """\
imports = [
  "/etc/containerd/others.d/*.toml",
  # "/etc/containerd/off.toml",  # switched off, see ticket [1]
]
"""
PRIVATE = VERSION_2.replace("version = 2\n", f"version = 2\n{OTHERS_D}")
LOGIN = """\
[plugins."io.containerd.grpc.v1.cri".registry.configs."registry.lab.example".auth]
  password = "open-sesame"
"""
OTHERS = {
    "etc/containerd/off.toml": 'version = 2\n[debug]\n  level = "trace"\n',
    "etc/containerd/others.d/10-gc.toml": (
        'version = 2\n[plugins."io.containerd.gc.v1.scheduler"]\n  pause_threshold = 0.05\n'
    ),
}
NONE = "none"  # no main file at all
DEFAULT = "default"  # what containerd prints as its default
CELLS: Mapping[str, tuple[str, str | None]] = {  # containerd and main file; None: Debian's own
    "1.6-debian": ("1.6", None),
    "1.6-private": ("1.6", PRIVATE + LOGIN),
    "1.7-private": ("1.7", PRIVATE + LOGIN),
    "2-none": ("2", NONE),
    "2-private": ("2", PRIVATE),
    "2.4-default": ("2.4", DEFAULT),
    "2.4-private-3": ("2.4", VERSION_3),
}
MINIMAL = ("1.6-private", "1.7-private")  # where a drop-in of our runtime alone breaks the CRI
OTHER_VERSION = ("2-private",)  # where a drop-in of version 3 under version 2 loses settings


def node_name(cell: str) -> str:
    return f"c{cell.replace('.', '')}"


@dataclass(frozen=True)
class State:
    """What containerd says, and its files; empty where there is none."""

    dump: dict[str, Any]
    is_healthy: bool
    root: str
    dropin: str
    since: str


def state(node: Node) -> State:
    """Ask a node."""
    root = node.read(ROOT)
    plugins = node.run("ctr", "plugins", "ls").splitlines()
    cri = [
        line.split() for line in plugins if "io.containerd.grpc.v1 " in line or ".cri.v1" in line
    ]
    cri = [words for words in cri if words[0] != "io.containerd.grpc.v1" or words[1] == "cri"]
    dump = tomllib.loads(node.run("containerd", "config", "dump" if root else "default"))
    dump["imports"] = sorted(dump.get("imports", []))  # containerd 1.x lists them at random
    return State(
        dump,
        bool(cri) and all(words[-1] == "ok" for words in cri),
        root,
        node.read(DROPIN),
        node.run("systemctl", "show", "--property=ExecMainStartTimestampMonotonic", "containerd"),
    )


class Matrix:
    """Nodes, one per cell, and the runs over them, each computed once."""

    def __init__(self, room: Room, checkout: Checkout, programs: Callable[[str], Path]) -> None:
        machines = {
            node_name(cell): Machine(
                layer=None if minor == "1.6" else programs(minor),
                files={
                    "etc/apt/sources.list.d/lab.sources": SOURCE,
                    **(OTHERS if root and "imports" in root else {}),
                    **({ROOT[1:]: root} if root not in {None, NONE, DEFAULT} else {}),
                },
            )
            for cell, (minor, root) in CELLS.items()
        }
        self.checkout = checkout
        self.nodes = room.boot(machines)
        for cell, (_, root) in CELLS.items():
            if root == NONE:
                self.node(cell).sh(f"rm {ROOT}; systemctl restart containerd")
            elif root == DEFAULT:
                self.node(cell).sh(
                    f"containerd config default >{ROOT}; systemctl restart containerd"
                )
        checkout.render(spec(room, self.nodes.values()))

    def node(self, cell: str) -> Node:
        """Return the node of a cell."""
        return self.nodes[node_name(cell)]

    def states(self) -> dict[str, State]:
        """Ask every node."""
        return {cell: state(self.node(cell)) for cell in CELLS}

    def play(
        self,
        *cells: str,
        playbook: str = "site.yml",
        more: Mapping[str, Any] | None = None,
        **private: Any,
    ) -> Run:
        """Run the role on some cells, by default on all. private: the role's own variables."""
        limit = ",".join(f"{node_name(cell)}.lab.example" for cell in cells or CELLS)
        own = {f"__{ROLE}_{name}": value for name, value in private.items()}
        extra = {**ALL_AT_ONCE, **(more or {}), **own}
        words = ("--tags", ROLE, "--limit", limit, "--diff")
        return self.checkout.play(*words, playbook=playbook, extra=extra)

    @cached_property
    def before(self) -> dict[str, State]:
        """The nodes before anything."""
        return self.states()

    @cached_property
    def minimal(self) -> tuple[Run, dict[str, State]]:
        """First negative control: a drop-in that is too small."""
        assert self.before
        return self.play(*MINIMAL, is_full=False), {c: state(self.node(c)) for c in MINIMAL}

    @cached_property
    def other_version(self) -> tuple[Run, dict[str, State]]:
        """Second negative control: a drop-in of another version than the main file."""
        assert self.minimal
        run = self.play(*OTHER_VERSION, version_declared=3)
        return run, {cell: state(self.node(cell)) for cell in OTHER_VERSION}

    @cached_property
    def converged(self) -> tuple[Run, dict[str, State]]:
        """The role as it is."""
        assert self.other_version
        return self.play(), self.states()

    @cached_property
    def removed(self) -> tuple[Run, dict[str, State]]:
        """Verified, then taken away."""
        assert self.again
        run = self.play(playbook="verify.yml")
        assert run.code == 0, run.output
        return self.play(playbook="remove.yml", more={"gpugen_remove": True}), self.states()

    @cached_property
    def again(self) -> tuple[Run, dict[str, State]]:
        """Once more, after an administrator changed the main file of one node."""
        assert self.converged
        self.node("1.6-private").sh(f"sed -i s/pause:3.10/pause:3.11/ {ROOT}")
        return self.play(), self.states()


@pytest.fixture(scope="module")
def programs(
    containerd: Callable[[str], Path],
    upstream: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Path]:
    """Return a function from a version to a folder with its programs.

    2.4 is not in the archive: the built one takes the place of the newest that is.
    """
    folder = tmp_path_factory.mktemp("containerd") / "2.4"

    def find(minor: str) -> Path:
        if minor != "2.4":
            return containerd(minor)
        if not folder.exists():
            shutil.copytree(containerd("2"), folder)
            shutil.copy(upstream("containerd-2.4"), folder / "usr/bin/containerd")
        return folder

    return find


@pytest.fixture(scope="module")
def matrix(room: Room, checkout: Checkout, programs: Callable[[str], Path]) -> Iterator[Matrix]:
    own = Matrix(room, checkout, programs)
    yield own
    room.stop(own.nodes.values())


@pytest.mark.parametrize("cell", CELLS)
def test_the_runtime_is_added_and_nothing_is_lost(matrix: Matrix, cell: str) -> None:
    before = matrix.before[cell]
    run, states = matrix.converged
    after = states[cell]
    assert before.is_healthy
    assert not run[node_name(cell)].is_failed, run[node_name(cell)].messages
    assert after.is_healthy
    assert lost(before.dump, after.dump) == []
    found = runtimes(after.dump)
    assert set(found) - set(runtimes(before.dump)) == {"nvidia"}
    assert found["nvidia"]["runtime_type"] == "io.containerd.runc.v2"
    options = found["nvidia"]["options"]
    assert options["BinaryName"] == "/usr/bin/nvidia-container-runtime"
    wanted = found["runc"].get("options", {}).get("SystemdCgroup", False)
    assert options.get("SystemdCgroup", False) is wanted


@pytest.mark.parametrize("cell", CELLS)
def test_of_the_main_file_only_the_imports_are_ours(matrix: Matrix, cell: str) -> None:
    before, after = matrix.before[cell].root, matrix.converged[1][cell].root
    if f"{Path(DROPIN).parent}/*.toml" in before:  # as newer containerd writes it itself
        assert after == before
        return
    new = [line for line in after.splitlines() if line not in before.splitlines()]
    assert len(new) == (1 if before else 2)  # of a new file, its version too
    assert f'"{Path(DROPIN).parent}/*.toml"' in new[0]
    assert len([line for line in before.splitlines() if line not in after.splitlines()]) <= 1
    if "others.d" in before:
        assert '"/etc/containerd/others.d/*.toml", "' in new[0]
        assert '# "/etc/containerd/off.toml"' in after


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell != "1.6-private"])
def test_a_second_run_changes_nothing(matrix: Matrix, cell: str) -> None:
    run, states = matrix.again
    assert run[node_name(cell)].changed == ()
    assert states[cell] == matrix.converged[1][cell]  # not restarted either


def test_a_later_edit_of_the_main_file_is_not_shadowed(matrix: Matrix) -> None:
    run, states = matrix.again
    after = states["1.6-private"]
    assert not run[node_name("1.6-private")].is_failed
    assert after.is_healthy
    section = after.dump["plugins"]["io.containerd.grpc.v1.cri"]
    assert section["sandbox_image"] == "registry.lab.example/pause:3.11"
    assert after.since != matrix.converged[1]["1.6-private"].since


@pytest.mark.parametrize("cell", MINIMAL)
def test_a_runtime_that_our_file_breaks_is_put_back(matrix: Matrix, cell: str) -> None:
    run, states = matrix.minimal
    before, after = matrix.before[cell], states[cell]
    own = run[node_name(cell)]
    assert own.is_failed
    assert "containerd runs as before" in own.messages[-1]
    assert (after.root, after.dropin, after.is_healthy) == (before.root, "", True)
    assert after.dump == before.dump


@pytest.mark.parametrize("cell", OTHER_VERSION)
def test_lost_settings_are_noticed_before_the_runtime_is_restarted(
    matrix: Matrix, cell: str
) -> None:
    run, states = matrix.other_version
    before, after = matrix.before[cell], states[cell]
    message = run[node_name(cell)].messages[-1]
    assert "CTK-09: " in message
    assert "settings lost" in message
    assert "config_path" in message
    assert "containerd runs as before" in message
    assert after == before


@pytest.mark.parametrize("cell", CELLS)
def test_an_unchanged_host_costs_few_runs(matrix: Matrix, cell: str) -> None:
    """Budget of preflight and converge: 9 starts of Python, the facts beside them."""
    if cell != "1.6-private":
        assert matrix.again[0][node_name(cell)].module_runs <= 1 + 9


@pytest.mark.parametrize("cell", CELLS)
def test_after_removal_everything_is_as_it_was(matrix: Matrix, cell: str) -> None:
    """CTK-21: main file byte by byte, effective configuration, packages."""
    run, states = matrix.removed
    own = run[node_name(cell)]
    assert not own.is_failed, own.messages
    before, after = matrix.before[cell], states[cell]
    root = before.root
    if cell == "1.6-private":  # its administrator changed it meanwhile
        root = root.replace("pause:3.10", "pause:3.11")
        assert sorted(after.root.splitlines()) == sorted(root.splitlines())
    else:
        assert after.root == root
        assert after.dump == before.dump
    assert after.dropin == ""
    assert after.is_healthy
    assert matrix.node(cell).versions() == {}
    left = matrix.node(cell).changes()
    assert not any("conf.d" in path or "gpugen-" in path for path in left)


def test_logins_of_registries_are_not_told(matrix: Matrix) -> None:
    runs = [matrix.minimal[0], matrix.other_version[0], matrix.converged[0], matrix.again[0]]
    runs.append(matrix.removed[0])
    assert "password" in matrix.before["1.6-private"].root
    for run in runs:
        assert "open-sesame" not in run.output

"""containerd of six versions x main files x the role's drop-in, checked by containerd itself.

CTK-06 to CTK-13 without a booted node: the probe reads a containerd that lies here, and what the
role would write is given to that containerd. Host contract 4.2, measured again.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpugen.hosts.decisions import load
from support.lab import containerds, role_texts
from support.lab.containerds import VERSION_2, VERSION_3, Containerd, lost, runtimes
from support.lab.nodes import base
from support.required import missing

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group(__name__)]  # the matrix is made once

NONE, DEFAULT = "none", "default"  # no main file at all; what containerd prints as its default
ROOTS = {
    "2": VERSION_2,
    "3": VERSION_3,
    "4": VERSION_3.replace("version = 3", "version = 4"),
    "1": '[plugins.cri]\n  sandbox_image = "registry.lab.example/pause:3.10"\n',
    "commented": (
        "imports = [\n  # '{folder}/off.toml', # see ticket [1]\n]\n" + VERSION_2  # switched off
    ),
    "relative": 'imports = ["conf.d/*.toml"]\n' + VERSION_2,
    "list": 'imports = "/etc/containerd/x.toml"\n' + VERSION_2,
}
READS = {  # containerd -> main files that it reads
    "1.6": (NONE, DEFAULT, "2"),
    "1.7": (NONE, DEFAULT, "2", "commented"),
    "2.1": (NONE, DEFAULT, "2", "3"),
    "2.2": (NONE, DEFAULT, "2", "3"),
    "2.3": (NONE, DEFAULT, "2", "3", "4"),
    "2.4": (NONE, DEFAULT, "2", "3", "4", "commented"),
}
GOOD = [f"{version}-{root}" for version, roots in READS.items() for root in roots]
NEIGHBOUR = VERSION_2.replace("certs.d", "others.d")  # of somebody else, beside our file
NEIGHBOURS = ["1.7-imported", "2.1-imported", "1.7-strange", "2.4-strange"]
CDI_DEFAULT = ["1.7-2+", "2.1-3+", "2.4-4+"]  # with CDI, and ours as default runtime
MINIMAL = ["1.6-2-minimal", "1.7-2-minimal"]  # first negative control: our runtime alone, under 1.x
OTHER = ["2.1-2-other", "2.2-2-other", "2.3-2-other"]  # second: version 3 under a main file of 2
REFUSED = {  # by the role, before anything is written
    "1.7-1": "CTK-08: {} has version 1; run 'containerd config migrate'",
    "2.4-1": "CTK-08: {} has version 1; run 'containerd config migrate'",
    "1.7-3": "CTK-07: {} has version 3, which containerd 1.x does not read",
    "2.2-4": "CTK-08: containerd refuses {}",
    "1.7-list": "CTK-10: {} has imports that are no list of paths",
    "1.7-relative": "CTK-10: {} imports conf.d/*.toml by a relative path; write it absolute",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One containerd with one main file."""

    containerd: Containerd
    folder: Path
    stated: str  # the main file; empty where there is none
    before: dict[str, Any] | None

    @property
    def root(self) -> Path:
        """The main file."""
        return self.folder / "config.toml"

    @property
    def dropin(self) -> Path:
        """Where the role puts its own file."""
        return self.folder / "conf.d" / "99-nvidia.toml"

    def variables(self) -> dict[str, Any]:
        """Return what the role is told about it."""
        return {
            "root": str(self.root),
            "dropin": str(self.dropin),
            "__containerd": str(self.containerd.program),
        }

    def write(self, texts: Mapping[str, Any]) -> None:
        """Write what the role would write."""
        if not texts["containerd"]["is_imported"]:
            self.root.write_text(texts["texts"]["root"])
        self.dropin.parent.mkdir(exist_ok=True)
        self.dropin.write_text(texts["texts"]["dropin"])

    def after(self) -> dict[str, Any] | None:
        """Return what containerd makes of it now."""
        return self.containerd.dump(self.root)


@pytest.fixture(scope="module")
def programs(upstream: Callable[[str], Path]) -> Callable[[str], Containerd]:
    """Return a function from a minor version to its containerd."""
    if needs := containerds.unmet():
        missing(f"private daemons need {needs}")
    archive = {"1.6": "1.6", "1.7": "1.7", "2.1": "2"}

    def find(minor: str) -> Containerd:
        if minor not in archive:
            return Containerd(upstream(f"containerd-{minor}"), upstream("ctr"))
        try:
            folder = base.containerd(archive[minor])
        except base.UnavailableError as problem:
            missing(str(problem))
        return Containerd(folder / "usr/bin/containerd", upstream("ctr"))

    return find


class Matrix:
    """All cells, and what the role would write into each."""

    def __init__(self, programs: Callable[[str], Containerd], folder: Path) -> None:
        self.folder = folder
        self.cells = {
            name: self._cell(programs, name)
            for name in (*GOOD, *NEIGHBOURS, *CDI_DEFAULT, *MINIMAL, *OTHER, *REFUSED)
        }
        plain = [*GOOD, *NEIGHBOURS, *REFUSED, *CDI_DEFAULT]
        cdi = {"enable_cdi": True, "default_runtime": True}
        self.texts = self._render(plain, {}, dict.fromkeys(CDI_DEFAULT, cdi))
        self.texts |= self._render(MINIMAL, {"__is_full": False}, {})
        self.texts |= self._render(OTHER, {"__version_declared": 3}, {})
        for name in (*GOOD, *NEIGHBOURS, *CDI_DEFAULT, *MINIMAL, *OTHER):
            self.cells[name].write(self.texts[name])

    def _cell(self, programs: Callable[[str], Containerd], name: str) -> Cell:
        minor, root = name.rstrip("+").split("-")[:2]
        containerd = programs(minor)
        folder = self.folder / name
        folder.mkdir()
        text = containerd.default() if root == DEFAULT else ROOTS.get(root, "")
        text = text.replace("{folder}", str(folder))
        (folder / "off.toml").write_text('version = 2\n[debug]\n  level = "trace"\n')
        if name in NEIGHBOURS:
            text = f'imports = ["{folder}/conf.d/*.toml"]\n' if root == "imported" else ""
            text += VERSION_2
            (folder / "conf.d").mkdir()
            (folder / "conf.d" / "10-other.toml").write_text(NEIGHBOUR)
        if text:
            (folder / "config.toml").write_text(text)
        return Cell(containerd, folder, text, containerd.dump(folder / "config.toml"))

    def _render(
        self, names: list[str], extra: Mapping[str, Any], own: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        cells = {name: {**self.cells[name].variables(), **own.get(name, {})} for name in names}
        return {name: role_texts.decide({**cell, **extra}) for name, cell in cells.items()}


@pytest.fixture(scope="module")
def matrix(
    programs: Callable[[str], Containerd], tmp_path_factory: pytest.TempPathFactory
) -> Matrix:
    return Matrix(programs, tmp_path_factory.mktemp("containerd"))


@pytest.mark.parametrize("name", GOOD)
def test_our_runtime_is_added_and_nothing_is_lost(matrix: Matrix, name: str) -> None:
    """CTK-07, CTK-08, CTK-09, CTK-11: a private registry, other runtimes, cgroups are kept."""
    cell = matrix.cells[name]
    assert matrix.texts[name]["faults"] == []
    before, after = cell.before, cell.after()
    assert before is not None
    assert after is not None
    assert lost(before, after) == []
    found = runtimes(after)
    assert set(found) - set(runtimes(before)) == {"nvidia"}
    assert found["nvidia"]["runtime_type"] == "io.containerd.runc.v2"
    options = found["nvidia"]["options"]
    assert options["BinaryName"] == "/usr/bin/nvidia-container-runtime"
    wanted = found["runc"].get("options", {}).get("SystemdCgroup", False)
    assert options.get("SystemdCgroup", False) is wanted


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_drop_ins_of_others_stay_what_they_were(matrix: Matrix, name: str) -> None:
    """CTK-08, CTK-10: imported ones still count, and strange ones are not drawn in by our glob."""
    cell = matrix.cells[name]
    after = cell.after()
    assert after is not None
    assert lost(cell.before, after) == []
    assert set(runtimes(after)) == {"runc", "kata", "nvidia"}
    text = json.dumps(after)
    assert ("others.d" in text) is ("imported" in name)
    assert cell.containerd.states(cell.root) == {"ok"}


@pytest.mark.parametrize("name", GOOD)
def test_a_daemon_lives_with_it(matrix: Matrix, name: str) -> None:
    """CTK-09: what `config dump` accepts may still leave the node without CRI."""
    cell = matrix.cells[name]
    assert cell.containerd.states(cell.root) == {"ok"}


@pytest.mark.parametrize("name", GOOD)
def test_the_drop_in_declares_the_version_of_the_main_file(matrix: Matrix, name: str) -> None:
    """CTK-06, CTK-07, DIST-02."""
    texts = matrix.texts[name]["texts"]
    version = tomllib.loads(texts["root"])["version"]
    assert f"\nversion = {version}\n" in texts["dropin"]
    root = name.split("-")[1]
    assert version == int(root) if root.isdigit() else version in {2, 3, 4}


@pytest.mark.parametrize("name", GOOD)
def test_one_line_of_the_main_file_is_ours(matrix: Matrix, name: str) -> None:
    """CTK-10."""
    cell = matrix.cells[name]
    after, before = cell.root.read_text().splitlines(), cell.stated.splitlines()
    new = [line for line in after if line not in before]
    assert len(new) == (1 if before else 2)  # of a new file, its version too
    assert str(cell.dropin.parent / "*.toml") in new[0]
    assert len([line for line in before if line not in after]) <= 1


@pytest.mark.parametrize("name", CDI_DEFAULT)
def test_cdi_and_the_default_runtime_where_asked_for(matrix: Matrix, name: str) -> None:
    """CTK-12, CTK-13."""
    cell = matrix.cells[name]
    after = cell.after()
    assert after is not None
    plugins = after["plugins"]
    section = plugins.get("io.containerd.cri.v1.runtime") or plugins["io.containerd.grpc.v1.cri"]
    assert section["containerd"]["default_runtime_name"] == "nvidia"
    assert section.get("enable_cdi", True) is True
    assert cell.containerd.states(cell.root) == {"ok"}


@pytest.mark.parametrize("name", MINIMAL)
def test_control_our_runtime_alone_kills_the_cri_of_1_x(matrix: Matrix, name: str) -> None:
    """CTK-08, CTK-09: `config dump` is content, the plugin is not."""
    cell = matrix.cells[name]
    assert cell.after() is not None
    assert cell.containerd.states(cell.root) - {"ok"}


@pytest.mark.parametrize("name", OTHER)
def test_control_another_version_loses_settings_or_is_refused(matrix: Matrix, name: str) -> None:
    """CTK-07, CTK-09: with no word from containerd before 2.3."""
    cell = matrix.cells[name]
    after = cell.after()
    if name.startswith("2.3"):
        assert after is None
    else:
        assert any("config_path" in path for path in lost(cell.before, after))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_before_anything_is_written(matrix: Matrix, name: str) -> None:
    """CTK-06, CTK-07, CTK-08, CTK-10."""
    expected = REFUSED[name].format(matrix.cells[name].root)
    assert expected in "; ".join(matrix.texts[name]["faults"])


def test_version_1_is_no_error_of_containerd(matrix: Matrix) -> None:
    """CTK-08: 1.7 still reads it, so only the role's word stands between it and a dead CRI."""
    cell = matrix.cells["1.7-1"]
    done = subprocess.run(
        [cell.containerd.program, "--config", cell.root, "config", "dump"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0


def test_a_host_without_a_runtime_is_checked_in_words() -> None:
    """CTK-06, GEN-09: preflight and verification say what is missing; nothing breaks on it."""
    nothing = {"__containerd": "no-containerd", "root": "/nowhere/a", "dropin": "/nowhere/b/c"}
    found = role_texts.decide(nothing)
    verdict = "; ".join(found["shortfalls"])
    assert "CTK-06: no-containerd does not run here; install containerd first" in found["faults"]
    assert "CTK-01: nvidia-container-toolkit, nvidia-container-toolkit-base, " in verdict
    assert "CTK-09: the runtime is not in the effective configuration" in verdict


def test_files_of_others_keep_their_order() -> None:
    """CTK-08: a later import overrides an earlier one, so the bare configuration needs them so."""
    imports = [f"/etc/{name}.toml" for name in ("nine", "one", "eight", "two", "seven", "ten")]
    text: Any = load("nvidia_container_toolkit.toml_text")
    root = text.root(f"version = 2\nimports = {json.dumps(imports)}\n", "/b/*.toml", ["/b/c"], [])
    assert root.imports == imports


def test_a_host_whose_import_is_a_line_of_its_own_is_read_once(tmp_path: Path) -> None:
    """CTK-08: what containerd makes of its file without us comes in the same round."""
    folder = tmp_path / "conf.d"
    own = {"__containerd": "no-containerd", "root": f"{tmp_path}/config.toml"}
    own["dropin"] = f"{folder}/99-nvidia.toml"
    (tmp_path / "config.toml").write_text(f'imports = ["{folder}/*.toml"]\nversion = 3\n')
    role: Any = load("nvidia_container_toolkit")
    asked = role.questions(role_texts.wanted(own), {})["commands"]["less_line"]
    cat = subprocess.run(
        [*asked[:2], asked[2].partition(" |")[0], *asked[3:]], capture_output=True, check=True
    )
    assert cat.stdout == b"version = 3\n"

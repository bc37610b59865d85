"""What the role writes for CRI-O and docker, checked by CRI-O itself and by dockerd.

CTK-12, CTK-14, CTK-15. The texts are what the role decides from what these programs say.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.lab.nodes import base
from support.lab.role_texts import decide
from support.required import missing

pytestmark = pytest.mark.lab

CRUN = """\
[crio.runtime]
default_runtime = "crun"
[crio.runtime.runtimes.crun]
runtime_path = "/usr/libexec/crio/crun"
monitor_path = "/usr/libexec/crio/conmon"
allowed_annotations = ["io.containers.trace-syscall", "io.kubernetes.cri-o.Devices"]
"""
RUNC = '[crio.runtime]\ndefault_runtime = "runc"\n[crio.runtime.runtimes.runc]\n'
CRIO = {  # files of its administrator, whether ours is the default -> runtime that ours is like
    "bare": ("", False, "crun"),
    "crun": (CRUN, False, "crun"),
    "crun-default": (CRUN, True, "crun"),
    "runc": (RUNC, False, "runc"),
}
OWN: Mapping[str, Any] = {  # of docker's administrator
    "data-root": "/srv/docker",
    "features": {"buildkit": True},
    "insecure-registries": ["registry.lab.example:5000"],
    "runtimes": {"kata": {"path": "kata-runtime"}},
}
DOCKER: Mapping[
    str, tuple[str, dict[str, Any], dict[str, Any]]
] = {  # daemon.json, variables of the role -> what is added or changed
    "none": ("", {}, {}),
    "empty": ("{}\n", {}, {}),
    "own": (json.dumps(OWN), {}, {}),
    "cdi": (
        json.dumps(OWN),
        {"enable_cdi": True},
        {"features": {"buildkit": True, "cdi": True}},
    ),
    "default": (json.dumps(OWN), {"default_runtime": True}, {"default-runtime": "nvidia"}),
}
NVIDIA = {"nvidia": {"args": [], "path": "/usr/bin/nvidia-container-runtime"}}


def merged(program: Path, folder: Path) -> dict[str, Any]:
    """Return CRI-O's merged configuration, defaults too."""
    files = [str(folder / "crio.conf"), str(folder / "crio.conf.d")]
    flags = ["--config", files[0], "--config-dir", files[1]]
    done = subprocess.run(
        [program, *flags, "config"], capture_output=True, text=True, timeout=60, check=True
    )
    found: dict[str, Any] = tomllib.loads(done.stdout)["crio"]["runtime"]
    return found


@pytest.fixture(scope="module")
def crio(
    upstream: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return what CRI-O reads before and after the role's drop-in."""
    top, program = tmp_path_factory.mktemp("crio"), upstream("crio")
    cells: dict[str, dict[str, Any]] = {}
    before = {}
    for name, (text, is_default, _) in CRIO.items():
        folder = top / name
        (folder / "crio.conf.d").mkdir(parents=True)
        (folder / "crio.conf").write_text("")
        (folder / "crio.conf.d" / "10-own.conf").write_text(text)
        flags = ["--config", str(folder / "crio.conf"), "--config-dir"]
        cells[name] = {
            "runtimes": ["crio"],
            "default_runtime": is_default,
            "crio_dropin": str(folder / "crio.conf.d" / "99-nvidia.conf"),
            "__crio": [str(program), *flags, str(folder / "crio.conf.d")],
        }
        before[name] = merged(program, folder)
    for cell in cells.values():
        found = decide(cell)
        assert found["faults"] == []
        assert found["crio"]["due"] is True
        Path(cell["crio_dropin"]).write_text(found["crio"]["text"])
    return before, {name: merged(program, top / name) for name in CRIO}


@pytest.mark.parametrize("name", CRIO)
def test_cri_o_reads_our_runtime(crio: Any, name: str) -> None:
    """CTK-14: monitor and annotations as the default runtime has them, the rest as it was."""
    before, after = crio[0][name], crio[1][name]
    _, is_default, like = CRIO[name]
    ours = after["runtimes"].pop("nvidia")
    assert ours["runtime_path"] == "/usr/bin/nvidia-container-runtime"
    assert ours["runtime_type"] == "oci"
    model = after["runtimes"].get(like, {})
    assert ours["monitor_path"] == model.get("monitor_path", "")
    if "allowed_annotations" in model:
        assert ours["allowed_annotations"] == model["allowed_annotations"]
    assert (after.pop("default_runtime", "crun") == "nvidia") is is_default
    assert after["runtimes"].get("crun", {}).get("runtime_path", "") == before.get(
        "runtimes", {}
    ).get("crun", {}).get("runtime_path", "")


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return what the role would write, for each daemon.json."""
    top = tmp_path_factory.mktemp("docker")
    cells = {}
    for name, (text, own, _) in DOCKER.items():
        file = top / f"{name}.json"
        if text:
            file.write_text(text)
        cells[name] = {"runtimes": ["docker"], "docker_config": str(file), **own}
    return {name: decide(cell) for name, cell in cells.items()}


@pytest.mark.parametrize("name", DOCKER)
def test_entries_of_daemon_json_are_kept(docker: dict[str, Any], name: str, tmp_path: Path) -> None:
    """CTK-15: merged deep, sorted, and read by dockerd."""
    text, _, added = DOCKER[name]
    found = json.loads(docker[name]["texts"]["daemon"])
    own = json.loads(text or "{}")
    assert found == {**own, **added, "runtimes": {**own.get("runtimes", {}), **NVIDIA}}
    assert list(found) == sorted(found)
    assert docker[name]["docker"]["is_written"] is False
    file = tmp_path / "daemon.json"
    file.write_text(docker[name]["texts"]["daemon"])
    done = dockerd_validates(file)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def removed(
    docker: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """Return what removal would leave, with the record of what was there and without it."""
    top = tmp_path_factory.mktemp("removed")
    cells = {}
    for name, (text, own, _) in DOCKER.items():
        file, record = top / f"{name}.json", top / f"{name}-record.json"
        file.write_text(docker[name]["texts"]["daemon"])
        before = {"packages": {}, "folder": True, "root": {}, "root_written": "", "imported": True}
        record.write_text(json.dumps({**before, "docker": {"text": text} if text else {}}))
        common = {"runtimes": ["docker"], "docker_config": str(file), **own}
        cells[name] = {**common, "__record": str(record)}
        cells[f"{name}-forgotten"] = {**common, "__record": str(top / "none")}
    return {name: decide(cell, state="absent") for name, cell in cells.items()}


@pytest.mark.parametrize("name", DOCKER)
def test_removal_leaves_the_entries_of_others(removed: dict[str, Any], name: str) -> None:
    """CTK-21: from what the role wrote back to what its administrator wrote."""
    text = DOCKER[name][0]
    assert removed[name]["removal"]["is_daemon_leaving"] is (not text)
    assert not text or removed[name]["texts"]["daemon"] == text
    kept = {key: value for key, value in json.loads(text or "{}").items() if value}
    left = json.loads(removed[f"{name}-forgotten"]["texts"]["daemon"])
    assert left.items() >= kept.items()
    assert "nvidia" not in json.dumps(left)


def test_dockerd_refuses_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    file.write_text('{"runtimes": []}\n')
    assert dockerd_validates(file).returncode != 0


def dockerd_validates(file: Path) -> subprocess.CompletedProcess[str]:
    """Ask dockerd about a file; skip where it cannot be had."""
    try:
        folder = base.docker() / "usr/sbin"
    except base.UnavailableError as problem:
        missing(str(problem))
    return subprocess.run(
        [folder / "dockerd", "--validate", f"--config-file={file}"],
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

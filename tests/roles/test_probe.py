"""What answers questions about a host, on the host."""

from __future__ import annotations

from support import ROOT

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = ROOT / "plugins" / "module_utils"
PROBE = f"""\
import json, sys
sys.path.insert(0, {str(FOLDER)!r})
import reading
print(json.dumps(reading.answer(json.loads(sys.argv[1]))))
"""
DPKG = """\
#!/bin/sh
printf 'ii |nvidia-open|580.142-1\\nhi |libcuda1|580.142-1\\nrc |gone|1\\n'
exit 1
"""
RPM = """\
#!/bin/sh
printf 'ii |nvidia-driver|3:580.142-1.el9\\n'
"""
SYSTEMCTL = """\
#!/bin/sh
printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n'
printf '\\nLoadState=not-found\\nActiveState=inactive\\nUnitFileState=\\n'
"""


def ask(questions: dict[str, Any], programs: Path | None = None) -> dict[str, Any]:
    """Ask, on a path of the given programs alone."""
    path = str(programs) if programs else os.environ["PATH"]
    command = [sys.executable, "-c", PROBE, json.dumps(questions)]
    done = subprocess.run(
        command, env={"PATH": path}, capture_output=True, text=True, check=True, timeout=60
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def write(folder: Path, **programs: str) -> Path:
    folder.mkdir()
    for name, text in programs.items():
        (folder / name.replace("_", "-")).write_text(text)
        (folder / name.replace("_", "-")).chmod(0o755)
    return folder


def test_files_and_globs(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_bytes(b"one\n\xff")
    paths = [str(tmp_path / name) for name in ("a.conf", "b.conf", "a.conf/c")]
    answer = ask({"files": [*paths, str(tmp_path)], "globs": [f"{tmp_path}/*.conf"]})
    assert answer["files"][paths[0]]["text"] == "one\n\ufffd"
    assert answer["files"][paths[0]]["mtime"] == pytest.approx(
        (tmp_path / "a.conf").stat().st_mtime
    )
    assert [answer["files"][path] for path in (*paths[1:], str(tmp_path))] == [None] * 3
    assert answer["globs"] == {f"{tmp_path}/*.conf": [paths[0]]}


def test_installed_packages_of_both_families(tmp_path: Path) -> None:
    """A pattern without a match makes dpkg-query fail; what it lists counts all the same."""
    debian = write(tmp_path / "debian", dpkg_query=DPKG)
    assert ask({"packages": ["nvidia-*", "x"]}, debian)["packages"] == {
        "nvidia-open": {"version": "580.142-1", "held": False},
        "libcuda1": {"version": "580.142-1", "held": True},
    }
    redhat = write(tmp_path / "redhat", rpm=RPM)
    assert ask({"packages": ["nvidia-*"]}, redhat)["packages"] == {
        "nvidia-driver": {"version": "3:580.142-1.el9", "held": False}
    }


def test_every_unit_gets_an_answer(tmp_path: Path) -> None:
    programs = write(tmp_path / "bin", systemctl=SYSTEMCTL)
    units = ask({"units": ["a.service", "b.service"]}, programs)["units"]
    assert units["a.service"]["ActiveState"] == "active"
    assert units["b.service"]["LoadState"] == "not-found"


def test_commands_that_fail_or_are_missing(tmp_path: Path) -> None:
    programs = write(tmp_path / "bin", bad="#!/bin/sh\necho out\necho err >&2\nexit 3\n")
    answer = ask({"commands": {"bad": ["bad"], "none": ["no-such-program"]}}, programs)
    assert answer["commands"]["bad"] == {"rc": 3, "out": "out\n", "err": "err\n"}
    assert answer["commands"]["none"]["rc"] == 127


def test_who_has_a_file_open(tmp_path: Path) -> None:
    """DRV-13: by the files that processes have open, whatever runs in them."""
    device = tmp_path / "nvidia0"
    device.touch()
    questions = {"users": {"gpus": [f"{tmp_path}/nvidia*"]}}
    assert ask(questions)["users"] == {"gpus": []}
    with device.open() as held:
        holder = subprocess.Popen(["sleep", "60"], stdin=held)
        found = ask(questions)["users"]["gpus"]
        holder.kill()
        holder.wait()
    assert {"pid": holder.pid, "name": "sleep"} in found


def test_what_the_host_is_needs_no_question() -> None:
    answer = ask({})
    found = answer.pop("host")
    assert answer.pop("job", {}) == {}
    assert all(own == {} for own in answer.values())
    assert found["kernel"] == platform.release()
    assert found["python"] == sys.executable
    assert found["has_dnf"] is False
    assert "ID=" in found["os_release"]

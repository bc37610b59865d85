"""Streams that refuse, arguments that the system refuses, signals at any time: documented codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ROOT, gpugen

RUN = [sys.executable, "-m", "gpugen"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "generator")}
TO_STDOUT = [
    *(["--help"], ["--version"], ["mig", "list", "a100-sxm4-80gb"], ["catalog"], ["schema"]),
    *(
        ["explain", "pools"],
        ["completion", "bash"],
        ["simulate", "lab"],
        ["validate", "-o", "json"],
    ),
    *(["render", "--check", "-o", "json"], ["validate", "-o", "sarif"], ["render", "--diff"]),
]
TO_STDERR = [["validate"], ["render"], ["validate", "-o", "github"], ["nothing"], ["explain", "x"]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with something to render."""
    folder = tmp_path_factory.mktemp("streams")
    assert gpugen("init", folder).code == 0
    assert gpugen("render", "--quiet", cwd=folder).code == 0
    path = folder / "inventories/lab/cluster.yaml"
    path.write_text(path.read_text().replace('version: "1.36"', 'version: "1.33"'))
    return folder


def shell(root: Path, arguments: list[str], how: str) -> subprocess.CompletedProcess[str]:
    """Run a command line with streams that a shell sets up."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {how}', "sh", *RUN, *arguments],
        capture_output=True,
        text=True,
        cwd=root,
        env=ENVIRONMENT,
        check=False,
    )


@pytest.mark.parametrize("how", [">/dev/full", ">&-"])
@pytest.mark.parametrize("arguments", TO_STDOUT, ids=" ".join)
def test_stdout_refuses(arguments: list[str], how: str, root: Path) -> None:
    ran = shell(root, arguments, how)
    assert ran.returncode == 4, ran.stderr
    assert "gpugen: cannot write to standard output: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize("how", ["2>/dev/full", "2>&-", "2>/dev/full >&2", "2>&- >&-"])
@pytest.mark.parametrize("arguments", TO_STDERR, ids=" ".join)
def test_stderr_refuses(arguments: list[str], how: str, root: Path) -> None:
    assert shell(root, arguments, how).returncode == 4


@pytest.mark.parametrize("arguments", TO_STDOUT, ids=" ".join)
def test_nobody_reads(arguments: list[str], root: Path) -> None:
    """The reading end is closed before anything is written: what ``| head`` comes to."""
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [*RUN, *arguments],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
        env=ENVIRONMENT,
        check=False,
    )
    os.close(write)
    assert ran.returncode == 4
    assert "cannot" not in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


def test_no_file_takes_the_number_of_a_closed_stream(root: Path, tmp_path: Path) -> None:
    ran = shell(root, ["render", "--out", str(tmp_path / "out")], "<&- >&- 2>&-")
    assert ran.returncode == 4
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or b"warning" not in path.read_bytes()[:200]


LONG = "a" * 5_000
ANY_ARGUMENT = [
    *(["validate", LONG], ["render", LONG], ["simulate", LONG], ["explain", LONG, "pools"]),
    *(["render", "--out", LONG], ["validate", "--root", LONG], ["init", LONG], ["explain", LONG]),
    *(["schema", "--write", LONG], ["catalog", LONG], ["mig", "list", LONG], ["completion", LONG]),
    *([LONG], [f"--{LONG}"], ["mig", "check", LONG, LONG], ["validate", f"{LONG}/cluster.yaml"]),
    *(["init", "--cluster", LONG], ["init", "--model", LONG], ["render", "--prune", LONG]),
    *(["validate", "\udcff"], ["explain", "\udcff"], ["catalog", "\udcff"], ["\udcff"]),
]


@pytest.mark.parametrize(
    "arguments", ANY_ARGUMENT, ids=lambda a: " ".join(a)[:24].encode("ascii", "replace").decode()
)
def test_an_argument_that_nothing_takes(arguments: list[str], root: Path, tmp_path: Path) -> None:
    where = tmp_path if arguments[0] == "init" else root
    ran = subprocess.run(
        [*RUN, *arguments], capture_output=True, cwd=where, env=ENVIRONMENT, check=False
    )
    assert ran.returncode in (1, 2, 4), ran.stderr
    assert b"Traceback" not in ran.stderr
    assert b"bug in gpugen" not in ran.stderr
    if arguments[0] in ("validate", "render", "simulate") and LONG in arguments[1:2]:
        assert ran.returncode == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_while_modules_are_loaded(number: signal.Signals, root: Path) -> None:
    """Python prints each module as it is loaded; a signal follows every tenth of ours."""
    command = [sys.executable, "-X", "importtime", "-m", "gpugen", "validate"]
    ours = _modules(command, root)
    assert len(ours) > 50
    for stop in range(0, len(ours), 10):
        code, said = _signalled(command, root, number, ours[stop])
        assert code in (0, 128 + number), (ours[stop], said[-500:])
        assert "Traceback" not in said


def _modules(command: list[str], root: Path) -> list[str]:
    ran = subprocess.run(
        command, capture_output=True, text=True, cwd=root, env=ENVIRONMENT, check=True
    )
    lines = [line for line in ran.stderr.splitlines() if line.startswith("import time:")]
    first = next(i for i, line in enumerate(lines) if line.endswith(" gpugen.errors"))
    return [line.rpartition("|")[2].strip() for line in lines[first:]]


def _signalled(
    command: list[str], root: Path, number: signal.Signals, module: str
) -> tuple[int, str]:
    """Run until a module is loaded, send the signal, and return exit code and what was said."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=root,
        env=ENVIRONMENT,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            if line.startswith("import time:") and line.rpartition("|")[2].strip() == module:
                process.send_signal(number)
            elif not line.startswith("import time:"):
                said.append(line)
        return process.wait(), "".join(said)


def test_an_ignored_signal_stays_ignored(root: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    code = "import gpugen.__main__ as m, os, signal\n" + (
        "m._leave_on_signals()\nos.kill(os.getpid(), signal.SIGINT)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "from gpugen.cli import run\nrun(['--version'])\n"
        "os.kill(os.getpid(), signal.SIGINT)\nos.kill(os.getpid(), signal.SIGTERM)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], preexec_fn=ignore, env=ENVIRONMENT, check=False,
        capture_output=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr

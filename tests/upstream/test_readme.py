"""Every command of the README, in its order, in a fresh clone; what it claims to print is compared.

Takes a network, or a pip cache that holds what ``constraints.txt`` names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.documents import ROOT, Block, Step, agrees, blocks, named_blocks, steps

SET_UP = "python3 -m venv"
LIMIT_S = 900  # installing without a cache, on a slow line
END = "gpugen-readme-end"
KEPT = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "TMPDIR", "XDG_CACHE_HOME", "GITHUB_ACTIONS")
PIP = ("PIP_", "UV_", "HTTP", "http", "NO_PROXY", "no_proxy")


class Shell:
    """One bash in which commands follow one another, as a reader types them."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """Start in a folder."""
        self.folder = folder
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Run a command and return its exit code and all that it printed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        # The command's exit code is $? for the next one, as it would be for a reader.
        framed = f"{{ {command}\n}} </dev/null\n__c=$?; echo {END} $__c; (exit $__c)\n"
        self.process.stdin.write(framed)
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                return int(line.split()[1]), "".join(lines)
            lines.append(line)
        raise AssertionError(f"the shell ended in {command!r}: {''.join(lines)}")

    def close(self) -> None:
        """End the shell."""
        self.process.kill()
        self.process.communicate()


def clone(target: Path) -> None:
    """Make a clone with what git would commit of this working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    origin = target.parent / "origin"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, origin / name)
    for command in (
        ["git", "init", "--quiet", "--initial-branch=main"],
        ["git", "add", "--all"],
        ["git", "commit", "--quiet", "--message=all"],
        ["git", "clone", "--quiet", str(origin), str(target)],
    ):
        subprocess.run(command, cwd=origin, check=True, env=environment(target.parent))


def environment(home: Path) -> dict[str, str]:
    """Return what a new user has: a home of his own, a name for git, nothing of this test run."""
    kept = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith(PIP)}
    kept["PATH"] = os.pathsep.join(
        part for part in kept["PATH"].split(os.pathsep) if part != str(Path(sys.prefix) / "bin")
    )
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    settings = Path.home() / ".config" / "pip" / "pip.conf"  # where pip finds its index
    if settings.is_file():
        kept.setdefault("PIP_CONFIG_FILE", str(settings))
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(cache),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A Reader",
        "GIT_AUTHOR_EMAIL": "reader@example.com",
        "GIT_COMMITTER_NAME": "A Reader",
        "GIT_COMMITTER_EMAIL": "reader@example.com",
        # The second command of the README runs all tests; here it shows that it runs them.
        "PYTEST_ADDOPTS": "-k test_ranges -p no:cacheprovider",
    }


def in_order() -> list[Block]:
    """Return the console blocks, the one that sets up first: the opening shows gpugen at once."""
    found = blocks("README.md", "console")
    set_up = [block for block in found if SET_UP in block.text]
    return set_up + [block for block in found if block not in set_up]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    home = tmp_path_factory.mktemp("home")
    clone(home / "gpugen")
    shell = Shell(home / "gpugen", environment(home))
    yield shell
    shell.close()


def may_fail(step: Step, after: Step | None) -> bool:
    """Tell whether the page shows that the command fails: by asking for its exit code."""
    return after is not None and after.command == "echo $?"


@pytest.mark.slow
def test_every_command_of_the_readme(shell: Shell) -> None:
    activate = "export PATH=$PWD/.venv/bin:$PATH"
    for block in in_order():
        listed = steps(block)
        for step, after in zip(listed, [*listed[1:], None], strict=True):
            code, printed = shell.run(step.command)
            where = f"README.md:{block.line}: $ {step.command}\n{printed}"
            assert code == 0 or may_fail(step, after), where
            assert agrees(step.output, printed), f"{where}\nclaimed:\n" + "\n".join(step.output)
        if SET_UP in block.text:
            assert shell.run(activate)[0] == 0
            for name, text in named_blocks("README.md").items():
                (shell.folder / name).parent.mkdir(parents=True)
                (shell.folder / name).write_text(text, "utf-8")


def test_nothing_else_would_have_said_so(upstream: Callable[[str], Path]) -> None:
    """The README says that mig-parted accepts the layout of its opening."""
    text = """\
version: v1
mig-configs:
  slip:
    - devices: all
      mig-enabled: true
      mig-devices: {"3g.40gb": 2, "1g.10gb": 1}
"""
    command = [upstream("mig-parted"), "assert", "--valid-config", "-f", "-", "-c", "slip"]
    subprocess.run(command, input=text, text=True, check=True, capture_output=True, timeout=60)

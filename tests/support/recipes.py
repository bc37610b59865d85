"""The recipes of CONTRIBUTING.md, done as they stand there in a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import ansible_yaml
from support.collection import collections
from support.documents import ROOT, named_blocks, section
from support.specs import changed

PAGE = "CONTRIBUTING.md"
FOLDERS = ("generator", "keys", "meta", "playbooks", "plugins", "roles", "schemas")
NOT_SOURCES = shutil.ignore_patterns("__pycache__", "*.egg-info")


@dataclass(frozen=True)
class Copy:
    """A copy of what the package consists of, in which a recipe was followed."""

    root: Path
    new: dict[str, str]  # files that the recipe shows whole
    diff: str  # what it changes in others

    @property
    def touched(self) -> list[str]:
        """The files that the recipe names."""
        marks = [line for line in self.diff.splitlines() if line.startswith("+++ b/")]
        return sorted([*self.new, *(line.removeprefix("+++ b/") for line in marks)])

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment in the copy, with the copy's package."""
        own = {
            "PYTHONPATH": str(self.root / "generator"),
            "ANSIBLE_COLLECTIONS_PATH": str(collections(self.root.parent / "ansible", self.root)),
            "NO_COLOR": "1",
        }
        return subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            cwd=self.root,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )

    def gpugen(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the copy's command line."""
        return self.run("gpugen", *arguments)

    def put(self, changes: dict[str, Any]) -> None:
        """Make the minimal spec with values at pointers the copy's only cluster."""
        spec = self.root / "inventories" / "minimal" / "cluster.yaml"
        spec.parent.mkdir(parents=True, exist_ok=True)
        spec.write_text(json.dumps(changed(changes)), "utf-8")

    def rendered(self, path: str) -> Any:
        """Render, and return a YAML file of the output as data."""
        answer = self.gpugen("render", "--verify")
        assert answer.returncode == 0, answer.stderr
        return ansible_yaml.read((self.root / "out" / "minimal" / path).read_text("utf-8"))

    def keeps_the_rules(self) -> None:
        """Let ruff look at the code that the recipe touches."""
        code = [name for name in self.touched if name.endswith(".py")]
        for words in (["check"], ["format", "--check"]):
            config = f"--config={ROOT / 'pyproject.toml'}"
            answer = self.run("ruff", *words, "--no-cache", config, *code)
            assert answer.returncode == 0, answer.stdout + answer.stderr


def followed(heading: str, root: Path) -> Copy:
    """Follow the recipe below a heading in a copy of the package."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, root / name, ignore=NOT_SOURCES)
    shutil.copy(ROOT / "galaxy.yml", root)
    new = named_blocks(PAGE, heading)
    for path, text in new.items():
        assert not (root / path).exists(), f"{path} is not new"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    shown = section(PAGE, heading).split("```diff\n")[1:]
    diff = "".join(block.partition("```")[0] for block in shown)
    if diff:
        subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=root, check=True)
    return Copy(root, new, diff)

"""The checkout as the collection gpugen.hosts: built, installed, checked and run by Ansible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from gpugen.hosts import collection
from support import ROOT
from support.documents import named_blocks
from support.required import missing

pytestmark = [pytest.mark.validated_by("ansible-core"), pytest.mark.slow]

PAGE = "docs/hosts/collection.md"
INVENTORY = "inventory/hosts.yml"
BESIDE = {"README.md", "LICENSE", "FILES.json", "MANIFEST.json"}  # of every collection
LICENSE = "validate-modules:missing-gplv3-license # the collection is Apache-2.0"
PIP = "import ensurepip\nensurepip.bootstrap(default_pip=True)\n"


def run(
    program: str, *arguments: str | Path, cwd: Path, home: Path, code: int = 0, **more: str
) -> str:
    """Run one of Ansible's programs; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "ansible", program, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "ANSIBLE_HOME": str(home), "ANSIBLE_NOCOLOR": "1", **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the collection from the checkout, and install it as a user does; return the home."""
    top = tmp_path_factory.mktemp("home")
    run("galaxy", "collection", "build", "--output-path", top, ROOT, cwd=top, home=top)
    (built,) = top.glob("gpugen-hosts-*.tar.gz")
    run("galaxy", "collection", "install", "--offline", built, cwd=top, home=top)
    return top


@pytest.fixture(scope="module")
def example(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page's inventory, and another that connects to this machine."""
    folder = tmp_path_factory.mktemp("example")
    (folder / "inventory").mkdir()
    (folder / INVENTORY).write_text(named_blocks(PAGE)[INVENTORY], encoding="utf-8")
    return folder


def installed(home: Path) -> Path:
    """Return where the collection was installed."""
    return home / "collections" / collection.NAMESPACE


def test_what_is_built_is_the_collection_and_nothing_else(home: Path) -> None:
    (built,) = home.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        found = {
            member.name: (archive.extractfile(member) or member).read()
            for member in archive
            if member.isfile()
        }
    expected = {path: content for path, content in collection.files() if path != "galaxy.yml"}
    assert found.keys() - expected.keys() == BESIDE
    assert {path: found[path] for path in expected} == expected


def test_it_lints_where_it_lies(tmp_path: Path) -> None:
    """In the production profile, which .ansible-lint names."""
    beside = Path(sys.executable).with_name("ansible-lint")
    program = str(beside) if beside.is_file() else shutil.which("ansible-lint")
    if program is None:
        missing("ansible-lint is missing; 'pip install -e .[test]' brings it")
    link = tmp_path / collection.NAMESPACE
    link.parent.mkdir(parents=True)
    link.symlink_to(ROOT)
    done = subprocess.run(
        [program, "--offline", "--nocolor", "galaxy.yml", "meta", "playbooks", "plugins", "roles"],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}",
            "ANSIBLE_HOME": str(tmp_path / "home"),
            "ANSIBLE_COLLECTIONS_PATH": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Profile 'production' was required, and it passed" in done.stderr


def test_ansible_test_finds_nothing(home: Path, tmp_path: Path) -> None:
    """Its tests are installed from the package index; pip comes from this Python, not its site."""
    program = Path(sys.executable).with_name("ansible-test")
    if not program.is_file():
        missing("ansible-test is missing; ansible-core brings it")
    folder = tmp_path / collection.NAMESPACE
    shutil.copytree(installed(home), folder)
    ignored = [f"plugins/modules/{path.name}" for path in folder.glob("plugins/modules/*.py")]
    ignored += [
        f"plugins/{kind}/{path.name}"
        for kind in ("lookup",)
        for path in folder.glob(f"plugins/{kind}/*.py")
    ]
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    short = ".".join(version.split(".")[:2])
    file = folder / f"tests/sanity/ignore-{short}.txt"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{path} {LICENSE}\n" for path in sorted(ignored)), encoding="utf-8")
    cache = tmp_path / ".ansible/test/cache"
    cache.mkdir(parents=True)
    (cache / "get_pip_24_2.py").write_text(PIP, encoding="utf-8")
    done = subprocess.run(
        [program, "sanity", "--python", f"3.{sys.version_info.minor}"],
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    if "Could not find a version" in said or "Download failed" in said:
        missing("no package index, from which ansible-test installs its tests", is_core=False)
    assert done.returncode == 0, "\n".join(x for x in said.splitlines() if "ERROR" in x) or said


@pytest.mark.parametrize("playbook", ["site", "verify", "remove", "before_upgrade"])
def test_an_inventory_is_all_that_its_playbooks_need(
    playbook: str, home: Path, example: Path
) -> None:
    name = f"gpugen.hosts.{playbook}"
    run("playbook", "-i", "inventory", name, "--syntax-check", cwd=example, home=home)
    tasks = run("playbook", "-i", "inventory", name, "--list-tasks", cwd=example, home=home)
    assert "Fail if this collection does not serve the cluster's variables" in tasks


def here(example: Path, **changes: object) -> Path:
    """Return the page's inventory with its host on this machine, and other variables."""
    found = yaml.safe_load((example / INVENTORY).read_text("utf-8"))
    own = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    found["all"]["children"]["gpu"]["vars"] |= {**own, "ansible_become": False, **changes}
    folder = example / ("here-" + "-".join(map(str, changes.values())))
    folder.mkdir(exist_ok=True)
    (folder / "hosts.yml").write_text(yaml.safe_dump(found), encoding="utf-8")
    return folder


def test_a_host_of_that_inventory_is_checked(home: Path, example: Path) -> None:
    """Here it is this machine, which has neither the GPUs nor perhaps the system."""
    said = run(
        "playbook",
        "-i",
        here(example),
        "gpugen.hosts.site",
        "--check",
        cwd=example,
        home=home,
        code=2,
    )
    assert "gpu-01.lab.example: PRE-01: " in said  # as in the plays: first what comes first
    assert "nvidia_driver_decision" not in said  # all that was decided is not for people
    assert "Apply the spec to hosts" not in said.partition("PLAY RECAP")[0] or "changed=0" in said


@pytest.mark.parametrize("playbook", ["site", "verify", "remove"])
def test_another_contract_stops_the_run_and_names_the_folder(
    playbook: str, home: Path, example: Path
) -> None:
    served = collection.contract()
    inventory = here(example, gpugen_contract=served + 1)
    name = f"gpugen.hosts.{playbook}"
    said = run("playbook", "-i", inventory, name, cwd=example, home=home, code=2)
    assert f"the cluster's variables follow contract {served + 1}" in said
    assert f"in {installed(home)} serves contract {served}" in said
    assert "ANSIBLE_COLLECTIONS_PATH" in said
    assert "changed=0" in said


def test_a_run_of_the_control_plane_alone_reads_the_contract(home: Path, example: Path) -> None:
    folder = here(example, gpugen_contract=7)
    found = yaml.safe_load((folder / "hosts.yml").read_text("utf-8"))
    groups = found["all"]["children"]
    groups["control_plane"] = {"hosts": {"cp-1": None}, "vars": groups["gpu"]["vars"]}
    (folder / "hosts.yml").write_text(yaml.safe_dump(found), encoding="utf-8")
    arguments = ("-i", folder, "gpugen.hosts.site", "--limit", "control_plane")
    said = run("playbook", *arguments, cwd=example, home=home, code=2)
    assert "follow contract 7" in said

"""What the pages say is true of the code: links, paths, commands, options, tables, examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from gpugen import __version__, pipeline
from gpugen.catalog import Catalog
from gpugen.cli import COMMANDS, main
from gpugen.errors import ExitCode
from gpugen.model.assembly import Wave
from gpugen.validate import validate
from gpugen.workspace import Workspace
from support.commands import gpugen
from support.documents import PAGES, ROOT, agrees, blocks, named_blocks, prose, steps, text_of
from tools import reference

NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(
    r"(?:tests|docs|generator|schemas|roles|inventories|components|render|\.ci)/[\w./-]*"
)
OURS = "generator/gpugen"
EXAMPLES = (
    "gpu_motd",
    "motd",
    "lab-kube",
    "quota",
    "golden",
    "inventories/small/",
    "inventories/prod/",
)


def anchor(heading: str) -> str:
    """Return the anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    for target in LINK.findall(prose(name)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, fragment = target.partition("#")
        page = (ROOT / name).parent / path if path else ROOT / name
        assert page.exists(), f"{name} links to {target}"
        if fragment:
            headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
            assert fragment in map(anchor, headings), f"{name} links to {target}"


@pytest.mark.parametrize("name", NAMES)
def test_named_files_exist(name: str) -> None:
    """A code span that begins as a path of the repository is one, unless it is an example's."""
    for span in SPAN.findall(prose(name)):
        path = span.rstrip("/")
        if PATH.fullmatch(span) and not any(word in span for word in EXAMPLES):
            found = (ROOT / path).exists() or (ROOT / OURS / path).exists()
            assert found, f"{name} names {span}"


def test_pages_that_messages_name_exist() -> None:
    """Hints and explanations send people to pages of ours, as "(docs/…)" or "see docs/…"."""
    named = {
        page
        for path in (ROOT / OURS).rglob("*.py")
        for page in re.findall(r"(?:\(|see )(docs/[\w/-]+\.md)", path.read_text("utf-8"))
    }
    assert len(named) >= 2
    assert not [page for page in named if not (ROOT / page).is_file()]


def options_of(words: list[str]) -> tuple[set[str], bool]:
    """Return the options of a command line's command, and whether there is such a command."""
    command: click.Command = main
    known = {option for param in main.params for option in param.opts}
    for word in words:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        found = command.get_command(click.Context(command), word)
        if found is None:
            return known, False
        command = found
    return {option for param in command.params for option in param.opts} | {"--help"}, True


def command_lines(name: str) -> Iterator[str]:
    """Yield the command lines of gpugen that a page shows, in spans and in blocks."""
    yield from (span for span in SPAN.findall(prose(name)) if span.startswith("gpugen "))
    for block in blocks(name):
        if block.language in ("console", "sh"):
            lines = (line.removeprefix("$ ") for line in block.text.splitlines())
            yield from (line for line in lines if line.startswith("gpugen "))


@pytest.mark.parametrize("name", NAMES)
def test_shown_commands_and_options_exist(name: str) -> None:
    for line in command_lines(name):
        words = re.split(r"\s+", re.split(r" (?:&&|\||>|#)", line)[0].strip())[1:]
        known, is_known = options_of(words)
        assert is_known, f"{name}: {line}"
        for word in words:
            if word.startswith("--"):
                assert word in known, f"{name}: {line}"


@pytest.mark.parametrize("name", reference.PAGES)
def test_generated_pages_are_current(name: str) -> None:
    stale = text_of(f"docs/reference/{name}") != reference.page(name)
    assert not stale, "run: python tests/tools/reference.py"


@pytest.mark.parametrize("name", NAMES)
def test_yaml_blocks_parse(name: str) -> None:
    for block in blocks(name, "yaml"):
        assert yaml.safe_load(block.text) is not None, f"{name}:{block.line}"


def table(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    section = text.partition(f"\n{heading}\n")[2]
    rows = re.findall(r"^\|(.+)\|$", section.partition("\n## ")[0], re.MULTILINE)[2:]
    return [[cell.strip() for cell in row.replace("\\|", "¦").split("|")] for row in rows]


def test_every_command_is_listed() -> None:
    cells = [row[0] for row in table(text_of("docs/reference/commands.md"), "## Which command")]
    named = [span.removeprefix("gpugen ") for cell in cells for span in SPAN.findall(cell)]
    assert named == list(COMMANDS)


def test_exit_codes_are_listed() -> None:
    listed = table(text_of("docs/reference/commands.md"), "## Exit codes")
    codes = {int(code) for row in listed for code in row[0].split(", ")}
    assert codes == set(ExitCode)


def supported() -> dict[str, str]:
    """Return the table of what is supported as first cell -> second cell."""
    return dict(table(text_of("docs/reference/supported.md"), "## What it knows"))


def test_what_the_catalogue_supports_is_listed() -> None:
    catalog = Catalog()
    rows = {key: catalog.row("distributions", key) for key in catalog.ids("distributions")}
    listed = supported()
    assert set(SPAN.findall(listed["Distributions"])) == {
        key for key, row in rows.items() if row["isSupported"]
    }
    systems = (catalog.operating_system(key) for key in catalog.ids("operatingSystems"))
    assert set(SPAN.findall(listed["Systems of the hosts"])) == {
        row.id for row in systems if row.is_supported
    }


def test_versions_of_the_catalogue_are_listed() -> None:
    catalog = Catalog()
    listed = supported()
    minors = catalog.kubernetes_minors()
    all_listed, _, old = listed["Kubernetes"].partition("(")
    assert re.findall(r"1\.\d\d", all_listed) == [minor.id for minor in minors]
    assert re.findall(r"1\.\d\d", old) == [m.id for m in minors if m.status == "end of life"]
    branches = catalog.driver_branches()
    assert f"branches {branches[0].id} to {branches[-1].id}" in listed["Drivers"]
    current = [str(branch.id) for branch in branches if branch.is_supported]
    assert SPAN.findall(listed["Drivers"]) == current
    assert re.findall(r"\d+", listed["GPU models"])[0] == str(len(catalog.gpu_ids()))
    assert f"{len(catalog.ids('migGeometries'))} MIG geometries" in listed["GPU models"]


@pytest.mark.parametrize("name", ["docs/reference/supported.md", "CHANGELOG.md"])
def test_component_versions_are_the_releases(name: str) -> None:
    text = text_of(name)
    for release in Catalog().ids("releases"):
        assert f"`{release}`" in text
        for component, image in Catalog().release(release).images.items():
            assert image.tag in text, f"{name} does not name {component} {image.tag}"


def rendered(workspace: Workspace, name: str) -> dict[str, bytes | str]:
    """Return the tree of a cluster, path by path."""
    return dict(pipeline.build(pipeline.run(workspace.spec_path(name), workspace)))


def test_the_eight_places_say_what_the_page_says() -> None:
    """What the table says stands in the files that it names, and the spec as shown."""
    tree = rendered(Workspace(ROOT), "lab")
    rows = table(text_of("docs/why.md"), "## One fact, eight files")
    assert len(rows) == 8
    for what, says, file in rows:
        (path,) = SPAN.findall(file)
        content = tree[path]
        text = content.decode() if isinstance(content, bytes) else content
        for span in SPAN.findall(says):
            assert span in text, f"{what}: {path} does not name {span}"
    spec = (ROOT / "inventories/lab/cluster.yaml").read_text("utf-8").splitlines()
    shown = blocks("docs/why.md", "yaml")[0].text.splitlines()
    start = spec.index(shown[0])
    there = [line for line in spec[start : start + 12] if "description:" not in line]
    assert there[: len(shown)] == shown


def shown_paths(lines: list[str]) -> Iterator[str]:
    """Yield the paths of a drawn tree; those of one line are separated by commas."""
    above: list[str] = []
    for line in lines:
        match = re.match(r"((?:[│ ]   )*)[├└]── (.+?)(?:  |$)", line)
        assert match, line
        depth = len(match[1]) // 4
        for name in match[2].split(", "):
            above = [*above[:depth], name.rstrip("/")]
            yield "/".join(above)


def test_the_tree_of_the_readme_is_what_comes_out(tmp_path: Path) -> None:
    """Every path is there, and no folder of the top is missing."""
    for name, text in named_blocks("README.md").items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert text.count("\n") == 12
    tree = rendered(Workspace(tmp_path), "small")
    top, *lines = blocks("README.md", "text")[0].text.splitlines()
    assert top == "out/small/"
    paths = list(shown_paths(lines))
    for path in paths:
        assert any(there == path or there.startswith(f"{path}/") for there in tree), path
    folders = {path.partition("/")[0] for path in tree if "/" in path}
    assert folders == {path for path in paths if "/" not in path}


def test_every_page_is_in_the_index() -> None:
    targets = LINK.findall(text_of("docs/README.md"))
    listed = {(ROOT / "docs" / target.partition("#")[0]).resolve() for target in targets}
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - listed == {
        ROOT / "docs/README.md"
    }


def test_the_glossary_has_fifteen_terms_in_order() -> None:
    terms = re.findall(r"^\*\*(.+?)\*\*: ", text_of("docs/glossary.md"), re.MULTILINE)
    assert len(terms) == 15
    assert terms == sorted(terms, key=str.casefold)


def test_commands_about_mig_layouts_print_what_the_page_says() -> None:
    for block in blocks("docs/specs/mig.md", "console"):
        for step in steps(block):
            answer = gpugen(*step.command.split()[1:])
            assert answer.code == 0, answer.err
            assert agrees(step.output, answer.out), f"{step.command}\n{answer.out}"


def test_the_small_spec_is_complete() -> None:
    shown = yaml.safe_load(blocks("docs/specs/writing.md", "yaml")[0].text)
    assert validate(shown) == []


def test_waves_are_listed() -> None:
    rows = table(text_of("docs/cluster/delivery.md"), "## Waves")
    waves = [SPAN.findall(row[0])[0] for row in rows]
    assert waves == list(Wave)


def test_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## \[([^\]]+)\]", text_of("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == __version__


def test_hooks_for_users_run_commands_of_ours() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["gpugen-validate", "gpugen-render-check"]
    for hook in hooks:
        known, is_known = options_of(hook["entry"].split()[1:])
        assert is_known
        assert set(hook["entry"].split()[2:]) <= known
        assert not hook["pass_filenames"]


def test_own_hooks_run_what_is_installed_for_tests() -> None:
    needed = (ROOT / "pyproject.toml").read_text("utf-8")
    programs = {"ruff": "ruff>", "mypy": "mypy>", "lint-imports": "import-linter>"}
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    for hook in config["repos"][0]["hooks"]:
        program, *arguments = hook["entry"].split()
        name = Path(program).name
        assert program.startswith(".venv/bin/")
        assert name in ("python", "gpugen") or programs[name] in needed
        for argument in arguments:
            if "/" in argument:
                assert (ROOT / argument).exists()


@pytest.mark.parametrize(
    ("claimed", "printed", "verdict"),
    [
        ((), "anything\n", True),
        (("a", "b"), "a\nb\n", True),
        (("a",), "a\nb\n", False),
        (("a", "…"), "a\nb\nc\n", True),
        (("…", "c"), "a\nb\nc\n", True),
        (("…", "b"), "a\nb\nc\n", False),
        (("lab: … added",), "lab: 151 added\n", True),
        (("lab: … added",), "lab: 151 changed\n", False),
        (("a.c",), "abc\n", False),
    ],
)
def test_claims_about_output_are_compared(
    claimed: tuple[str, ...], printed: str, verdict: bool
) -> None:
    assert agrees(claimed, printed) is verdict

"""containerd's main file as TOML, read and changed without loss."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpugen.hosts.decisions import load

TEXT: Any = load("nvidia_container_toolkit.toml_text")
GLOB = "/etc/containerd/conf.d/*.toml"
DROPIN = "/etc/containerd/conf.d/99-nvidia.toml"

COMMENTED = """\
imports = [
  '/etc/containerd/x/a.toml',
  # '/etc/containerd/x/off.toml',
]
version = 2
"""


def root(text: str, *instead: str, add: str = GLOB) -> dict[str, Any]:
    found: dict[str, Any] = TEXT.root(text, add, [GLOB, DROPIN], list(instead))._asdict()
    return found


def test_what_is_commented_out_stays_out() -> None:
    """Switched on, it changed the log level of every node and opened a debug socket."""
    found = root(COMMENTED)
    assert found["imports"] == ["/etc/containerd/x/a.toml"]
    assert tomllib.loads(found["with_ours"])["imports"] == ["/etc/containerd/x/a.toml", GLOB]
    assert "# '/etc/containerd/x/off.toml'" in found["with_ours"]


@pytest.mark.parametrize(
    ("text", "imports", "version"),
    [
        ("", [], 1),
        ("version = 3\n", [], 3),
        ("imports = []\nversion = 2\n", [], 2),
        ("imports = ['/a'] # see ticket [1]\nversion = 2\n", ["/a"], 2),
        ("# imports = ['/off']\n\"imports\" = [\n# [1]\n'/a', # '/b'\n]\n", ["/a"], 1),
        ("imports = ['/a',\r\n  '/b',\r\n]\r\nversion = 2\r\n", ["/a", "/b"], 2),
        ("a.b = {c = ['imports = [1']}\nimports = [\"\"\"/a\"\"\", '''/b''']", ["/a", "/b"], 1),
        ('t = """\n[no table]\nimports = ["/x"]\n"""\nimports = ["/a#b]"]\n', ["/a#b]"], 1),
        ("[plugins]\nimports = ['/not ours to read']\n", [], 1),
    ],
)
def test_the_main_file_is_read_and_given_one_import_more(
    text: str, imports: list[str], version: int
) -> None:
    found = root(text)
    assert (found["fault"], found["imports"], found["version"]) == ("", imports, version)
    assert found["without_ours"] == text  # what containerd is asked about is the file as it lies
    before, after = tomllib.loads(text), tomllib.loads(found["with_ours"])
    assert after == {**before, "imports": [*imports, GLOB]}
    back = root(found["with_ours"])
    assert back["with_ours"] == found["with_ours"]
    assert {"imports": [], **tomllib.loads(back["without_ours"])} == {"imports": [], **before}
    assert root(found["with_ours"], "/n1", "/n2")["without_ours"].count("/n1") == 1


def test_a_comma_behind_the_last_import_stays() -> None:
    """CTK-21: without our import the file is as it was."""
    added = root(COMMENTED)["with_ours"]
    assert f"'/etc/containerd/x/a.toml', \"{GLOB}\",\n" in added
    assert root(added)["without_ours"] == COMMENTED


def test_files_beside_ours_stand_in_for_the_glob() -> None:
    text = f"imports = ['/a', '{GLOB}', '/z'] # kept\n"
    assert (
        root(text, "/n1", "/n2")["without_ours"]
        == "imports = ['/a', \"/n1\", \"/n2\", '/z'] # kept\n"
    )
    assert root(text)["without_ours"] == "imports = ['/a', '/z'] # kept\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = [1\n", "is no valid TOML: "),
        ("imports = '/a'\n", "has imports that are no list of paths"),
        ("imports = [1]\n", "has imports that are no list of paths"),
        ("version = '2'\n", "has a version that is no number"),
    ],
)
def test_what_cannot_be_read_is_told_and_left(text: str, fault: str) -> None:
    found = root(text)
    assert found["fault"].startswith(fault)
    assert (found["with_ours"], found["without_ours"]) == (text, text)


BLANKS = st.sampled_from(["", " ", "\n", "\n  # '/off', ] [\n", ' # "\n'])
PATHS = st.sampled_from(["'/a'", '"/b\\"]"', "'''/c'''", '"/d#"', "'/e['"])


@settings(max_examples=300)
@given(st.lists(st.tuples(BLANKS, PATHS, BLANKS), max_size=4), BLANKS, st.booleans())
def test_any_form_of_the_list_survives(
    items: list[tuple[str, str, str]], last: str, has_comma: bool
) -> None:
    inside = ",".join(before + path + after for before, path, after in items)
    comma = "," if items and has_comma else ""
    text = f"version = 2\nimports = [{inside}{comma}{last}]\n[x]\ny = 1\n"
    before, found = tomllib.loads(text), root(text)
    assert found["fault"] == ""
    assert tomllib.loads(found["with_ours"]) == {**before, "imports": [*before["imports"], GLOB]}
    back = tomllib.loads(root(found["with_ours"])["without_ours"])
    assert {"imports": [], **back} == before


DUMP = """\
version = 3
imports = ["/etc/containerd/config.toml"]
[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = true
[debug]
  level = "warn"
"""


def test_a_setting_that_changes_is_named_without_its_value() -> None:
    lost = TEXT.lost
    nvidia = '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]\nx = 1\n'
    assert lost(DUMP, DUMP.replace('"runc"', '"nvidia"') + nvidia, "nvidia") == []
    assert lost(DUMP, DUMP.replace("warn", "trace"), "nvidia") == ["debug.level"]
    assert lost(DUMP, "", "nvidia") == ["debug", "plugins", "version"]
    section = (
        'plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options.SystemdCgroup'
    )
    assert lost(DUMP, DUMP.replace("true", "false"), "nvidia") == [section]


def test_a_runtime_is_found_by_parsing() -> None:
    runtime = TEXT.runtime
    assert runtime(DUMP, "runc") == {"options": {"SystemdCgroup": True}}
    commented = '# [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]\n'
    assert runtime(DUMP + commented, "nvidia") == {}
    assert runtime("no toml", "nvidia") == {}

"""The program that makes root's folder and runs what lies in it, over what others may plant.

Each script runs as the root of namespaces of its own, with an empty file system at /srv.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support import ROOT

PROGRAM = ROOT / "plugins" / "module_utils" / "root_only.py"
SHARED = re.compile(r"(?<![\w.])/(?:var/tmp|tmp|dev/shm|var/crash|run/lock|var/lock)(?:/|\b)")
HELLO = '#!/bin/sh\\necho "hello $1 from $TMPDIR"\\n'
MAKE = f"""
import sys
sys.path.insert(0, "{PROGRAM.parent}")
import root_only
is_new, found = root_only.make(sys.argv[1], is_check=sys.argv[2:] == ["check"])
print("made" if is_new else "")
sys.exit("; ".join(found) or None)
"""
BEFORE = f"""
mount -t tmpfs -o mode=0755 none /srv
make() {{ {sys.executable} -B -c '{MAKE}' "$@"; }}
tool() {{ {sys.executable} {PROGRAM} "$@"; }}
put() {{ printf '{HELLO}' >"$1"; chmod 700 "$1"; }}
good() {{ make /srv/own; put /srv/own/x.run; }}
sum() {{ sha256sum "$1" | cut -c1-64; }}
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as root of an own mount and user namespace."""
    command = ["unshare", "--map-root-user", "--mount", "--", "/bin/sh", "-euc", BEFORE + script]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_folder_is_made_once_and_the_program_runs() -> None:
    done = run("good; make /srv/own; stat -c %a /srv/own; umask 0; make /srv/two")
    assert (done.returncode, done.stdout, done.stderr) == (0, "made\n\n700\nmade\n", "")
    done = run("good; tool /srv/own/x.run $(sum /srv/own/x.run) you")
    assert done.stdout == "made\nhello you from /srv/own\n", done.stderr


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        ("mkdir /srv/real; ln -s real /srv/own", "/srv/own is a link"),
        ("touch /srv/own", "/srv/own is a link, or no folder"),
        ("mkdir /srv/own; chmod 1777 /srv/own", "/srv/own belongs to uid 0 with mode 1777"),
        ("mkdir /srv/own; chmod 770 /srv/own", "/srv/own belongs to uid 0 with mode 0770"),
        ("chmod 1777 /srv", "/srv belongs to uid 0 with mode 1777"),
    ],
)
def test_a_folder_that_others_reach_into_is_refused(plant: str, reason: str) -> None:
    done = run(f"{plant}; make /srv/own")
    assert done.returncode == 1
    assert reason in done.stderr


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("echo more >>$x", "has SHA-256 "),
        ("mv $x /srv/y; ln -s /srv/y $x", "Too many levels of symbolic links"),
        ("ln $x /srv/own/y", "has other names"),
        ("rm $x; mkfifo -m 700 $x", "has other names, or is no file"),
        ("chmod 722 $x", "/srv/own/x.run belongs to uid 0 with mode 0722"),
        ("chmod 711 /srv/own", "/srv/own belongs to uid 0 with mode 0711"),
        ("chmod 1777 /srv", "/srv belongs to uid 0 with mode 1777"),
        ("rm $x", "No such file or directory"),
    ],
)
def test_what_is_not_the_fetched_file_does_not_run(change: str, reason: str) -> None:
    done = run(f"good; x=/srv/own/x.run; s=$(sum $x); {change}; tool $x $s you")
    assert (done.returncode, done.stdout) == (1, "made\n")
    assert reason in done.stderr


def test_no_role_names_a_place_in_a_shared_folder() -> None:
    """Whoever may write there can plant a file, a link or an open handle under a known name."""
    own = (path for path in (ROOT / "roles").rglob("*") if path.is_file() and path.suffix != ".pyc")
    found = {str(path): SHARED.findall(path.read_text(encoding="utf-8")) for path in own}
    assert {path: names for path, names in found.items() if names} == {}

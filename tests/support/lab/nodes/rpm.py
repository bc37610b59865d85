"""Writes RPM packages and signed repositories of them, with the tools of the EL base tree."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from support.lab.nodes import deb

TIME = 300  # seconds for all packages
MOUNT = "srv"  # folder of the tree on which the work folder is seen
BUILD = """
set -eu
mount --bind "$1" "$2/srv"
exec chroot "$2" /usr/bin/env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/srv LC_ALL=C.UTF-8 \\
  /bin/sh -eu /srv/build
"""
MACROS = """\
%_topdir /srv/top
%_tmppath /srv/tmp
%_dbpath /srv/db
%_build_id_links none
%_binary_payload w0.ufdio
%_gpg_path /srv/gpg
%_gpg_name lab@lab.example
%__gpg /usr/bin/gpg
%__os_install_post %{nil}
"""
SIGNING = """\
rpmsign --addsign /srv/top/RPMS/*/*.rpm >/srv/signing 2>&1 || { cat /srv/signing; exit 1; }\
"""
SCRIPT = """\
mkdir -m 700 -p /srv/gpg /srv/tmp /srv/db /srv/top
gpg --homedir /srv/gpg --batch --quiet --import /srv/secret.asc
rpmbuild --quiet -bb /srv/*.spec
@SIGNING@
gpgconf --homedir /srv/gpg --kill all
for folder in $(find /srv/repositories -name list -printf '%h\\n'); do
  while read -r name; do cp /srv/top/RPMS/*/"$name" "$folder/"; done <"$folder/list"
  rm "$folder/list"
  createrepo_c --quiet "$folder"
  [ ! -e "$folder/modules.yaml" ] || modifyrepo_c --mdtype=modules "$folder/modules.yaml" \\
    "$folder/repodata" >/dev/null
done
"""


@dataclass(frozen=True, slots=True)
class Package:
    """A package. version: without release; files: path below the root -> content."""

    name: str
    version: str
    epoch: int = 0
    release: str = "1.el9"
    requires: Sequence[str] = ()
    provides: Sequence[str] = ()
    conflicts: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)  # post, preun, postun
    streams: Sequence[str] = ()  # of the module, whose artifact it is
    settings: Sequence[str] = ()  # of the files, those that rpm keeps where they were changed

    def nevra(self, architecture: str) -> str:
        """Return the name that a module document lists."""
        return f"{self.name}-{self.epoch}:{self.version}-{self.release}.{architecture}"

    def file(self, architecture: str) -> str:
        """Return the name of the package's file."""
        return f"{self.name}-{self.version}-{self.release}.{architecture}.rpm"

    def spec(self) -> str:
        """Return the text that rpmbuild makes the package from."""
        head = {
            "Name": [self.name],
            "Version": [self.version],
            "Release": [self.release],
            "Epoch": [str(self.epoch)] if self.epoch else [],
            "Summary": ["stand-in of the laboratory"],
            "License": ["MIT"],
            "AutoReqProv": ["no"],
            "Requires": self.requires,
            "Provides": self.provides,
            "Conflicts": self.conflicts,
        }
        lines = [f"{tag}: {value}" for tag, values in head.items() for value in values]
        sources = {str(Path(path).parent) for path in self.files if path.startswith("usr/src/")}
        return "\n".join(
            [
                *lines,
                "%description\nStand-in.\n%install",
                *(_written(path, text) for path, text in self.files.items()),
                *(f"%{name}\n{text}" for name, text in self.scripts.items()),
                "%files",
                *(f"%dir /{path}" for path in sorted(sources)),
                *(
                    f"{self._kind(path)}%attr({_mode(path)},root,root) /{path}"
                    for path in self.files
                ),
                "",
            ]
        )

    def _kind(self, path: str) -> str:
        return "%config " if path in self.settings else ""


def write_repositories(
    folder: Path,
    repositories: Mapping[str, Iterable[Package]],
    modules: Mapping[str, str],
    tree: Path,
    key: deb.Key,
    architecture: str,
    signing: str = SIGNING,
) -> None:
    """Write repositories below a folder, each package signed, and the index.

    repositories: name of a folder -> packages; modules: name of a folder -> module documents.
    signing: lines of shell that sign the packages; empty, the index alone is signed.
    """
    work = folder / "work"
    work.mkdir(parents=True)
    wanted = {name: list(packages) for name, packages in repositories.items()}
    each = {package.nevra(""): package for packages in wanted.values() for package in packages}
    for number, package in enumerate(each.values()):
        (work / f"{number}.spec").write_text(package.spec(), encoding="utf-8")
    for name, packages in wanted.items():
        place = work / "repositories" / name
        place.mkdir(parents=True)
        names = "".join(f"{package.file(architecture)}\n" for package in packages)
        (place / "list").write_text(names, encoding="utf-8")
        if name in modules:
            (place / "modules.yaml").write_text(modules[name], encoding="utf-8")
    (work / "secret.asc").write_bytes(key.gpg("--armor", "--export-secret-keys"))
    (work / ".rpmmacros").write_text(MACROS, encoding="utf-8")
    (work / "build").write_text(SCRIPT.replace("@SIGNING@", signing), encoding="utf-8")
    _build(work, tree)
    for name in wanted:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "repositories" / name, place)
        sign(place, key)
    shutil.rmtree(work)


def sign(folder: Path, key: deb.Key) -> None:
    """Sign the index of a repository."""
    index = (folder / "repodata/repomd.xml").read_text(encoding="utf-8")
    signature = key.gpg("--armor", "--detach-sign", "--output=-", text=index)
    (folder / "repodata/repomd.xml.asc").write_bytes(signature)


def module_documents(name: str, packages: Iterable[Package], architecture: str) -> str:
    """Return the module's streams and that none is the default, as modulemd."""
    streams: dict[str, list[str]] = {}
    for package in packages:
        for stream in package.streams:
            streams.setdefault(stream, []).append(package.nevra(architecture))
    documents = [_stream(name, stream, rpms, architecture) for stream, rpms in streams.items()]
    profiles = {stream: ["default"] for stream in streams}
    defaults = {"module": name, "modified": "202511180000", "profiles": profiles}
    documents.append({"document": "modulemd-defaults", "version": 1, "data": defaults})
    return yaml.safe_dump_all(documents, explicit_start=True)


def _stream(name: str, stream: str, rpms: list[str], architecture: str) -> dict[str, object]:
    platform: dict[str, list[str]] = {"platform": []}
    return {
        "document": "modulemd",
        "version": 2,
        "data": {
            "name": name,
            "stream": stream,
            "version": 20251118000000,
            "context": "9edba152",
            "arch": architecture,
            "summary": "stand-in of the driver's module",
            "description": "stand-in",
            "license": {"module": ["MIT"]},
            "dependencies": [{"requires": platform}],
            "profiles": {"default": {"rpms": ["nvidia-driver-cuda"]}},
            "artifacts": {"rpms": rpms},
        },
    }


def _mode(path: str) -> str:
    return "755" if any(part in path for part in deb.EXECUTABLE) else "644"


def _written(path: str, text: str) -> str:
    """Return lines of shell that write a file below the build root."""
    quoted = text.replace("%", "%%")
    target = f'"%{{buildroot}}/{path}"'
    return f"mkdir -p \"$(dirname {target})\"\ncat >{target} <<'END-OF-FILE'\n{quoted}END-OF-FILE"


def _build(work: Path, tree: Path) -> None:
    command = ["unshare", "--mount", "--propagation=private", "/bin/sh", "-c", BUILD, "build"]
    done = subprocess.run(
        [*command, str(work), str(tree)], capture_output=True, text=True, timeout=TIME, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

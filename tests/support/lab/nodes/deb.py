"""Writes Debian packages and a signed flat repository of them, without any packaging tool."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

EXECUTABLE = ("bin/", "sbin/", "lib/fake-nvidia/")  # folders of programs


@dataclass(frozen=True, slots=True)
class Package:
    """A package. files: path below the root -> content; scripts: postinst and the like.

    settings: of the files, those that stay when the package is removed.
    """

    name: str
    version: str
    depends: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()

    def control(self, architecture: str) -> str:
        """Return the control file."""
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": architecture,
            "Maintainer": "Laboratory <lab@lab.example>",
            "Description": "stand-in of the laboratory",
            **({"Depends": self.depends} if self.depends else {}),
            **self.fields,
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items())


def write_repository(folder: Path, packages: Iterable[Package], architecture: str) -> None:
    """Write packages and their index into a folder; sign() makes it a repository."""
    folder.mkdir(parents=True)
    stanzas = []
    for package in packages:
        control = package.control(architecture)
        content = _deb(control, package)
        name = f"{package.name}_{package.version}_{architecture}.deb"
        (folder / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        stanzas.append(f"{control}Filename: ./{name}\nSize: {len(content)}\nSHA256: {digest}\n")
    (folder / "Packages").write_text("\n".join(stanzas), encoding="utf-8")


def sign(folder: Path, key: Key) -> None:
    """Write InRelease, signed by a key, over the index of a repository."""
    index = (folder / "Packages").read_bytes()
    date = time.strftime("%a, %d %b %Y %H:%M:%S UTC", time.gmtime())
    release = (
        f"Origin: NVIDIA\nLabel: NVIDIA CUDA\nDate: {date}\nSHA256:\n"
        f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
    )
    signed = key.gpg("--clearsign", "--output=-", text=release)
    (folder / "InRelease").write_bytes(signed)


class Key:
    """A new OpenPGP key in a folder of its own."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._home = home
        self.gpg("--passphrase=", "--quick-generate-key", "lab@lab.example", "rsa2048", "sign")
        listing = self.gpg("--with-colons", "--fingerprint").decode()
        self.fingerprint = next(
            line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:")
        )
        self.public = self.gpg("--armor", "--export")

    def gpg(self, *arguments: str, text: str = "") -> bytes:
        """Run gpg in this home and return what it prints."""
        command = ["gpg", f"--homedir={self._home}", "--batch", "--yes", "--quiet", *arguments]
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def close(self) -> None:
        """End the agent that gpg started."""
        subprocess.run(
            ["gpgconf", f"--homedir={self._home}", "--kill", "all"], check=False, timeout=60
        )


def _deb(control: str, package: Package) -> bytes:
    scripts = {name: f"#!/bin/sh\nset -e\n{text}\n" for name, text in package.scripts.items()}
    settings = {"conffiles": "".join(f"/{path}\n" for path in package.settings)}
    members = {
        "debian-binary": b"2.0\n",
        "control.tar": _tar({"control": control, **scripts, **settings}, frozenset(scripts)),
        "data.tar": _tar(package.files, frozenset(filter(_is_program, package.files))),
    }
    return b"!<arch>\n" + b"".join(_member(name, content) for name, content in members.items())


def _is_program(path: str) -> bool:
    return any(part in path for part in EXECUTABLE)


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)


def _tar(files: Mapping[str, str], programs: frozenset[str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for folder in sorted({str(p) for name in files for p in Path(name).parents}):
            entry = tarfile.TarInfo("./" if folder == "." else f"./{folder}/")
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(f"./{name}")
            entry.mode = 0o755 if name in programs else 0o644
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()

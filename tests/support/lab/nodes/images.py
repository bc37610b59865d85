"""A container image of one static program, as an archive and as what a registry serves."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("etc", "proc", "run", "sys", "tmp", "usr/bin", "var")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"
NAMES = ("org.opencontainers.image.ref.name", "io.containerd.image.name")


@dataclass(frozen=True, slots=True)
class Image:
    """An image. blobs: by digest; manifest: the digest of one of them."""

    blobs: Mapping[str, bytes]
    manifest: str

    def archive(self, reference: str, target: Path) -> None:
        """Write an OCI archive that a runtime imports under a reference."""
        entry = self._described(f"{OCI}.manifest.v1+json", self.manifest)
        named = {**entry, "annotations": dict.fromkeys(NAMES, reference)}
        index = {"schemaVersion": 2, "manifests": [named]}
        with tarfile.open(target, "w") as archive:
            _add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
            _add(archive, "index.json", json.dumps(index).encode())
            for digest, content in self.blobs.items():
                _add(archive, f"blobs/{digest.replace(':', '/')}", content)

    def served(self, folder: Path) -> None:
        """Write what files/registry serves."""
        folder.mkdir(parents=True)
        for digest, content in self.blobs.items():
            (folder / digest).write_bytes(content)
        (folder / "manifest").write_text(self.manifest, encoding="utf-8")

    def _described(self, kind: str, digest: str) -> dict[str, object]:
        return {"mediaType": kind, "digest": digest, "size": len(self.blobs[digest])}


def image(program: Path, name: str) -> Image:
    """Return an image with one program below /usr/bin and nothing else."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(entry)
        _add(layer, f"usr/bin/{name}", program.read_bytes())
    blobs: dict[str, bytes] = {}
    layer_digest = _keep(blobs, buffer.getvalue())
    own = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Env": ["PATH=/usr/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
    }
    config = _keep(blobs, json.dumps(own).encode())
    made = Image(blobs, config)
    described = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": made._described(f"{OCI}.config.v1+json", config),
        "layers": [made._described(f"{OCI}.layer.v1.tar", layer_digest)],
    }
    return Image(blobs, _keep(blobs, json.dumps(described).encode()))


def _keep(blobs: dict[str, bytes], content: bytes) -> str:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    blobs[digest] = content
    return digest


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))

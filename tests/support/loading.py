"""Files that tests load."""

from __future__ import annotations

from pathlib import Path

from gpugen.load import Document, load


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder; return the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def loaded(path: Path, boundary: Path) -> Document:
    """Load a spec that is fine."""
    document, findings = load(path, boundary)
    assert findings == []
    assert document is not None
    return document

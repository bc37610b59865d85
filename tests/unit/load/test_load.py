"""A document: its data, where each value stands, and what the files below it said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpugen.errors import GpugenError
from gpugen.load import Document, Reader, load, why
from gpugen.model.finding import ROOT, Location, Pointer
from support.loading import loaded, write

SPEC = """\
# a comment
name: lab
kubernetes: {version: "1.36", distribution: kubeadm}
pools:
  - name: train
    hosts:
      - gpu-[01:02].lab
      - {name: gpu-03.lab}
    empty:
  - name: notebooks
    gpu:
      model: t4
"""


@pytest.fixture
def document(tmp_path: Path) -> Document:
    """Load SPEC."""
    write(tmp_path, {"cluster.yaml": SPEC})
    return loaded(tmp_path / "cluster.yaml", tmp_path)


def place(document: Document, pointer: str, key: bool = False) -> tuple[int, int]:
    """Return line and column of a pointer."""
    at = document.locate(Pointer(pointer), key)
    assert at.path == document.path.as_posix()
    return at.line, at.column


def test_data_is_plain(document: Document) -> None:
    assert document.data["pools"][0] == {
        "name": "train",
        "hosts": ["gpu-[01:02].lab", {"name": "gpu-03.lab"}],
        "empty": None,
    }
    assert document.sources == (document.path,)


@pytest.mark.parametrize(
    ("pointer", "value", "key"),
    [
        ("/name", (2, 7), (2, 1)),
        ("/kubernetes", (3, 13), (3, 1)),
        ("/kubernetes/version", (3, 23), (3, 14)),
        ("/kubernetes/distribution", (3, 45), (3, 31)),
        ("/pools", (5, 3), (4, 1)),
        ("/pools/0", (5, 5), (5, 5)),
        ("/pools/0/hosts", (7, 7), (6, 5)),
        ("/pools/0/hosts/0", (7, 9), (7, 9)),
        ("/pools/0/hosts/1/name", (8, 16), (8, 10)),
        ("/pools/0/empty", (9, 5), (9, 5)),
        ("/pools/1/gpu", (12, 7), (11, 5)),
        ("/pools/1/gpu/model", (12, 14), (12, 7)),
    ],
)
def test_places(
    document: Document, pointer: str, value: tuple[int, int], key: tuple[int, int]
) -> None:
    assert place(document, pointer) == value
    assert place(document, pointer, key=True) == key


@pytest.mark.parametrize(
    ("pointer", "ancestor"),
    [
        ("/pools/1/gpu/count", (11, 5)),
        ("/pools/0/mig/strategy", (5, 5)),
        ("/pools/7/name", (4, 1)),
        ("/pools/x", (4, 1)),
        ("/pools/-1", (4, 1)),
        ("/name/deeper", (2, 1)),
        ("/nothing/here", (2, 1)),
    ],
)
def test_what_does_not_exist_is_located_by_the_key_of_its_nearest_ancestor(
    document: Document, pointer: str, ancestor: tuple[int, int]
) -> None:
    assert place(document, pointer) == ancestor


def test_root_stands_at_the_first_key(document: Document) -> None:
    assert place(document, "") == (2, 1)


def test_history_of_a_single_file(document: Document) -> None:
    (origin,) = document.history(Pointer("/name"))
    assert origin.value == "lab"
    assert origin.location == Location(document.path.as_posix(), 2, 7)
    assert document.history(Pointer("/nothing")) == ()
    assert document.history(ROOT)[0].value["name"] == "lab"


def test_keys_with_slashes_are_found(tmp_path: Path) -> None:
    write(tmp_path, {"cluster.yaml": "resources:\n  nvidia.com/gpu: 2\n  a~b: 3\n"})
    document = loaded(tmp_path / "cluster.yaml", tmp_path)
    assert place(document, ROOT / "resources" / "nvidia.com/gpu") == (2, 19)
    assert place(document, ROOT / "resources" / "a~b", key=True) == (3, 3)


def test_columns_count_characters_behind_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_bytes("\ufeffa: {ü: 1, 🐧: 2}\r\nb: 3\r\n".encode())
    document = loaded(path, tmp_path)
    assert document.data == {"a": {"ü": 1, "🐧": 2}, "b": 3}
    assert place(document, "/a/🐧") == (1, 14)
    assert place(document, "/b") == (2, 4)


@pytest.mark.parametrize("make", ["missing", "folder", "fifo"])
def test_what_is_no_regular_file_is_an_error_of_the_environment(tmp_path: Path, make: str) -> None:
    path = tmp_path / "cluster.yaml"
    if make == "folder":
        path.mkdir()
    elif make == "fifo":
        os.mkfifo(path)
    with pytest.raises(GpugenError, match=r"cannot read .*cluster\.yaml"):
        load(path, tmp_path)


def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("a: 1\n")
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser reads everything
        assert loaded(path, tmp_path).data == {"a": 1}
    else:
        with pytest.raises(GpugenError, match="Permission denied"):
            load(path, tmp_path)


def test_a_reader_reads_each_file_once(tmp_path: Path) -> None:
    write(tmp_path, {"cluster.yaml": "a: 1\n"})
    path, reader = tmp_path / "cluster.yaml", Reader()
    load(path, tmp_path, reader)
    path.write_text("a: 2\n")
    document, _ = load(path, tmp_path, reader)
    assert document is not None
    assert document.data == {"a": 1}
    assert reader.content(path) == b"a: 1\n"


def test_at_most_a_hundred_findings_of_one_file(tmp_path: Path) -> None:
    write(tmp_path, {"cluster.yaml": "".join(f"k{n}: 1.5\n" for n in range(300))})
    document, findings = load(tmp_path / "cluster.yaml", tmp_path)
    assert document is None
    assert len(findings) == 100


def test_every_id_has_a_reason() -> None:
    assert all(reason.endswith(".") for reason in why().values())

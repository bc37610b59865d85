"""File access below one folder by directory handles, without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

LARGEST = 64 * 1024 * 1024  # bytes; rendered files are far smaller, so a larger one is foreign
_DEEPEST = 64  # nested folders; whatever is deeper is foreign
WRONG_BITS = 0o7111  # git records the executable bit; no rendered file has it

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

Stamp = tuple[int, int, int]


def stamp(status: os.stat_result) -> Stamp:
    """Return the part of a file's status that changes with its content."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return every folder that the paths need, without the top itself."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


@contextmanager
def named(path: str) -> Iterator[None]:
    """Let errors of the block report this path, not that of the system call."""
    try:
        yield
    except OSError as error:
        error.filename = path
        raise


@contextmanager
def folder(name: str, within: int | None = None) -> Iterator[int]:
    """Keep a folder open. Raises OSError: it is missing, not a folder, or a link."""
    handle = os.open(name, OPEN_FOLDER, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)


def open_below(root: int, path: str) -> int:
    """Open a folder below another, step by step without following links; empty for itself."""
    handle = os.dup(root)
    for step in path.split("/") if path else ():
        try:
            inner = os.open(step, OPEN_FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def read(name: str, within: int, largest: int = LARGEST) -> tuple[bytes, os.stat_result] | None:
    """Return content and former status of a regular file, None for anything else.

    A file above ``largest`` bytes counts as something else. Raises OSError: unreadable or missing.
    """
    handle = os.open(name, _OPEN_FILE, dir_fd=within)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
            return None
        content = os.read(handle, status.st_size + 1)
        while len(content) < status.st_size and (more := os.read(handle, largest)):
            content += more
        return content, status
    finally:
        os.close(handle)


def read_below(root: int, path: str, largest: int = LARGEST) -> bytes | None:
    """Return the content of a regular file below a folder, None for anything else."""
    above, _, name = path.rpartition("/")
    with suppress(OSError):
        handle = open_below(root, above)
        try:
            found = read(name, handle, largest)
        finally:
            os.close(handle)
        return found[0] if found else None
    return None


def create(name: str, content: bytes, within: int) -> None:
    """Write a new file, which must not exist. Errors of write and close are raised."""
    handle = os.open(name, _CREATE, 0o644, dir_fd=within)
    try:
        done = os.write(handle, content)
        while done < len(content):
            done += os.write(handle, content[done:])
    finally:
        os.close(handle)


def entries(handle: int) -> list[os.DirEntry[str]]:
    """List a folder, sorted by name."""
    with os.scandir(handle) as found:
        return sorted(found, key=lambda entry: entry.name)


def empty_folders(path: str, name: str, within: int) -> list[str] | None:
    """Return the paths of a folder and all its subfolders, None if it contains anything else.

    git ignores such folders. One that cannot be read may contain something.
    """
    found = [path]
    with suppress(OSError), folder(name, within) as handle:
        for entry in entries(handle):
            if not entry.is_dir(follow_symlinks=False) or path.count("/") > _DEEPEST:
                return None
            below = empty_folders(f"{path}/{entry.name}", entry.name, handle)
            if below is None:
                return None
            found += below
        return found
    return None


def remove_tree(name: str, within: int) -> None:
    """Delete gpugen's own folder with its content; links in it are deleted, not followed."""
    with folder(name, within) as handle:
        for entry in entries(handle):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.name, handle)
            else:
                os.unlink(entry.name, dir_fd=handle)
    os.rmdir(name, dir_fd=within)

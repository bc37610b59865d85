# Copyright: the gpugen authors. Apache-2.0.
"""Makes a folder for root alone, and runs a program in it only if it is the file that is meant.

As a program: root_only.py PATH SHA256 [ARGUMENT...] replaces itself by the program PATH.
Whoever but root can change a part of the path is a reason to refuse, and so is a link in it. The
content is hashed here, right before it runs, not by an earlier step; temporary files of the
program lie in its own folder. Runs on Python 3.8 and newer.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys

PIECE = 1 << 20  # bytes that are read at once
OTHERS = 0o077  # rights of group and others
WRITERS = 0o022
ROOT = 0
HOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe does not hold us


def described(place, seen):
    """Return path, owner and mode in words."""
    return "%s belongs to uid %d with mode %04o" % (place, seen.st_uid, stat.S_IMODE(seen.st_mode))


def folder_faults(path):
    """Say which folders of an absolute path somebody but root may change."""
    faults = []
    parts = [part for part in path.split("/") if part]
    for number in range(len(parts) + 1):
        place = "/" + "/".join(parts[:number])
        seen = os.lstat(place)
        if not stat.S_ISDIR(seen.st_mode):
            faults.append("%s is a link, or no folder" % place)
        elif seen.st_uid != ROOT or seen.st_mode & WRITERS:
            faults.append(described(place, seen))
    return faults


def file_faults(path, file, sha256):
    """Say what is wrong with an opened file."""
    seen = os.fstat(file.fileno())
    if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1:
        return ["%s has other names, or is no file" % path]
    if seen.st_uid != ROOT or seen.st_mode & WRITERS:
        return [described(path, seen)]
    found = hashlib.sha256()
    for piece in iter(lambda: file.read(PIECE), b""):
        found.update(piece)
    if found.hexdigest() != sha256.lower():
        return ["%s has SHA-256 %s, expected %s" % (path, found.hexdigest(), sha256.lower())]
    return []


def program_faults(path, sha256):
    """Say why a program must not run."""
    folder = os.path.dirname(path)
    found = folder_faults(folder)
    if not found and os.lstat(folder).st_mode & OTHERS:
        found = [described(folder, os.lstat(folder))]
    if found:
        return found
    with os.fdopen(os.open(path, HOW), "rb") as file:
        return file_faults(path, file, sha256)


def make(path, is_check=False):
    """Make a folder for root alone; tell whether it was missing, and why it must not be used."""
    is_new = not os.path.lexists(path)
    if is_check:
        return is_new, [] if is_new else folder_faults(path)
    if is_new:
        os.mkdir(path, 0o700)
    found = folder_faults(path)
    if not found:
        os.chmod(path, 0o700)
    return is_new, found


def run(path, sha256, *arguments):
    """Replace this process by the program, or refuse to."""
    found = program_faults(path, sha256)
    if found:
        raise SystemExit("%s is not run: %s" % (path, "; ".join(found)))
    os.execve(path, [path, *arguments], dict(os.environ, TMPDIR=os.path.dirname(path)))


def main(*arguments):
    """Run a program; whatever the system refuses is a reason, too."""
    try:
        run(*arguments)
    except OSError as problem:
        raise SystemExit(str(problem))


if __name__ == "__main__":
    main(*sys.argv[1:])

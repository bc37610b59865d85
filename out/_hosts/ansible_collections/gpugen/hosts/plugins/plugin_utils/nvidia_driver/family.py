# Copyright: the gpugen authors. Apache-2.0.
"""What apt and dnf have in common: offers, locks and one transaction."""

from __future__ import annotations

from typing import NamedTuple


class Family(NamedTuple):
    """What a package manager's part says.

    foreign: packages of another origin; pinning, rivals: what pins the driver, too. unavailable:
    what is missing and no repository offers; offered: lines for people. lock_file, lock_text: the
    file that keeps the versions; hold: packages to be held. transaction: its packages; change,
    fetch, refresh: commands. new, removed: by the simulation; failure: why it could not be done.
    """

    is_dnf: bool
    foreign: list[str]
    pinning: list[str]
    rivals: list[str]
    unavailable: list[str]
    offered: list[str]
    lock_file: str
    lock_text: str
    lock_due: bool
    hold: list[str]
    stream_commands: list[list[str]]
    is_unlocked: bool
    transaction: list[str]
    change: list[str]
    fetch: list[str]
    refresh: list[str]
    new: list[str]
    removed: list[str]
    failure: str

    @property
    def pin_due(self) -> bool:
        """Whether lock, hold or stream are not as expected."""
        return self.lock_due or bool(self.hold) or bool(self.stream_commands)

"""Finds ids that may be meant by a name that the catalogue does not have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpugen.catalog import reading

MOST = 3  # that are spelt alike; of ids that contain the name, twice as many
ALIKE = 0.65
COMPARED = 100  # ids letter by letter; a repository may have any number of its own
LONGEST = 100  # characters of a name that are compared
_NAMES = re.compile(r"^(?:product|nvmlNames|formerNvmlNames|pciDevices): (.*)$", re.MULTILINE)


def similar(section: str, sought: str, ids: Iterable[str]) -> tuple[str, ...]:
    """Return ids, best first: named so elsewhere, containing the name, else spelt alike.

    A GPU model is also found by what nvidia-smi or a node label calls it, and by its PCI device id.
    """
    from difflib import get_close_matches

    known, sought = list(ids), sought[:LONGEST]
    spelled = re.sub(r"[^a-z0-9.]+", "-", sought.lower()).strip("-")
    if section == "gpus":  # as GKE labels its nodes: nvidia-tesla-t4, nvidia-h100-80gb
        spelled = spelled.removeprefix("nvidia-").removeprefix("tesla-")
    named = _models_named(sought) if section == "gpus" else []
    if spelled in known:
        return (spelled,)
    few = _few(known, spelled)
    if same := [name for name in few if _squash(name) == _squash(sought)]:
        return tuple(same)
    containing = [name for name in known if spelled and spelled in name][: 10 * COMPARED]
    containing.sort(key=lambda name: not name.startswith(spelled))
    if named or containing:
        return tuple(dict.fromkeys([*named, *containing]))[: 2 * MOST]
    if len(known) <= 2 * MOST:
        return tuple(known)
    few = [name for name in few if _is_of_use(section, name)]
    return tuple(get_close_matches(spelled, few, n=MOST, cutoff=ALIKE))


def _few(known: list[str], spelled: str) -> list[str]:
    """Return the names that are worth comparing letter by letter, where there are very many."""
    if len(known) <= COMPARED:
        return known
    alike = [name for name in known if name[:2] == spelled[:2]]
    return (alike or known)[:COMPARED]


def _is_of_use(section: str, id: str) -> bool:
    """Tell whether a row of ours describes what gpugen renders for, not why it does not."""
    if section not in ("operatingSystems", "distributions"):
        return True
    if id not in reading.shipped_ids(section):
        return True
    return "\nisSupported: false\n" not in f"\n{reading.text(section, id)}"


def _models_named(sought: str) -> list[str]:
    """List our GPU models with that name; their files are searched as text, which is quick."""
    squashed = _squash(sought)
    return [
        model
        for model in reading.shipped_ids("gpus")
        if squashed
        and any(
            squashed == _squash(name)
            for line in _NAMES.findall(reading.text("gpus", model))
            for name in line.split(",")
        )
    ]


def _squash(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("nvidia")

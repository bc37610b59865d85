# Copyright: the gpugen authors. Apache-2.0.
"""Decides what the role has to do on a host."""

from __future__ import annotations

from typing import Any

from ..common import seen as read
from ..common.packages import refresh
from . import files, transaction
from .faults import TOOLKIT, faults, shortfalls
from .host import LINK, RECORD, Host, Seen, Wanted, view


def decide(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """Return what to refuse, what verification finds, and what is due."""
    own = view(seen, wanted)
    state, is_checking = wanted.get("state", "present"), bool(wanted.get("check_mode"))
    texts = files.due(own)
    is_link_due = own.is_link_due or own.is_link_former
    has_texts = bool(texts["files"] or texts["stale"])
    return {
        "faults": list(faults(own)),
        "shortfalls": list(shortfalls(own)),
        "interrupts": [],  # toolkits come beside what runs
        "due": bool(own.missing or own.retired) or is_link_due or has_texts,
        "reboot_due": False,
        "state": state,
        "is_verified": state == "present" and not is_checking,
        "by_apt": own.manager == "apt",
        "by_dnf": own.manager == "dnf",
        **_installation(own, wanted),
        **_removal(own, wanted),
        "link_due": is_link_due,
        "links": _links(own),
        **texts,
        # What check mode did not install cannot be recorded or pinned.
        "files_due": has_texts and not (is_checking and own.missing),
        "facts": {"link": own.link},
    }


def _installation(own: Host, wanted: Wanted) -> dict[str, Any]:
    simulated = transaction.Simulation(own, wanted)
    former = own.former
    pins = files.pins(own)
    coming = {**former["packages"], **simulated.new()}
    return {
        "install_due": bool(own.missing),
        "names": transaction.names(own),
        "refresh_due": bool(transaction.unavailable(own)) and not wanted.get("check_mode"),
        "refresh": refresh(own.manager),
        "offers_fault": transaction.offers_fault(own),
        "preview": transaction.preview(own),
        "before": _before(own),
        "early": [
            *([files.file(files.PREFERENCES, pins)] if pins else []),
            *([files.unlocked(own, [])] if files.locks_found(own) else []),
        ],
        "transaction_fault": transaction.fault(own, simulated),
        "planned": [files.file(RECORD, files.record(former["default"], coming))],
    }


def _before(own: Host) -> dict[str, list[Any]]:
    """Return pins and locks as they are, to be restored if a transaction fails (GEN-11)."""
    if own.manager == "dnf":
        found = files.locks_found(own)
        return {"files": [files.unlocked(own, found)] if found else [], "stale": []}
    if read.exists(own.seen, files.PREFERENCES):
        text = read.text(own.seen, files.PREFERENCES)
        return {"files": [files.file(files.PREFERENCES, text)], "stale": []}
    return {"files": [], "stale": [files.PREFERENCES]}


def _removal(own: Host, wanted: Wanted) -> dict[str, Any]:
    retired = own.retired
    toolkits = [name.rsplit("-", 2) for name in retired if TOOLKIT.match(name)]
    return {
        "remove_due": bool(retired),
        "retired": retired,
        "removal_fault": transaction.removal_fault(own, transaction.Simulation(own, wanted)),
        "forgotten": [f"{LINK}-{major}.{minor}" for _dummy, major, minor in toolkits],
    }


def _links(own: Host) -> list[list[str]]:
    """Return the commands that choose the default through alternatives (CUD-03)."""
    if own.is_link_former:
        return [["update-alternatives", "--auto", "cuda"]]
    if not own.is_link_due:
        return []
    priority = own.default.replace(".", "")
    install = ["update-alternatives", "--install", LINK, "cuda", own.home, priority]
    is_known = f"{own.home} - " in str(read.command(own.seen, "known")["out"])
    choose = ["update-alternatives", "--set", "cuda", own.home]
    return [choose] if is_known else [install, choose]

# Copyright: the gpugen authors. Apache-2.0.
"""Whose turn it is at a host or node: one run at a time may interrupt it.

A store has load, save and drop; ``File`` is one on the host, a Lease of the cluster is another
(plugins/plugin_utils/turn). Runs with Python 3.8 or newer.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

LASTS = 7200  # seconds; more than a run needs between two steps that take its turn again


def moment(seconds):
    """Write a time as the API does."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(seconds))


def state_of(turn, run, over, now):
    """Tell whose turn it is by what was found: free, ours or held.

    over: id of the run whose turn is over for certain; "*" for any, because somebody says so.
    """
    held = turn.get("run", {}).get("id")
    if held == run["id"]:
        return "ours"
    if not held or over in (held, "*") or turn["until"] < moment(now):
        return "free"
    return "held"


def take(store, run, over):
    """Take or renew a turn; return whose it is, and from whom it was taken."""
    for _attempt in range(3):  # whoever is faster is read again
        turn, now = store.load(), time.time()
        state = state_of(turn, run, over, now)
        if state == "held":
            return state, turn, {}
        since = turn["since"] if state == "ours" else moment(now)
        own = {"run": run, "since": since, "renewed": moment(now), "until": moment(now + LASTS)}
        if store.save(own):
            return "ours", own, {} if state == "ours" else turn.get("run", {})
    return "held", store.load(), {}


def answer(store, do, run, over=""):
    """Look at a turn, take it or end it.

    Returns C(state), the run that has the turn, the one that it was taken from (former), the one
    that asks (own), and times.
    """
    former = {}
    if do == "take":
        state, turn, former = take(store, run, over)
    else:
        turn = store.load()
        state = state_of(turn, run, over, time.time())
        if do == "end" and state == "ours":
            store.drop()
    known = {key: turn.get(key, "") for key in ("since", "renewed", "until")}
    return dict(known, state=state, run=turn.get("run", {}), former=former, own=run)


class File:
    """A turn as a file on the host, for root alone; it outlives a boot, which is the run's own."""

    def __init__(self, path, writes):
        self.path = path
        if writes:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            self.lock = os.open(os.path.dirname(path), os.O_RDONLY)
            fcntl.flock(self.lock, fcntl.LOCK_EX)

    def load(self):
        """Return the turn that is noted; one that cannot be read is nobody's."""
        with contextlib.suppress(ValueError, FileNotFoundError):
            with open(self.path, encoding="utf-8") as own:
                turn = json.loads(own.read())
            if isinstance(turn, dict) and {"run", "since", "renewed", "until"} <= set(turn):
                return turn
        return {}

    def save(self, turn):
        """Note a turn."""
        with open(os.open(self.path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as own:
            own.truncate()
            json.dump(turn, own, sort_keys=True)
        os.replace(self.path + ".new", self.path)
        return True

    def drop(self):
        """End the turn; the folder goes where nothing else is in it."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
            os.rmdir(os.path.dirname(self.path))

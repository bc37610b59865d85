# Copyright: the gpugen authors. Apache-2.0.
"""A turn as a Lease of the API; who creates it has it."""

from __future__ import annotations

import calendar
import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NAMESPACE = "kube-system"  # never kube-node-lease, whose Leases are the kubelets' heartbeats
LASTS = 7200  # seconds, where a Lease does not say
NOTE = "gpugen/run"
MOST = 253 - len("gpugen-")
KIND = "leases.coordination.k8s.io"
Turn = dict[str, Any]
Command = Callable[[Sequence[str], str], Mapping[str, Any]]


class LeaseError(Exception):
    """The API refused, or did not answer."""


class Lease:
    """The turn at a node. command: runs argv with an input, returns rc, out and err."""

    def __init__(self, kubectl: Sequence[str], node: str, command: Command) -> None:
        short = node if len(node) <= MOST else hashlib.sha256(node.encode()).hexdigest()
        self.name = "gpugen-" + short
        self._kubectl, self._command = kubectl, command
        self._found: dict[str, Any] = {}

    def load(self) -> Turn:
        """Return the turn that is noted."""
        is_known, text = self._ask("get", KIND, self.name, "--ignore-not-found", "--output=json")
        if not is_known:
            raise self._failed(text)
        self._found = json.loads(text) if text else {}
        return turn_of(self._found)

    def save(self, turn: Turn) -> bool:
        """Note a turn; return whether nobody was faster."""
        item = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "annotations": {NOTE: json.dumps(turn["run"], sort_keys=True)},
                **self._version("resourceVersion"),
            },
            "spec": {
                "holderIdentity": f"{turn['run']['id']} {turn['run']['who']}",
                "leaseDurationSeconds": LASTS,
                "acquireTime": turn["since"],
                "renewTime": turn["renewed"],
            },
        }
        verb = "replace" if self._found else "create"
        is_done, text = self._ask(verb, "--validate=false", "--filename=-", given=item)
        if not is_done and not re.search("AlreadyExists|Conflict|NotFound", text):
            raise self._failed(text)
        return is_done

    def drop(self) -> None:
        """End the turn, if it is still the one that was read."""
        known = self._version("uid", "resourceVersion")
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": known}
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{self.name}"
        is_done, text = self._ask("delete", "--raw=" + path, "--filename=-", given=options)
        if not is_done and not re.search("Conflict|NotFound", text):
            raise self._failed(text)

    def _version(self, *keys: str) -> dict[str, Any]:
        return {key: self._found["metadata"][key] for key in keys} if self._found else {}

    def _failed(self, text: str) -> LeaseError:
        return LeaseError(f"lease {self.name} in {NAMESPACE}: {text}")

    def _ask(self, *arguments: str, given: Mapping[str, Any] | None = None) -> tuple[bool, str]:
        """Run kubectl; return whether it succeeded, and what it says."""
        content = "" if given is None else json.dumps(given)
        argv = [*self._kubectl, "--namespace=" + NAMESPACE, *arguments]
        done = self._command(argv, content)
        is_done = done["rc"] == 0
        return is_done, done["out"] if is_done else done["err"].strip()


def turn_of(item: Mapping[str, Any]) -> Turn:
    """Return what a Lease says; one of somebody else's make has a holder, and no process."""
    spec = item.get("spec") or {}
    holder = spec.get("holderIdentity") or ""
    if not holder:
        return {}
    with contextlib.suppress(ValueError):
        run = json.loads((item["metadata"].get("annotations") or {}).get(NOTE, ""))
        if isinstance(run, dict) and holder.startswith(f"{run.get('id')} "):
            return _timed(spec, run)
    return _timed(spec, {"id": holder, "who": holder})


def _timed(spec: Mapping[str, Any], run: dict[str, Any]) -> Turn:
    """Return a turn with its times; without one it never ends by itself."""
    renewed = spec.get("renewTime") or ""
    until = "9"
    with contextlib.suppress(ValueError):
        parsed = time.strptime(renewed[:19] + " UTC", "%Y-%m-%dT%H:%M:%S %Z")
        seconds = calendar.timegm(parsed) + (spec.get("leaseDurationSeconds") or LASTS)
        until = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(seconds))
    since = spec.get("acquireTime") or ""
    return {"run": run, "since": since, "renewed": renewed, "until": until}

"""Whose turn it is at a host or node: one run at a time may interrupt it.

turn.py QUESTION, a JSON object: {"do": "look" | "take" | "end", "over": ...} and
  on the control host "kubectl": argv, "node": name, "who": argv of run.py: a Lease in kube-system
  on the host "file": path, "run": what run.py says: a file for root alone
over: id of the run whose turn is over for certain; "*" for any, because somebody says so.
Prints {"state": "free" | "ours" | "held", "run", "since", "renewed", "until", "former", "own"}: the
run that has the turn, the one that it was taken from, and the one that asks. Python 3.8 or newer.
"""

import calendar
import contextlib
import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import time

NAMESPACE = "kube-system"  # never kube-node-lease, whose Leases are the kubelets' heartbeats
LASTS = 7200  # seconds; more than a run needs between two steps that take its turn again
NOTE = "gpugen/run"
MOST = 253 - len("gpugen-")


def moment(seconds):
    """Write a time as the API does."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(seconds))


def read(path):
    """Read a file; empty where there is none."""
    try:
        with open(path, encoding="utf-8") as own:
            return own.read()
    except FileNotFoundError:
        return ""


def decide(turn, run, over, now):
    """Return whose turn it is by what was found."""
    held = turn.get("run", {}).get("id")
    if held == run["id"]:
        return "ours"
    if not held or over in (held, "*") or turn["until"] < moment(now):
        return "free"
    return "held"


class Lease:
    """A turn as a Lease of the API; who creates it has it."""

    def __init__(self, question):
        node = question["node"]
        short = node if len(node) <= MOST else hashlib.sha256(node.encode()).hexdigest()
        self.name = "gpugen-" + short
        self.node = node
        self.kubectl = question["kubectl"]
        self.found = {}

    def ask(self, *arguments, **given):
        """Run kubectl; return whether it succeeded, and what it says."""
        content = json.dumps(given["given"]) if "given" in given else ""
        command = self.kubectl + ["--namespace=" + NAMESPACE] + list(arguments)
        done = subprocess.run(command, input=content, stdout=-1, stderr=-1, text=True, check=False)
        return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr.strip()

    def load(self):
        """Return the turn that is noted."""
        kind = "leases.coordination.k8s.io"
        is_known, text = self.ask("get", kind, self.name, "--ignore-not-found", "--output=json")
        if not is_known:
            sys.exit("lease %s in %s: %s" % (self.name, NAMESPACE, text))
        self.found = json.loads(text) if text else {}
        return self.turn(self.found)

    def turn(self, item):
        """Return what a Lease says; one of somebody else's make has a holder, and no process."""
        spec = item.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if not holder:
            return {}
        with contextlib.suppress(ValueError):
            run = json.loads((item["metadata"].get("annotations") or {}).get(NOTE, ""))
            if isinstance(run, dict) and holder.startswith(str(run.get("id")) + " "):
                return self.times(spec, run)
        return self.times(spec, {"id": holder, "who": holder})

    def times(self, spec, run):
        """Return a turn with its times; without one it never ends by itself."""
        renewed = spec.get("renewTime") or ""
        until = "9"
        with contextlib.suppress(ValueError):
            parsed = time.strptime(renewed[:19] + " UTC", "%Y-%m-%dT%H:%M:%S %Z")
            seconds = calendar.timegm(parsed)
            until = moment(seconds + (spec.get("leaseDurationSeconds") or LASTS))
        since = spec.get("acquireTime") or ""
        return {"run": run, "since": since, "renewed": renewed, "until": until}

    def save(self, turn):
        """Note a turn; return whether nobody was faster."""
        item = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "annotations": {NOTE: json.dumps(turn["run"], sort_keys=True)},
            },
            "spec": {
                "holderIdentity": "%s %s" % (turn["run"]["id"], turn["run"]["who"]),
                "leaseDurationSeconds": LASTS,
                "acquireTime": turn["since"],
                "renewTime": turn["renewed"],
            },
        }
        verb = "create"
        if self.found:
            verb = "replace"
            item["metadata"]["resourceVersion"] = self.found["metadata"]["resourceVersion"]
        is_done, text = self.ask(verb, "--validate=false", "--filename=-", given=item)
        if not is_done and not re.search("AlreadyExists|Conflict|NotFound", text):
            sys.exit("lease %s in %s: %s" % (self.name, NAMESPACE, text))
        return is_done

    def drop(self):
        """End the turn, if it is still the one that was read."""
        known = {key: self.found["metadata"][key] for key in ("uid", "resourceVersion")}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": known}
        path = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s" % (NAMESPACE, self.name)
        is_done, text = self.ask("delete", "--raw=" + path, "--filename=-", given=options)
        if not is_done and not re.search("Conflict|NotFound", text):
            sys.exit("lease %s in %s: %s" % (self.name, NAMESPACE, text))


class File:
    """A turn as a file on the host, for root alone; it outlives a boot, which is the run's own."""

    def __init__(self, question):
        self.path = question["file"]
        if question["do"] != "look":
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            self.lock = os.open(os.path.dirname(self.path), os.O_RDONLY)
            fcntl.flock(self.lock, fcntl.LOCK_EX)

    def load(self):
        """Return the turn that is noted; one that cannot be read is nobody's."""
        with contextlib.suppress(ValueError):
            turn = json.loads(read(self.path))
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


def take(store, run, over):
    """Take or renew a turn; return whose it is, and from whom it was taken."""
    for _ in range(3):  # whoever is faster is read again
        turn, now = store.load(), time.time()
        state = decide(turn, run, over, now)
        if state == "held":
            return state, turn, {}
        since = turn["since"] if state == "ours" else moment(now)
        own = {"run": run, "since": since, "renewed": moment(now), "until": moment(now + LASTS)}
        if store.save(own):
            return "ours", own, {} if state == "ours" else turn.get("run", {})
    return "held", store.load(), {}


def ask(argv, *arguments):
    """Run run.py, which says who asks, and whether another run has ended."""
    done = subprocess.run(argv + list(arguments), stdout=-1, stderr=-1, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def main(question):
    """Answer what is asked."""
    run = question["run"] if "run" in question else ask(question["who"])
    store = Lease(question) if "kubectl" in question else File(question)
    turn, former, over = store.load(), {}, question["over"]
    state = decide(turn, run, over, time.time())
    if state == "held" and "who" in question:
        is_over = ask(question["who"], json.dumps(turn["run"]))["is_over"]
        state, over = ("free", turn["run"]["id"]) if is_over else (state, over)
    if question["do"] == "take":
        state, turn, former = take(store, run, over)
    elif question["do"] == "end" and state == "ours":
        store.drop()
    known = {key: turn.get(key, "") for key in ("since", "renewed", "until")}
    return dict(known, state=state, run=turn.get("run", {}), former=former, own=run)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1])), sort_keys=True))

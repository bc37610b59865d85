"""Prints what the host half costs: reading the inventory, and runs over hosts that are as wanted.

    python tests/benchmarks/bench_hosts.py [--hosts 10000] [--nodes 1 20] [--runs 3]

Inventory: CPU and wall seconds of ``ansible-inventory --list``, medians; the form that gpugen
renders for so many hosts, and the same inventory as YAML. Nodes (root,
docs/develop/host-lab.md): seconds of a run over N booted nodes that are as the spec says, and
CPU seconds of the control host by task, and module runs per host by role, which is what hosts and
control host pay for. ``--nodes 0`` leaves the nodes out. Nothing is asserted.

Goals, on two cores that are nodes and control host at once: an unchanged host takes at most 3
module runs and 2 CPU seconds, 20 of them at most 45 s together.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "generator")]

from gpugen.text.yaml import to_yaml  # noqa: E402
from support.commands import gpugen  # noqa: E402
from support.lab.nodes.machine import Machine  # noqa: E402
from support.lab.nodes.plays import Checkout, Run, spec  # noqa: E402
from support.lab.nodes.room import Room  # noqa: E402
from support.lab.nodes.watches import limit_for  # noqa: E402

POOLS = 20
SHOWN = 12  # tasks
AT_ONCE = {"gpugen_serial": "100%"}
# Not needed without a reboot, and nodes share 128 watches of files (docs/develop/host-lab.md).
NODE = Machine(files={"etc/systemd/system/systemd-logind.service": ""})


def large(count: int) -> dict[str, Any]:
    """Return a spec of so many hosts in 20 pools, each with an address of its own."""
    hosts = [
        {"name": f"gpu-{n:05}.big.example", "address": f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"}
        for n in range(count)
    ]
    size = count // POOLS
    return {
        "apiVersion": "gpugen/v1",
        "kind": "Cluster",
        "name": "big",
        "release": "2026.11",
        "kubernetes": {"version": "1.36", "distribution": "kubeadm"},
        "access": {"ssh": {"user": "ops"}, "kubeconfigContext": "big-admin", "nodeNames": "fqdn"},
        "hostDefaults": {
            "os": "ubuntu-24.04",
            "driver": {"version": "580.178.04"},
            "containerToolkit": {"version": "1.20.0"},
        },
        "pools": [
            {
                "name": f"p{number:02}",
                "gpu": {"model": "h100-sxm5-80gb", "count": 8},
                "hosts": hosts[number * size : (number + 1) * size],
            }
            for number in range(POOLS)
        ],
        "components": {},
    }


def read_inventory(folder: Path, inventory: Path, runs: int) -> str:
    """Return the median CPU and wall seconds of reading an inventory."""
    command = [sys.executable, "-m", "ansible", "inventory", "-i", str(inventory), "--list"]
    environment = {**os.environ, "ANSIBLE_HOME": str(folder / "home")}
    figures = []
    for _ in range(runs):
        start = time.perf_counter()
        with subprocess.Popen(
            command, cwd=inventory.parent, env=environment, stdout=subprocess.DEVNULL
        ) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, inventory
        wall = time.perf_counter() - start
        figures.append((usage.ru_utime + usage.ru_stime, wall))
    cpu, wall = (statistics.median(column) for column in zip(*figures, strict=True))
    size = sum(path.stat().st_size for path in inventory.iterdir() if path.is_file())
    return f"{cpu:6.1f} s CPU {wall:6.1f} s wall {size / 1e6:6.1f} MB"


def inventories(folder: Path, count: int, runs: int) -> None:
    """Print what Ansible takes to read an inventory, as rendered and as YAML."""
    home = folder / "inventories" / "big"
    home.mkdir(parents=True)
    (home / "cluster.yaml").write_text(json.dumps(large(count)))
    answer = gpugen("render", "big", cwd=folder)
    assert answer.code == 0, answer.err
    inventory = folder / "out" / "big" / "ansible" / "inventory"
    print(f"ansible-inventory --list, {count:,} hosts")
    print(f"  rendered  {read_inventory(folder, inventory, runs)}", flush=True)
    files = list(inventory.glob("*.json"))
    for path in files:
        path.with_suffix(".yml").write_text(to_yaml(json.loads(path.read_text())))
        path.unlink()
    if files:
        print(f"  as YAML   {read_inventory(folder, inventory, runs)}", flush=True)


def role_of(task: str) -> str:
    """Return the role of a task as Ansible names it; of the play's own tasks their name."""
    role, colon, _ = task.partition(" : ")
    return role if colon else "play"


def children() -> float:
    """Return the CPU seconds of this process's children so far; nodes are none of them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def show(run: Run, count: int, seconds: float, spent: float) -> None:
    """Print what a run did. spent: CPU seconds of the control host."""
    per_host = [host for host in run.hosts.values() if host.module_runs]
    changed = sum(len(host.changed) for host in per_host)
    most = max(per_host, key=lambda host: host.module_runs)
    roles: Counter[str] = Counter()
    for task, times in most.modules.items():
        roles[role_of(task)] += times
    print(
        f"rerun of {count} nodes: {seconds:.1f} s, {spent:.1f} s CPU of the control host, "
        f"{changed} changed, "
        f"{most.module_runs} module runs per host "
        f"({', '.join(f'{role} {times}' for role, times in roles.items())})",
        flush=True,
    )


def nodes(folder: Path, count: int) -> None:
    """Boot nodes that are as the spec wants them, and print what another run over them costs.

    One of them is brought to the spec; the others are copies of it, and what a copy's first boot
    leaves to be done is done by a run that is not measured.
    """
    room = Room(folder / "room")
    try:
        booted = room.boot({"n000": NODE})
        checkout = Checkout(room, folder / "checkout")
        checkout.render(spec(room, booted.values()))
        start = time.perf_counter()
        first = checkout.play(extra=AT_ONCE)
        assert first.code == 0, first.output
        print(f"first run of one node: {time.perf_counter() - start:.1f} s", flush=True)
        copy = replace(NODE, layer=booted["n000"].keep(folder))
        booted |= room.boot({f"n{number:03}": copy for number in range(1, count)})
        checkout.render(spec(room, booted.values()))
        if count > 1:
            settled = checkout.play(extra=AT_ONCE)
            assert settled.code == 0, settled.output
        start, spent = time.perf_counter(), children()
        again = checkout.play(extra=AT_ONCE)
        assert again.code == 0, again.output
        show(again, count, time.perf_counter() - start, children() - spent)
        tell(again)
    finally:
        room.close()


def tell(run: Run) -> None:
    """Print the tasks that cost a module run on a host, and those that cost most CPU seconds."""
    tasks: Mapping[str, int] = max((host.modules for host in run.hosts.values()), key=len)
    for task, times in tasks.items():
        print(f"  {times} module runs  {task}")
    for task, seconds in Counter(run.spent).most_common(SHOWN):
        print(f"  {seconds:6.2f} s CPU  {task or 'start-up'}")
    print(f"  {sum(run.spent.values()):6.2f} s CPU  all {len(run.spent)} tasks", flush=True)


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=10_000, help="0 leaves the inventory out")
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 20])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpugen-bench-") as name:
        folder = Path(name)
        if arguments.hosts:
            (folder / "inventory").mkdir()
            inventories(folder / "inventory", arguments.hosts, arguments.runs)
        for count in filter(None, arguments.nodes):
            own = folder / f"nodes-{count}"
            (own / "room").mkdir(parents=True)
            with limit_for(count):
                nodes(own, count)


if __name__ == "__main__":
    main()

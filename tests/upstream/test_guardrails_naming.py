"""When pods are sent to a scheduler, over the time of a roll-out, on a real API server.

The play's own tasks, real kubectl and the rendered policies: a pod is given a name only while
somebody is known to serve it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpugen.assemble import assemble
from gpugen.kube import scheduling
from gpugen.model.options import Scheduler
from gpugen.model.spec import ClusterSpec
from support import ROOT
from support.collection import collections
from support.guarded import GPU, ONE, SPACE, Guarded, opened, pod, spec_of
from support.lab.cluster.api import Object
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane
from support.lab.cluster.programs import wait_until

pytestmark = [pytest.mark.xdist_group(GROUP), pytest.mark.usefixtures("controllers")]

ROLES = ROOT / "roles"
SWITCH = "/api/v1/namespaces/kube-system/configmaps/gpugen-gpu-scheduler"
CONTROL_PLANE = ("cp-1.lab.example", "cp-2.lab.example")
MAIN: dict[str, Any] = {
    "/controlPlane": {"hosts": list(CONTROL_PLANE)},
    "/access": {"kubeconfigContext": "lab"},
}
GPUS = pod(ONE, tolerations=[{"operator": "Exists"}])
NOTHING = "false ? [JSONPatch{op: 'remove', path: '/x'}] : []"
# An API server that has no binding with ConfigMaps any more reads stale ones ever after
# (kubernetes/kubernetes#130887). The tests share one, so this one stays.
KEEPER: list[Object] = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "lab-keeper"},
        "spec": spec,
    }
    for kind, spec in (
        (
            "MutatingAdmissionPolicy",
            {
                "failurePolicy": "Ignore",
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["lab.example"],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["nothing"],
                        }
                    ]
                },
                "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": NOTHING}}],
            },
        ),
        (
            "MutatingAdmissionPolicyBinding",
            {
                "policyName": "lab-keeper",
                "paramRef": {
                    "name": "lab-keeper",
                    "namespace": "default",
                    "parameterNotFoundAction": "Allow",
                },
            },
        ),
    )
]
Run = Callable[..., int]  # changes that it reports


@pytest.fixture(scope="module")
def server(plane: Plane) -> Iterator[Guarded]:
    """Return the API server with what the tests need."""
    with opened(plane) as found:
        for item in KEEPER:
            plane.api.apply(item)
        yield found
        found.api.delete(SWITCH)


def scheduler_of(server: Guarded) -> str:
    """Return who would place a pod that asks for a GPU and names no scheduler."""
    answer = server.ask(GPUS)
    assert answer.is_good, answer.message
    return str(answer.body["spec"]["schedulerName"])


def becomes(server: Guarded, name: str) -> None:
    """Wait until pods are sent there: policies and what they read act with a delay."""
    wait_until(f"pods of {name}", lambda: scheduler_of(server) == name)


def stays(server: Guarded, name: str = scheduling.DEFAULT) -> None:
    """See that pods are sent there, and still are when the API server has seen everything."""
    canary = {**GPUS, "spec": {**GPUS["spec"], "schedulerName": "canary"}}
    for _ in range(40):
        assert scheduler_of(server) == name
        assert server.ask(canary).body["spec"]["schedulerName"] == "canary"


@pytest.fixture
def main(server: Guarded) -> ClusterSpec:
    spec = spec_of("lab", **MAIN)
    server.api.delete(SWITCH)
    server.use(spec)
    becomes(server, scheduling.DEFAULT)
    return spec


# ---------------------------------------------------------------- the play


@pytest.fixture
def play(plane: Plane, upstream: Callable[[str], Path], tmp_path: Path) -> Run:
    """Return what runs an entry point of the role over two hosts; the cluster is the real one."""
    kubeconfig = tmp_path / "kubeconfig"
    content = yaml.safe_load(plane.kubeconfig("admin").read_text())
    (context,) = content["contexts"]
    context["name"] = content["current-context"] = "lab"
    kubeconfig.write_text(yaml.safe_dump(content))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "KUBECONFIG": str(kubeconfig),
        "ANSIBLE_ROLES_PATH": str(ROLES),
        "ANSIBLE_COLLECTIONS_PATH": str(collections(tmp_path)),
        "ANSIBLE_INJECT_FACT_VARS": "False",
        "LC_ALL": "C.UTF-8",
    }

    def run(
        spec: ClusterSpec, step: str, *words: str, shortfalls: Object | None = None, code: int = 0
    ) -> int:
        variables = dict(assemble(spec).control_plane_variables)
        variables["__kube_scheduler_control_kubectl"] = [str(upstream("kubectl"))]
        site = tmp_path / "play.yml"
        site.write_text(json.dumps([_play(step)]))
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts: dict[str, Any] = {name: dict(local) for name in CONTROL_PLANE}
        for name, text in (shortfalls or {}).items():
            hosts[name]["kube_scheduler_missing"] = text
        inventory = {
            "control_plane": {"hosts": hosts, "vars": variables},
            "ungrouped": {"hosts": {"gpugen_control": local}},
        }
        (tmp_path / "hosts.json").write_text(json.dumps(inventory))
        command = [sys.executable, "-m", "ansible", "playbook", "-i", str(tmp_path / "hosts.json")]
        done = subprocess.run(
            [*command, str(site), *words],
            capture_output=True,
            text=True,
            env=environment,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return sum(map(int, re.findall(r" changed=(\d+) ", done.stdout)))

    return run


def _play(step: str) -> Object:
    role = {"name": "kube_scheduler", "tasks_from": step}
    return {
        "hosts": "control_plane",
        "gather_facts": False,
        "vars": {"gpugen_control_plane": "{{ groups['control_plane'] }}"},
        "tasks": [
            {"ansible.builtin.import_role": role, "run_once": step in ("decide", "withdraw")}
        ],
    }


PROVED = dict.fromkeys(CONTROL_PLANE, "")
GONE = {**PROVED, CONTROL_PLANE[1]: "the flag is gone; did an upgrade write it anew?"}


@pytest.mark.slow
def test_the_whole_life_of_a_profile(server: Guarded, main: ClusterSpec, play: Run) -> None:
    """Git first, then the play, an upgrade, the play again, removal: no pod ever hangs."""
    stays(server)  # delivered, and no play has run
    assert play(main, "decide", "--check", shortfalls=PROVED) == 1
    assert server.api.find(SWITCH) is None
    assert play(main, "decide", shortfalls=PROVED) == 1
    becomes(server, "gpu-binpack")
    assert play(main, "decide", shortfalls=PROVED) == 0
    assert play(main, "withdraw", "--check") == 1
    stays(server, "gpu-binpack")
    play(main, "withdraw")  # before-upgrade.yml, or a host that is about to change
    assert server.api.find(SWITCH) is None
    becomes(server, scheduling.DEFAULT)
    assert play(main, "withdraw") == 0
    play(main, "decide", shortfalls=PROVED)
    becomes(server, "gpu-binpack")
    play(main, "decide", shortfalls=GONE)  # nobody thought of it before the upgrade
    becomes(server, scheduling.DEFAULT)


@pytest.mark.parametrize(
    "shortfalls",
    [{}, {CONTROL_PLANE[0]: ""}, GONE],
    ids=["no-proof", "one-of-two", "not-any-more"],
)
def test_one_scheduler_alone_is_not_enough(
    server: Guarded, main: ClusterSpec, play: Run, shortfalls: Object
) -> None:
    """Any of them may lead. Whoever runs a part of them proves nothing, and disproves nothing."""
    assert play(main, "decide", shortfalls=shortfalls) == 0
    assert server.api.find(SWITCH) is None
    server.api.apply(scheduling.switch(main))
    play(main, "decide", shortfalls=shortfalls)
    assert (server.api.find(SWITCH) is None) is (shortfalls == GONE)


def test_another_cluster_is_not_written_to(server: Guarded, main: ClusterSpec, play: Run) -> None:
    server.api.apply(scheduling.switch(main))
    uid = "5f1c3f0e-8a1b-4c55-9d2e-0d6f6f0b7a11"
    other = main._replace(access=main.access._replace(cluster_uid=uid))
    for step in ("withdraw", "decide"):
        play(other, step, shortfalls=PROVED, code=2)
    assert server.api.find(SWITCH) is not None
    own = server.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    right = main._replace(access=main.access._replace(cluster_uid=own))
    play(right, "withdraw")
    assert server.api.find(SWITCH) is None


def test_removal_begins_with_the_configmap(server: Guarded, main: ClusterSpec, play: Run) -> None:
    """Before the host is even read, which fails here: nothing of a scheduler is on it."""
    server.api.apply(scheduling.switch(main))
    play(main, "absent", code=2)
    assert server.api.find(SWITCH) is None


# ---------------------------------------------------------------- what else may happen


def test_a_new_name_waits_for_its_own_proof(server: Guarded, main: ClusterSpec) -> None:
    """The spec renames the profile; what the play proved last is the old one."""
    server.api.apply(scheduling.switch(main))
    becomes(server, "gpu-binpack")
    options = main.own(Scheduler)._replace(scheduler_name="gpu-tight")
    renamed = main._replace(options={**main.options, "scheduler": options})
    server.use(renamed)
    stays(server)
    server.api.apply(scheduling.switch(renamed))
    becomes(server, "gpu-tight")


@pytest.mark.parametrize(
    "data", [None, {}, {"schedulerName": ""}, {"schedulername": "gpu-binpack"}]
)
def test_a_configmap_of_somebody_else_is_not_believed(
    server: Guarded, main: ClusterSpec, data: Object | None
) -> None:
    foreign = scheduling.switch(main)
    del foreign["data"]
    server.api.apply(foreign if data is None else {**foreign, "data": data})
    stays(server)
    elsewhere = scheduling.switch(main)
    elsewhere["metadata"]["namespace"] = SPACE
    server.api.apply(elsewhere)
    stays(server)
    server.api.delete(server.api.path(elsewhere))
    server.api.delete(SWITCH)


def test_what_a_pod_names_stays_and_others_are_left_alone(
    server: Guarded, main: ClusterSpec
) -> None:
    server.api.apply(scheduling.switch(main))
    becomes(server, "gpu-binpack")
    for item, name in (
        (pod(ONE, schedulerName="volcano"), "volcano"),
        (pod({}), scheduling.DEFAULT),
        (pod({GPU: "0"}), scheduling.DEFAULT),
    ):
        assert server.ask(item).body["spec"]["schedulerName"] == name
    for space in ("kube-system", "gpu-agents"):
        assert server.ask(GPUS, space).body["spec"]["schedulerName"] == scheduling.DEFAULT


def test_a_second_scheduler_is_named_in_the_wave_behind_it(server: Guarded) -> None:
    """Delivered wave by wave; the engine goes on when the Deployment is ready."""
    spec = spec_of("lab")
    server.use(spec)
    placed = assemble(spec).objects
    last = [p.object for p in placed if p.wave == "40-scheduler"]
    for item in reversed(last):
        server.api.delete(server.api.path(item))
    becomes(server, scheduling.DEFAULT)
    for item in (p.object for p in placed if p.wave == "30-scheduling"):
        server.api.apply(item)
    stays(server)  # its pods are not ready, and nothing sends pods to them
    for item in last:
        server.api.apply(item)
    becomes(server, "gpu-binpack")
    for item in (p.object for p in reversed(placed) if p.wave == "30-scheduling"):
        if "Admission" not in item["kind"]:
            server.api.delete(server.api.path(item))

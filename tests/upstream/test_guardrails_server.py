"""The guardrails as objects of a real API server: types, versions, sizes, and their page."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpugen.model.spec import ClusterSpec
from support.documents import agrees, blocks, named_blocks, steps
from support.guarded import (
    GPU,
    ONE,
    REQUESTS,
    Guarded,
    opened,
    pod,
    policies,
    refusal,
    spec_of,
    told,
    with_options,
)
from support.lab.cluster.fixtures import GROUP
from support.lab.cluster.plane import Plane, running
from support.lab.cluster.programs import wait_until
from support.lab.cluster.shell import Shell
from support.lab.cluster.trees import example
from support.specs import resolved

pytestmark = [pytest.mark.xdist_group(GROUP)]
PAGE = "docs/cluster/guardrails.md"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
TOLERANT = {"tolerations": [{"key": GPU, "operator": "Exists"}], "runtimeClassName": "nvidia"}


@pytest.fixture
def server(plane: Plane, controllers: object) -> Iterator[Guarded]:
    """Return the API server with what the tests need."""
    with opened(plane) as found:
        yield found


@pytest.mark.parametrize("cluster", ["lab", "shares", "older"])
def test_types_are_right(server: Guarded, cluster: str) -> None:
    """kube-controller-manager checks expressions against the schemas of all that they validate."""
    server.use(spec_of(cluster, {"mode": "enforce"}))

    def is_checked(policy: dict[str, Any]) -> bool:
        generation = policy["metadata"]["generation"]
        return bool(policy.get("status", {}).get("observedGeneration", 0) == generation)

    wait_until("type check", lambda: all(map(is_checked, server.api.items(VALIDATING))))
    for policy in server.api.items(VALIDATING):
        assert policy["status"]["typeChecking"].get("expressionWarnings", []) == []


def test_the_type_check_is_heard(server: Guarded) -> None:
    """The check of the test above: an expression with a wrong field is reported."""
    (policy, *_) = policies(spec_of("single"))
    policy["metadata"]["name"] = "canary"
    policy["spec"] |= {"variables": [], "matchConditions": []}
    policy["spec"]["validations"] = [{"expression": "object.spec.nothing == 1"}]
    server.api.apply(policy)
    path = f"{VALIDATING}/canary"
    wait_until("type check", lambda: "typeChecking" in server.api.get(path).get("status", {}))
    assert server.api.get(path)["status"]["typeChecking"]["expressionWarnings"]
    server.api.delete(path)


def test_applied_again_nothing_moves(server: Guarded) -> None:
    spec = spec_of("lab", {"mode": "enforce"})
    server.use(spec)
    for item in policies(spec):
        before = server.api.get(server.api.path(item))["metadata"]
        after = server.api.apply(item)["metadata"]
        assert after["generation"] == before["generation"]


@pytest.mark.parametrize("version", ["1.33", "1.35"])
def test_older_kubernetes(upstream: Callable[[str], Path], tmp_path: Path, version: str) -> None:
    """The API server at the feature level of an older minor takes what is rendered for that."""
    older = tmp_path / "kube-apiserver"
    program = f'#!/bin/sh\nexec "{upstream("kube-apiserver")}" "$@" --emulated-version={version}\n'
    older.write_text(program, encoding="utf-8")
    older.chmod(older.stat().st_mode | stat.S_IXUSR)
    programs = {"kube-apiserver": older}
    changes = {"/kubernetes/version": version}
    spec = spec_of("older", {"mode": "enforce"}, **changes)
    with (
        running(tmp_path, lambda name: programs.get(name) or upstream(name)) as plane,
        plane.controller_manager(),
        opened(plane) as server,
    ):
        assert not server.api.serves("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy")
        server.use(spec)
        answer = server.ask(pod(ONE, **TOLERANT))
        assert (answer.is_good, told(answer)) == (True, [])
        answer = server.ask(pod({GPU: "9"}, **TOLERANT))
        message = "[too-many] the pod asks for 9 nvidia.com/gpu, more than any node has"
        assert refusal(REQUESTS, message) in answer.message


def large(pools: int) -> ClusterSpec:
    """Return a cluster of many pools that differ in layout, sharing and taints."""
    profiles = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
    made = []
    for n in range(pools):
        entries = [
            {"gpus": [0, 1], "profiles": {profiles[n % 5]: 1}},
            {"gpus": [2, 3], "profiles": {}},
        ]
        made.append(
            {
                "name": f"p{n:03d}",
                "gpu": {"model": "a100-sxm4-40gb", "count": 4},
                "hosts": [f"h{n:03d}.lab.example"],
                "labels": {"row": f"{n}"},
                "taints": [
                    {"key": GPU, "effect": "NoSchedule"},
                    {"key": f"team-{n}", "effect": "NoSchedule"},
                ],
                "mig": {"strategy": "mixed", "layout": entries},
            }
        )
    guardrails = {"mode": "enforce"}
    return resolved({"/name": "large", "/pools": made, "/components/guardrails": guardrails})


def test_a_large_cluster_stays_within_the_limits(server: Guarded) -> None:
    """1,000 pools, and pods that make every rule go through all of them."""
    server.use(large(1000))
    team = [{"key": "team-999", "operator": "Exists"}]
    many = [{"key": f"lab.example/none-{n}", "operator": "Exists"} for n in range(30)]
    names = {GPU: "1", "nvidia.com/mig-7g.40gb": "1"}
    answer = server.ask(pod(*[names] * 2, tolerations=[*many, *team]))
    assert (answer.is_good, told(answer)) == (True, []), answer.message
    answer = server.ask(pod(ONE, tolerations=many))
    assert "[untolerated-taint]" in answer.message
    assert answer.message.endswith("; 994 more pools. Add a toleration")
    answer = server.ask(pod(ONE, nodeSelector={"row": "none"}))
    assert "[wrong-pool]" in answer.message
    assert answer.message.endswith("; 994 more pools")
    busy = pod(*[{}] * 50)
    for container in busy["spec"]["containers"]:
        container["env"] = [{"name": f"V{n}", "value": "x"} for n in range(100)]
    answer = server.ask(busy)
    assert (answer.is_good, told(answer)) == (True, []), answer.message


# ---------------------------------------------------------------- the page


@pytest.fixture
def shell(plane: Plane, tmp_path: Path, upstream: Callable[[str], Path]) -> Iterator[Shell]:
    """Return a shell with kubectl and the files of the page."""
    for path, text in named_blocks(PAGE).items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "kubectl").symlink_to(upstream("kubectl"))
    shutil.copy(plane.kubeconfig("reader"), tmp_path / "kubeconfig")
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
    }
    found = Shell(tmp_path, environment)
    yield found
    found.close()


def test_the_page_word_for_word(server: Guarded, shell: Shell) -> None:
    modes = ["warn", "enforce", "enforce"]
    shown = blocks(PAGE, "console")
    assert len(shown) == len(modes)
    for mode, block in zip(modes, shown, strict=True):
        server.use(with_options(example("lab").spec, {"mode": mode}))
        for step in steps(block):
            _, printed = shell.run(step.command)
            assert agrees(step.output, printed), f"{step.command}\n{printed}"

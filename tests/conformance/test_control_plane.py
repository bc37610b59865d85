"""Every example tree in a real API server: applied strictly, applied again, followed by the next.

By raw HTTP with strict field validation; a Warning header counts as a refusal. kubectl would hide
duplicate keys.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.cluster.delivery import Delivery
from lab.cluster.fixtures import GROUP
from lab.cluster.plane import Plane
from lab.cluster.programs import wait_until
from lab.cluster.trees import ROOT, Item, example, examples

pytestmark = pytest.mark.xdist_group(GROUP)

OURS = {"labelSelector": "app.kubernetes.io/managed-by=gpugen"}
TRIES = 5  # a controller may write a status between two looks


def test_dies_with_its_tests(reader: Callable[[str], Path], tmp_path: Path) -> None:
    """A killed pytest cannot clean up; the kernel does."""
    code = f"""\
        import sys, time
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from pathlib import Path
        from lab.cluster.plane import _etcd
        program, _ = _etcd(Path({str(reader("etcd"))!r}), Path({str(tmp_path)!r}))
        print(program._process.pid, flush=True)
        time.sleep(60)
        """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent:
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}/comm").read_text() == "etcd\n"
        os.kill(parent.pid, signal.SIGKILL)
    wait_until("end of etcd", lambda: not _runs(child), 5)


def _runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---------------------------------------------------------------- the judge itself

CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: canary, namespace: default}"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: canary, namespace: default}
spec:
  automountServiceAccountToken: false
  containers: [{name: canary, image: canary, resources: {limits: {nvidia.com/gpu: %s}}}]
"""
CANARIES = [
    (CONFIG_MAP + ", data: {a: b}}", ""),
    (CONFIG_MAP + ", data: {a: b, a: c}}", 'key "a" already set'),
    (CONFIG_MAP + ", dta: {a: b}}", ".dta: field not declared in schema"),
    (CONFIG_MAP + ", data: {a: 1}}", "expected string, got"),
    (POD % '"1"', ""),
    (POD % "500m", "must be an integer"),
]


@pytest.mark.parametrize(("text", "complaint"), CANARIES)
@pytest.mark.usefixtures("controllers")
def test_judge_is_strict(plane: Plane, text: str, complaint: str) -> None:
    import yaml

    answer = plane.api.try_apply(yaml.safe_load(text), text, dryRun="All")
    assert answer.is_good is not bool(complaint), answer
    assert complaint in answer.message


def test_judge_hears_warnings(plane: Plane) -> None:
    """A pod that a namespace warns about is taken, and still no good answer."""
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c", "labels": labels}}
    plane.api.apply(space)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    template["spec"]["containers"] = [{"name": "c", "image": "c"}]  # type: ignore[index]
    item = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "c", "namespace": "c"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    with pytest.raises(AssertionError, match=r"warned: .*would violate PodSecurity"):
        plane.api.apply(item, dryRun="All")


# ---------------------------------------------------------------- example trees


@pytest.mark.parametrize("name", examples())
def test_applied_again_nothing_moves(delivery: Delivery, name: str) -> None:
    items = example(name).items
    delivery.apply(items)
    assert_settled(delivery, items)


def assert_settled(delivery: Delivery, items: tuple[Item, ...]) -> None:
    """Apply once more: every object keeps its resourceVersion."""
    for _ in range(TRIES):
        before = {i.path: _version(delivery.api.get(delivery.api.path(i.object))) for i in items}
        after = {path: _version(item) for path, item in delivery.apply(items).items()}
        moved = [path for path in before if before[path] != after[path]]
        if not moved:
            return
    raise AssertionError(f"moved when applied again: {moved}")


def _version(item: dict[str, Any]) -> str:
    version: str = item["metadata"]["resourceVersion"]
    return version

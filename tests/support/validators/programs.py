"""Real programs and real schemas that read the tree."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from gpugen.kube.conform import difference
from support.validators.tree import Json, Rendered

Find = Callable[[str], Path]


def call(*command: str | Path, text: str = "") -> tuple[int, str]:
    """Run a program on text and return its exit code and all it said."""
    answer = subprocess.run(
        [str(part) for part in command],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return answer.returncode, answer.stdout + answer.stderr


def kustomize(tree: Rendered, upstream: Find, folder: Path) -> Iterator[str]:
    """Build every wave and the whole; each object must come out once and nothing else."""
    for path, content in tree.files.items():
        if path.startswith("kustomize/"):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    waves = sorted(p.parent for p in folder.glob("kustomize/*/kustomization.yaml"))
    built: list[str] = []
    for where in [*waves, folder / "kustomize"]:
        code, said = call(upstream("kustomize"), "build", where)
        name = where.relative_to(folder).as_posix()
        if code:
            yield f"{name}: {said.strip()[:300]}"
            continue
        found = [identity(item) for item in yaml.safe_load_all(said) if item]
        if where.name == "kustomize":
            built = found
    wanted = sorted(identity(item) for item in tree.objects.values())
    if sorted(built) != wanted:
        yield f"the build has {sorted(set(wanted) ^ set(built))[:3]} less or more than the files"


def identity(item: Json) -> str:
    """Return what makes an object one of its own."""
    meta = item.get("metadata", {})
    return f"{item.get('apiVersion')}/{item.get('kind')}/{meta.get('namespace')}/{meta.get('name')}"


def schemas(tree: Rendered, validate_custom_resource: Callable[[Json], list[str]]) -> Iterator[str]:
    """Hold every object strictly against the schema of its kind, core or upstream's CRD."""
    for path, item in tree.objects.items():
        try:
            kubernetes_validate.validate(item, tree.kubernetes, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            yield from (f"{path}: {problem}" for problem in validate_custom_resource(item))
        except Exception as error:  # noqa: BLE001 - whatever it raises is its verdict
            yield f"{path}: {str(error)[:300]}"
    for path in tree.files:
        if path.startswith("sync/") and path.endswith(".yaml"):
            yield from (f"{path}: {p}" for p in validate_custom_resource(tree.parsed(path)))


def client_models(tree: Rendered) -> Iterator[str]:
    """Hold every object against the Kubernetes client's models."""
    for path, item in tree.objects.items():
        if found := difference(item):
            yield f"{path}: {found}"


def plugin_configs(tree: Rendered, upstream: Find, folder: Path) -> Iterator[str]:
    """Let the plugin's loader read each configuration; what was stated must come out again."""
    for path, item in tree.of_kind("ConfigMap").items():
        for key, text in tree.payload(item, "config.yaml").items():
            stated = yaml.safe_load(text)
            if not isinstance(stated, dict) or "flags" not in stated:
                continue
            file = folder / "config.yaml"
            file.write_text(text)
            code, said = call(upstream("plugin-config"), "--config-file", file)
            if code:
                yield f"{path} {key}: {said.strip()[:300]}"
            elif lost := _lost(stated, json.loads(said), ""):
                yield f"{path} {key}: the plugin does not take {lost}"


def _lost(stated: Any, taken: Any, at: str) -> str:
    """Name the first stated value that did not come out of the loader."""
    if isinstance(stated, dict):
        if not isinstance(taken, dict):
            return at
        return next(
            (f for k, v in stated.items() if (f := _lost(v, taken.get(k), f"{at}/{k}"))), ""
        )
    if isinstance(stated, list):
        pairs = zip(stated, taken or [], strict=False)
        if len(stated) != len(taken or []):
            return at
        return next((f for i, (s, t) in enumerate(pairs) if (f := _lost(s, t, f"{at}/{i}"))), "")
    return "" if stated == taken or (stated is False and taken is None) else at


def mig_configs(tree: Rendered, upstream: Find, folder: Path) -> Iterator[str]:
    """Let mig-parted validate each MIG configuration, by the name that the pool's label selects."""
    for path, item in tree.of_kind("ConfigMap").items():
        for key, text in tree.payload(item, "config.yaml").items():
            stated = yaml.safe_load(text)
            if not isinstance(stated, dict) or "mig-configs" not in stated:
                continue
            pool = path.split("/")[2]
            labels = tree.group_vars[f"pool_{pool.replace('-', '_')}"]["gpu_node_labels"]
            name = labels.get("nvidia.com/mig.config", "")
            file = folder / "mig.yaml"
            file.write_text(text)
            code, said = call(
                upstream("mig-parted"), "assert", "--valid-config", "-f", file, "-c", name
            )
            if code:
                yield f"{path} {key}: {said.strip()[:300]}"


def rules(tree: Rendered, upstream: Find, folder: Path) -> Iterator[str]:
    """Let promtool validate the rules and the scrape configurations."""
    texts = {
        path: yaml.safe_dump(item["spec"]) for path, item in tree.of_kind("PrometheusRule").items()
    }
    for path, content in tree.files.items():
        if path.startswith("prometheus/rules") and path.endswith(".yaml"):
            texts[path] = content.decode()
    for path, text in texts.items():
        code, said = call(upstream("promtool"), "check", "rules", "--lint=all", text=text)
        if code:
            yield f"{path}: {said.strip()[:300]}"
    fragment = tree.files.get("prometheus/scrape-config.yaml")
    if fragment is not None:
        file = folder / "prometheus.yml"
        jobs = yaml.safe_load(fragment)
        file.write_text(yaml.safe_dump({"scrape_configs": jobs}))
        code, said = call(upstream("promtool"), "check", "config", "--syntax-only", file)
        if code:
            yield f"prometheus/scrape-config.yaml: {said.strip()[:300]}"


def scheduler(tree: Rendered, upstream: Find, folder: Path) -> Iterator[str]:
    """Let the real scheduler build its plugins from the rendered configuration."""
    kubeconfig = folder / "kubeconfig"
    cluster = {"cluster": {"server": "https://127.0.0.1:9"}, "name": "x"}
    context = {"context": {"cluster": "x", "user": "x"}, "name": "x"}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [cluster],
                "contexts": [context],
                "users": [{"name": "x", "user": {}}],
                "current-context": "x",
            }
        )
    )
    for path, item in tree.of_kind("ConfigMap").items():
        for key, text in item.get("data", {}).items():
            if "KubeSchedulerConfiguration" not in text:
                continue
            stated = yaml.safe_load(text)
            stated.setdefault("clientConnection", {})["kubeconfig"] = str(kubeconfig)
            file = folder / "scheduler.yaml"
            file.write_text(yaml.safe_dump(stated))
            done = folder / "done.yaml"
            code, said = call(
                upstream("kube-scheduler"),
                f"--config={file}",
                "--secure-port=0",
                f"--write-config-to={done}",
            )
            if code:
                yield f"{path} {key}: {said.strip()[-300:]}"

"""Hostile input takes bounded work and memory; calls are counted, and no clock is asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import bounded
from support.specs import MINIMAL

SPEC = "inventories/minimal/cluster.yaml"
MOST_CALLS = 5_000_000  # a sound spec takes 100,000
HEAD = MINIMAL.read_text("utf-8").partition("  repositories:")[0]
POOL = "  - name: p{0}\n    gpu: {{model: {1}, count: 4}}\n    hosts: [{2}]\n"
LAYER = "apiVersion: gpugen/v1\nkind: Layer\n"
KEY = "repositories: {baseURL: 'https://p.example/x', keyFile: k.asc, fingerprint: '" + "A" * 40
MODEL = (
    "{{product: P, architecture: hopper, computeCapability: '9.0', hostArchitectures: [amd64],"
    " kernelModules: both, source: [x]}}"
)
Files = dict[str, str | int]  # path -> text, or the size of a sparse file


def pools(count: int, model: str = "a100-sxm4-40gb", host: str = "g{0}") -> str:
    rows = (POOL.format(n, model.format(n), f'"{host.format(n)}"') for n in range(count))
    return HEAD + "pools:\n" + "".join(rows)


def many(key: str, line: str, count: int = 3000) -> str:
    """Return a spec whose pool has a long list or mapping."""
    return pools(1) + f"    {key}:\n" + "".join(f"      {line.format(n)}\n" for n in range(count))


def hosts(line: str, count: int = 3000) -> str:
    return many("hosts", line, count).replace('    hosts: ["g0"]\n', "", 1)


def rows(row: str, count: int, section: str = "gpus") -> str:
    return f"{section}:\n" + "".join(f"  {row.format(n)}\n" for n in range(count))


CASES: dict[str, Files] = {
    "three ranges": {SPEC: pools(1, host="r[1:999]s[1:999]n[1:999]")},
    "fifteen ranges": {SPEC: pools(1, host="r" + "[0:999999]" * 15)},
    "ranges of all pools": {SPEC: pools(200, host="r{0}-[1:20000]")},
    "one range on many lines": {SPEC: hosts('- "r[1:20000]"')},
    "wrong ranges": {SPEC: hosts('- "r{0}[9:1]"')},
    "wrong names": {SPEC: hosts('- "r{0}..x"')},
    "hosts named twice": {SPEC: hosts("- same")},
    "items of a wrong kind": {SPEC: hosts("- [{0}]")},
    "mappings without a name": {SPEC: hosts("- {{k{0}: 1}}")},
    "too many hosts": {SPEC: hosts("- x", 21_000)},
    "unknown keys": {SPEC: pools(1) + "".join(f"k{n}: 1\n" for n in range(3000))},
    "unknown keys of a pool": {SPEC: many("labels", "k{0}: v") + "\n    k: 1"},
    "wrong labels": {SPEC: many("labels", "_{0}-: 1")},
    "equal taints": {SPEC: many("taints", "- {{key: a, effect: NoSchedule}}")},
    "long keys": {SPEC: many("labels", "k" * 290 + "{0}: v")},
    "options of a component": {
        SPEC: pools(1)
        + "components:\n  prometheus:\n    selectorLabels:\n"
        + "".join(f"      _{n}: 1\n" for n in range(3000))
    },
    "unknown models": {SPEC: pools(500, model="z{0}")},
    "unknown models beside many known": {
        SPEC: pools(100, model="zzzz-model-{0}x"),
        "catalog/a.yaml": rows(f"zzzz-model-{{0}}: {MODEL}", 2000),
    },
    "wrong rows": {SPEC: pools(1), "catalog/a.yaml": rows("b{0}: {{foo: 1}}", 2000)},
    "unknown keys of a row": {
        SPEC: pools(1),
        "catalog/a.yaml": rows("  k{0}: 1", 3000, "gpus:\n  b"),
    },
    "layers that are not there": {SPEC: pools(1) + rows("- ../x{0}.yaml", 3000, "extends")},
    "layers of a layer": {
        SPEC: pools(1) + "extends: [../x.yaml]\n",
        "inventories/x.yaml": LAYER + rows("- ../y{0}.yaml", 3000, "extends"),
    },
    "many layers of many keys": {
        SPEC: pools(1) + rows("- ../x{0}.yaml", 60, "extends"),
        **{
            f"inventories/x{n}.yaml": LAYER + rows(f"k{n}-{{0}}: 1", 200, "labels")
            for n in range(60)
        },
    },
    "a huge spec": {SPEC: 300 << 20},
    "a huge layer": {SPEC: pools(1) + "extends: [../x.yaml]\n", "inventories/x.yaml": 300 << 20},
    "a huge catalogue": {SPEC: pools(1), "catalog/a.yaml": 300 << 20},
    "a huge key": {
        SPEC: pools(1).replace("hostDefaults:", f"hostDefaults:\n  {KEY}'}}"),
        "k.asc": 300 << 20,
    },
}


def put(root: Path, files: Files) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.touch()
            os.truncate(path, content)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_wrong_spec_is_refused_with_bounded_work(case: str, tmp_path: Path) -> None:
    put(tmp_path, CASES[case])
    done = bounded.run(["validate", "minimal"], tmp_path, most_calls=MOST_CALLS)
    assert done.returncode == 1, done.stderr[-3000:]
    assert case.startswith("a huge") or "[spec-" not in done.stderr  # no slip in the case itself
    assert done.stderr.count(": error [") in range(1, 203)
    assert "more" in done.stderr or done.stderr.count(": error [") < 101
    assert max(map(len, done.stderr.splitlines())) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("case", ["ranges of all pools", "one range on many lines", "wrong names"])
@pytest.mark.parametrize("command", ["validate", "render"])
def test_no_comparison_of_clusters_expands_them(case: str, command: str, tmp_path: Path) -> None:
    put(tmp_path, CASES[case])
    text = str(CASES[case][SPEC]).replace("name: minimal", "name: other")
    put(tmp_path, {"inventories/other/cluster.yaml": text})
    done = bounded.run([command], tmp_path, most_calls=2 * MOST_CALLS)
    assert done.returncode == 1, done.stderr[-3000:]


@pytest.mark.parametrize("size", [60 << 20, 300 << 20])
def test_a_huge_index_is_no_index(size: int, tmp_path: Path) -> None:
    put(tmp_path, {SPEC: pools(1), "out/minimal/.gpugen-index/cluster": size})
    done = bounded.run(["render", "--check"], tmp_path, most_calls=MOST_CALLS)
    assert done.returncode == 3, done.stderr[-3000:]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.parametrize("place", [SPEC, "inventories/x.yaml", "catalog/a.yaml", "k.asc"])
def test_what_is_no_file_is_not_read(
    place: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    spec = pools(1).replace("hostDefaults:", f"hostDefaults:\n  {KEY}'}}")
    put(tmp_path, {SPEC: spec + "extends: [../x.yaml]\n", "inventories/x.yaml": LAYER})
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).unlink(missing_ok=True)
    make(tmp_path / place)
    done = bounded.run(["validate", SPEC], tmp_path, most_calls=MOST_CALLS)
    assert done.returncode in (1, 2, 4), done.stderr[-3000:]


def test_alternatives_of_the_schema_exclude_one_another() -> None:
    """The first alternative that takes a value decides; no value may fit two of them."""
    from gpugen.validate.combined import combined_schema
    from gpugen.validate.keys import resolved

    def kinds(branch: object) -> set[str]:
        schema = resolved(branch, combined_schema())
        if "const" in schema:
            return {f"const {schema['const']}"}
        if "enum" in schema:
            return {f"const {one}" for one in schema["enum"]}
        found = schema.get("type", [])
        return {found} if isinstance(found, str) else set(found)

    def visit(value: object) -> None:
        if isinstance(value, dict):
            if "oneOf" in value:
                found = [kinds(branch) for branch in value["oneOf"]]
                assert all(found)
                assert sum(map(len, found)) == len(set().union(*found)), value["oneOf"]
            for inner in value.values():
                visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)

    visit(combined_schema())

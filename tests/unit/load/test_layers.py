"""Layers: order, merging, origin, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugen.load import Reader, load
from gpugen.model.finding import Pointer
from support.loading import loaded, write

LAYER = "apiVersion: gpugen/v1\nkind: Layer\n"
SPEC = "apiVersion: gpugen/v1\nkind: Cluster\nname: lab\n"


def merged(tmp_path: Path, **files: str) -> dict[str, object]:
    """Load cluster.yaml beside the given layers; return its data without what says what it is."""
    texts = {f"{name}.yaml": LAYER + text for name, text in files.items() if name != "cluster"}
    write(tmp_path, texts | {"cluster.yaml": SPEC + files["cluster"]})
    data = loaded(tmp_path / "cluster.yaml", tmp_path).data
    assert (data["kind"], data["name"], data["apiVersion"]) == ("Cluster", "lab", "gpugen/v1")
    assert "extends" not in data
    return {k: v for k, v in data.items() if k not in ("kind", "name", "apiVersion")}


def test_maps_merge_deep_and_the_spec_wins(tmp_path: Path) -> None:
    assert merged(
        tmp_path,
        a="x: {one: 1, two: {p: 1, q: 1}}\nw: 1\n",
        b="x: {two: {q: 2}}\nw: 2\n",
        cluster="extends: [a.yaml, b.yaml]\nx: {three: 3}\n",
    ) == {"x": {"one": 1, "two": {"p": 1, "q": 2}, "three": 3}, "w": 2}


def test_named_lists_merge_by_name_in_the_order_of_first_sight(tmp_path: Path) -> None:
    assert merged(
        tmp_path,
        a="pools: [{name: p, count: 1, gpu: {model: t4}}, {name: q, count: 2}]\n",
        cluster="extends: [a.yaml]\npools: [{name: r}, {name: p, gpu: {count: 3}}]\n",
    ) == {
        "pools": [
            {"name": "p", "count": 1, "gpu": {"model": "t4", "count": 3}},
            {"name": "q", "count": 2},
            {"name": "r"},
        ]
    }


@pytest.mark.parametrize(
    ("below", "above"),
    [
        ("[1, 2]", "[3]"),
        ("[{name: p, a: 1}]", "[]"),
        ("[{name: p, a: 1}]", "[{name: p}, x]"),
        ("[{name: p, a: 1}]", "[{name: p}, {name: p}]"),
        ("[{name: p, a: 1}, {name: p}]", "[{name: p}]"),
        ("[{name: p, a: 1}]", "[{name: 5}]"),
        ("[{name: p, a: 1}]", "[{key: p}]"),
        ("[{name: p, a: 1}]", "{name: p}"),
        ("{a: 1}", "null"),
        ("{a: 1}", "[1]"),
        ("{a: 1}", "text"),
        ("null", "{a: 1}"),
        ("false", "{a: 1}"),
    ],
)
def test_everything_else_is_replaced(tmp_path: Path, below: str, above: str) -> None:
    with_layer = merged(tmp_path, a=f"x: {below}\n", cluster=f"extends: [a.yaml]\nx: {above}\n")
    assert with_layer == merged(tmp_path / "alone", cluster=f"x: {above}\n")


def test_a_replaced_value_does_not_shine_through(tmp_path: Path) -> None:
    assert merged(
        tmp_path,
        a="x: {one: 1}\n",
        b="x: text\n",
        cluster="extends: [a.yaml, b.yaml]\nx: {two: 2}\n",
    ) == {"x": {"two": 2}}


def test_a_layer_that_is_reached_twice_keeps_its_lowest_place(tmp_path: Path) -> None:
    assert merged(
        tmp_path,
        base="x: 1\nw: 1\nz: 1\n",
        left="extends: [base.yaml]\nw: 2\n",
        right="extends: [base.yaml]\nz: 3\n",
        cluster="extends: [left.yaml, right.yaml]\n",
    ) == {"x": 1, "w": 2, "z": 3}


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "inventories/lab/cluster.yaml": SPEC + "extends: [../_layers/site.yaml]\n",
            "inventories/_layers/site.yaml": LAYER + "extends: [parts/common.yaml]\nx: 1\n",
            "inventories/_layers/parts/common.yaml": LAYER + "w: 2\n",
        },
    )
    document = loaded(root / "inventories/lab/cluster.yaml", root)
    names = [source.relative_to(root).as_posix() for source in document.sources]
    assert names == [
        "inventories/_layers/parts/common.yaml",
        "inventories/_layers/site.yaml",
        "inventories/lab/cluster.yaml",
    ]
    assert (document.data["x"], document.data["w"]) == (1, 2)


def test_origin_and_history(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a.yaml": LAYER + "x: {one: 1, two: 2}\npools:\n  - {name: p, count: 1}\n",
            "b.yaml": LAYER + "x: {one: 3}\n",
            "cluster.yaml": SPEC
            + "extends: [a.yaml, b.yaml]\npools:\n  - name: q\n  - name: p\n    host: h\n",
        },
    )
    document = loaded(root / "cluster.yaml", root)

    def origins(pointer: str) -> list[tuple[str, int, object]]:
        return [
            (Path(origin.location.path).name, origin.location.line, origin.value)
            for origin in document.history(Pointer(pointer))
        ]

    def winner(pointer: str) -> tuple[str, int]:
        at = document.locate(Pointer(pointer))
        return Path(at.path).name, at.line

    assert origins("/x/one") == [("a.yaml", 3, 1), ("b.yaml", 3, 3)]
    assert origins("/x/two") == [("a.yaml", 3, 2)]
    assert origins("/kind") == [("cluster.yaml", 2, "Cluster")]
    assert origins("/extends") == []
    assert [pool["name"] for pool in document.data["pools"]] == ["p", "q"]
    assert origins("/pools/0/count") == [("a.yaml", 5, 1)]
    assert origins("/pools/0/host") == [("cluster.yaml", 8, "h")]
    assert origins("/pools/0/name") == [("a.yaml", 5, "p"), ("cluster.yaml", 7, "p")]
    assert origins("/pools/1/name") == [("cluster.yaml", 6, "q")]
    assert winner("/x/two") == ("a.yaml", 3)
    assert winner("/x/three") == ("b.yaml", 3)
    assert winner("/pools/0/count") == ("a.yaml", 5)
    assert winner("/pools/0/nothing") == ("cluster.yaml", 7)


def test_history_ends_where_a_file_replaces_what_is_below(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a.yaml": LAYER + "x: {one: 1}\n",
            "b.yaml": LAYER + "x: text\n",
            "cluster.yaml": SPEC + "extends: [a.yaml, b.yaml]\nx: {one: 2}\n",
        },
    )
    document = loaded(root / "cluster.yaml", root)
    assert [origin.value for origin in document.history(Pointer("/x"))] == [
        {"one": 1},
        "text",
        {"one": 2},
    ]
    assert [origin.value for origin in document.history(Pointer("/x/one"))] == [2]


def faults(root: Path, name: str = "cluster.yaml") -> list[str]:
    """Load a spec that is wrong; return what is said, as file:line:column id."""
    _, findings = load(root / name, root)
    spoken = []
    for finding in findings:
        assert finding.location is not None
        at = finding.location
        spoken.append(f"{Path(at.path).name}:{at.line}:{at.column} {finding.id}")
    return spoken


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("x: 1\n", ["a.yaml:1:1 layer-kind", "a.yaml:1:1 layer-api-version"]),
        ("apiVersion: gpugen/v1\nkind: Cluster\n", ["a.yaml:2:7 layer-kind"]),
        ("apiVersion: v2\nkind: Layer\n", ["a.yaml:1:13 layer-api-version"]),
        (LAYER + "name: lab\n", ["a.yaml:3:7 layer-name"]),
        (
            LAYER + "x: 1.5\nz: NO\n",
            ["a.yaml:3:4 spec-bare-float", "a.yaml:4:4 spec-ambiguous-scalar"],
        ),
        (LAYER + "extends: [a.yaml]\n", ["a.yaml:3:11 extends-cycle"]),
        (LAYER + "extends: [cluster.yaml]\n", ["a.yaml:3:11 extends-cycle"]),
        (LAYER + "extends: [../x.yaml]\n", ["a.yaml:3:11 extends-outside"]),
        ("", ["a.yaml:1:1 spec-empty"]),
        ("\tx", ["a.yaml:1:1 spec-tab"]),
    ],
)
def test_errors_of_layers_name_their_file(tmp_path: Path, layer: str, said: list[str]) -> None:
    root = write(tmp_path, {"a.yaml": layer, "cluster.yaml": SPEC + "extends: [a.yaml]\n"})
    assert faults(root) == said


def test_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a.yaml": LAYER + "x: 1.5\n",
            "b.yaml": LAYER + "name: b\nextends: [none.yaml]\n",
            "cluster.yaml": SPEC + "extends: [a.yaml, b.yaml, b.yaml, missing.yaml]\n",
        },
    )
    assert faults(root) == [
        "a.yaml:3:4 spec-bare-float",
        "b.yaml:3:7 layer-name",
        "b.yaml:4:11 extends-missing",
        "cluster.yaml:4:27 extends-repeated",
        "cluster.yaml:4:35 extends-missing",
    ]


def test_a_long_circle(tmp_path: Path) -> None:
    layers = {f"l{n}.yaml": LAYER + f"extends: [l{(n + 1) % 9}.yaml]\n" for n in range(9)}
    root = write(tmp_path, layers | {"cluster.yaml": SPEC + "extends: [l0.yaml]\n"})
    assert faults(root) == ["l8.yaml:3:11 extends-cycle"]


def test_too_many_layers(tmp_path: Path) -> None:
    layers = {f"l{n}.yaml": LAYER + f"extends: [l{n + 1}.yaml]\n" for n in range(150)}
    layers["l150.yaml"] = LAYER
    root = write(tmp_path, layers | {"cluster.yaml": SPEC + "extends: [l0.yaml]\n"})
    assert faults(root) == ["l99.yaml:3:11 extends-too-many"]


def test_layers_that_double_at_each_step_are_read_once(tmp_path: Path) -> None:
    layers = {
        f"{side}{n}.yaml": LAYER + f"extends: [l{n + 1}.yaml, r{n + 1}.yaml]\nx: {side}{n}\n"
        for n in range(40)
        for side in "lr"
    }
    ends = {"l40.yaml": LAYER, "r40.yaml": LAYER}
    spec = {"cluster.yaml": SPEC + "extends: [l0.yaml, r0.yaml]\n"}
    root = write(tmp_path, layers | ends | spec)
    assert loaded(root / "cluster.yaml", root).data["x"] == "r0"


@pytest.mark.parametrize("level", ["file", "folder"])
def test_links_out_of_the_repository_are_refused(tmp_path: Path, level: str) -> None:
    root = write(tmp_path / "repository", {"cluster.yaml": SPEC + "extends: [in/a.yaml]\n"})
    write(tmp_path / "outside", {"a.yaml": LAYER})
    if level == "folder":
        (root / "in").symlink_to(tmp_path / "outside")
    else:
        (root / "in").mkdir()
        (root / "in/a.yaml").symlink_to(tmp_path / "outside/a.yaml")
    assert faults(root) == ["cluster.yaml:4:11 extends-outside"]


def test_links_inside_of_the_repository_are_followed(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"real.yaml": LAYER + "x: 1\n", "cluster.yaml": SPEC + "extends: [a.yaml]\n"}
    )
    (root / "a.yaml").symlink_to("real.yaml")
    assert loaded(root / "cluster.yaml", root).data["x"] == 1


def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    root = write(tmp_path, {"cluster.yaml": SPEC + "extends: [a.yaml]\n"})
    (root / "a.yaml").symlink_to("a.yaml")
    assert faults(root) == ["cluster.yaml:4:11 extends-missing"]


def test_the_boundary_may_be_a_subfolder(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"site.yaml": LAYER, "lab/cluster.yaml": SPEC + "extends: [../site.yaml]\n"}
    )
    document, findings = load(root / "lab/cluster.yaml", root / "lab")
    assert document is None
    assert [finding.id for finding in findings] == ["extends-outside"]


def test_a_shared_layer_is_read_once(tmp_path: Path) -> None:
    specs = {f"c{n}.yaml": SPEC + "extends: [a.yaml]\n" for n in range(3)}
    root = write(tmp_path, specs | {"a.yaml": LAYER + "x: {z: [1, 2]}\n"})
    reader = Reader()
    found = [load(root / name, root, reader)[0] for name in specs]
    shared = [document.data["x"] for document in found if document]
    assert len({id(value) for value in shared}) == 1
    assert shared[0] == {"z": [1, 2]}


def test_values_of_layers_are_not_changed_by_merging(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a.yaml": LAYER + "x: {w: {z: 1}}\n",
            "one.yaml": SPEC + "extends: [a.yaml]\nx: {w: {v: 2}}\n",
            "two.yaml": SPEC + "extends: [a.yaml]\n",
        },
    )
    reader = Reader()
    load(root / "one.yaml", root, reader)
    document, _ = load(root / "two.yaml", root, reader)
    assert document is not None
    assert document.data["x"] == {"w": {"z": 1}}


def test_a_cluster_is_no_layer(tmp_path: Path) -> None:
    other = SPEC + "pools: []\n"
    write(tmp_path, {"other.yaml": other, "cluster.yaml": SPEC + "extends: [other.yaml]\n"})
    assert faults(tmp_path) == ["cluster.yaml:4:11 extends-cluster"]


@pytest.mark.parametrize("text", ["site", "sites.yaml", "site.yml", "layers/site.yaml"])
def test_a_layer_that_is_near_is_named(tmp_path: Path, text: str) -> None:
    spec = "inventories/lab/cluster.yaml"
    layer = "inventories/_layers/site.yaml"
    write(tmp_path, {layer: LAYER, spec: SPEC + f"extends: [{text}]\n"})
    _, (finding,) = load(tmp_path / spec, tmp_path)
    assert finding.hint.startswith("did you mean ../_layers/site.yaml? ")


def test_a_spec_that_is_a_link_out_of_the_repository_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2: [\n", encoding="utf-8")
    folder = tmp_path / "root" / "inventories" / "lab"
    folder.mkdir(parents=True)
    (folder / "cluster.yaml").symlink_to(secret)
    reader = Reader()
    document, (found,) = load(folder / "cluster.yaml", tmp_path / "root", reader)
    assert (document, found.id) == (None, "spec-outside")
    assert "hunter2" not in f"{found}"
    with pytest.raises(KeyError):  # nothing of it was read
        reader.content(folder / "cluster.yaml")


def test_files_that_are_too_large_together(tmp_path: Path) -> None:
    comment = "# " + "x" * (9 << 20) + "\n"
    layers = {f"{name}.yaml": LAYER + comment for name in ("a", "b")}
    write(tmp_path, layers | {"cluster.yaml": SPEC + "extends: [a.yaml, b.yaml]\n"})
    _, found = load(tmp_path / "cluster.yaml", tmp_path)
    assert [f.id for f in found] == ["extends-too-large"]


def test_a_layer_of_a_newer_format(tmp_path: Path) -> None:
    newer = LAYER.replace("v1", "v2")
    write(tmp_path, {"a.yaml": newer, "cluster.yaml": SPEC + "extends: [a.yaml]\n"})
    _, (found,) = load(tmp_path / "cluster.yaml", tmp_path)
    assert found.id == "layer-too-new"
    assert "newer than any that gpugen" in found.message

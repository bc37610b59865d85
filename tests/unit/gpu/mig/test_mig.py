"""What fits on a GPU: test vectors, refusals, nearest layouts."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gpugen.catalog import Catalog
from gpugen.gpu import mig
from gpugen.gpu.mig import Instance, Placement, Refusal, RefusalCode
from gpugen.model.catalog import MigGeometry
from support import TESTS

DATA = TESTS / "data"
VECTORS = yaml.safe_load((DATA / "mig-vectors.yaml").read_text("utf-8"))
NAMED = yaml.safe_load((DATA / "mig-named-configs.yaml").read_text("utf-8"))["configs"]
CATALOG = Catalog()
GEOMETRIES = {name: CATALOG.geometry(name) for name in CATALOG.ids("migGeometries")}
VALID = [(g, layout) for g, sets in VECTORS["geometries"].items() for layout in sets["valid"]]
INVALID = [(g, case) for g, sets in VECTORS["geometries"].items() for case in sets["invalid"]]


def is_sound(geometry: MigGeometry, layout: dict[str, int], placement: Placement) -> bool:
    """Tell whether a placement holds exactly a layout: allowed starts, nothing twice."""
    units: list[int] = []
    names: list[str] = []
    for instance in placement.instances:
        profile = geometry.profiles[instance.profile]
        if instance.start not in profile.starts or instance.size != profile.size:
            return False
        units += range(instance.start, instance.start + instance.size)
        names.append(instance.profile)
    inside = all(0 <= unit < geometry.placement_units for unit in units)
    wanted = sorted(name for name, count in layout.items() for _ in range(count))
    return inside and len(set(units)) == len(units) and sorted(names) == wanted


def test_there_are_vectors_for_every_geometry() -> None:
    assert set(VECTORS["geometries"]) == set(GEOMETRIES)
    assert len(VALID) + len(INVALID) == 482


@pytest.mark.parametrize(("id", "layout"), VALID)
def test_layouts_that_fit_have_a_sound_placement(id: str, layout: dict[str, int]) -> None:
    placement = mig.fit(GEOMETRIES[id], layout)
    assert isinstance(placement, Placement)
    assert is_sound(GEOMETRIES[id], layout, placement)


@pytest.mark.parametrize(("id", "case"), INVALID)
def test_layouts_that_do_not_fit_say_which_rule_they_break(id: str, case: dict[str, Any]) -> None:
    refusal = mig.fit(GEOMETRIES[id], case["set"])
    assert isinstance(refusal, Refusal)
    assert refusal.code == case["code"]


@pytest.mark.parametrize("id", GEOMETRIES)
def test_the_number_of_layouts_is_that_of_the_reference(id: str) -> None:
    layouts = list(mig.layouts(GEOMETRIES[id]))
    assert len(layouts) == len({tuple(sorted(layout.items())) for layout in layouts})
    assert len(layouts) == VECTORS["setCounts"][id]


@pytest.mark.parametrize(("config", "entry"), [(n, e) for n, es in NAMED.items() for e in es])
def test_named_configurations_fit_where_upstream_uses_them(config: str, entry: Any) -> None:
    fitting = {
        name for name, g in GEOMETRIES.items() if isinstance(mig.fit(g, entry["set"]), Placement)
    }
    assert set(entry["fits"]) <= fitting if "filter" in entry else set(entry["fits"]) == fitting
    for model in (CATALOG.gpu(model) for model in CATALOG.gpu_ids()):
        if model.geometry and set(model.mig_filters) & set(entry.get("filter", ())):
            assert model.geometry.id in entry["fits"]


@pytest.mark.parametrize(
    ("id", "layout", "code", "message"),
    [
        (
            "a100-40gb",
            {"3g.20gb": 2, "1g.5gb": 1},
            RefusalCode.MEMORY_SLICES,
            "needs 9 memory slices, the GPU has 8 (its 7 compute slices would fit)",
        ),
        (
            "a100-40gb",
            {"4g.20gb": 2},
            RefusalCode.MAX_INSTANCES,
            "2 x 4g.20gb, but at most 1 fit on one GPU",
        ),
        (
            "a100-40gb",
            {"7g.40gb": 1, "1g.5gb": 1},
            RefusalCode.COMPUTE_SLICES,
            "needs 8 compute slices, the GPU has 7",
        ),
        (
            "a30",
            {"1g.6gb+me": 1, "2g.12gb+me": 1},
            RefusalCode.ENGINE,
            "needs 2 jpeg engines, the GPU has 1",
        ),
        (
            "a100-40gb",
            {"1g.5gb.me": 1},
            RefusalCode.UNKNOWN_PROFILE,
            "1g.5gb.me is not a MIG profile of this GPU model; write 1g.5gb+me",
        ),
        (
            "a100-40gb",
            {"7c.7g.40gb": 1},
            RefusalCode.UNKNOWN_PROFILE,
            "7c.7g.40gb is not a MIG profile of this GPU model; write 7g.40gb",
        ),
        (
            "a30",
            {"1g.5gb": 1},
            RefusalCode.UNKNOWN_PROFILE,
            "1g.5gb is not a MIG profile of this GPU model, which has "
            "1g.6gb, 1g.6gb+me, 2g.12gb, 2g.12gb+me, 4g.24gb",
        ),
    ],
)
def test_a_refusal_names_the_numbers(
    id: str, layout: dict[str, int], code: RefusalCode, message: str
) -> None:
    refusal = mig.fit(GEOMETRIES[id], layout)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.message) == (code, message)


def test_larger_instances_are_placed_first() -> None:
    placement = mig.fit(GEOMETRIES["a100-40gb"], {"1g.5gb": 4, "3g.20gb": 1})
    assert placement == Placement(
        (
            Instance("3g.20gb", 4, 4),
            Instance("1g.5gb", 0, 1),
            Instance("1g.5gb", 1, 1),
            Instance("1g.5gb", 2, 1),
            Instance("1g.5gb", 3, 1),
        )
    )


def test_an_empty_layout_needs_no_place() -> None:
    assert mig.fit(GEOMETRIES["a30"], {}) == Placement(())


@pytest.mark.parametrize("count", [0, -1])
def test_a_count_below_one_is_a_mistake_of_the_caller(count: int) -> None:
    with pytest.raises(ValueError, match="a count must be at least 1"):
        mig.fit(GEOMETRIES["a30"], {"1g.6gb": count})


@pytest.mark.parametrize(
    ("layout", "instances"),
    [
        ({"1c.3g.20gb": 6}, {"3g.20gb": 2}),
        ({"1c.3g.20gb": 1, "2c.3g.20gb": 1}, {"3g.20gb": 1}),
        ({"2c.3g.20gb": 2}, {"3g.20gb": 2}),
        ({"3g.20gb": 1, "1c.3g.20gb": 1}, {"3g.20gb": 2}),
    ],
)
def test_compute_instances_share_gpu_instances(
    layout: dict[str, int], instances: dict[str, int]
) -> None:
    assert mig.gpu_instances(GEOMETRIES["a100-40gb"], layout) == instances


@pytest.mark.parametrize("name", ["3c.4g.20gb", "5c.7g.40gb", "1c.3g.40gb"])
def test_compute_instances_that_no_model_has_are_unknown(name: str) -> None:
    refusal = mig.fit(GEOMETRIES["a100-40gb"], {name: 1})
    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.UNKNOWN_PROFILE


def test_a_maximal_layout_takes_nothing_more() -> None:
    geometry = GEOMETRIES["a100-40gb"]
    maximal = mig.maximal_layouts(geometry)
    assert {"3g.20gb": 2} in maximal
    assert {"1g.5gb": 7} in maximal
    assert not mig.is_maximal(geometry, {"1g.5gb": 6})
    assert all(mig.is_maximal(geometry, layout) for layout in maximal)


@pytest.mark.parametrize(
    ("id", "asked", "best"),
    [
        ("a100-40gb", {"3g.20gb": 2, "1g.5gb": 1}, {"3g.20gb": 2}),
        ("a100-40gb", {"1g.5gb": 8}, {"1g.5gb": 7}),
        ("a100-40gb", {"2g.10gb": 4}, {"1g.10gb": 1, "2g.10gb": 3}),
        ("a100-40gb", {"7g.40gb": 1, "1g.5gb": 1}, {"7g.40gb": 1}),
        ("a100-40gb", {"1g.5gb": 6, "1g.5gb.me": 1}, {"1g.5gb": 6, "1g.5gb+me": 1}),
        ("a100-80gb", {"1g.5gb": 7}, {"1g.10gb": 7}),
        ("a100-80gb", {"3g.20gb": 1, "2g.10gb": 2}, {"3g.40gb": 1, "2g.20gb": 2}),
        ("a30", {"3g.20gb": 1}, {"4g.24gb": 1}),
        ("a30", {"7g.40gb": 1}, {"4g.24gb": 1}),
        ("a100-40gb", {"1c.3g.20gb": 7}, {"3g.20gb": 2}),
    ],
)
def test_the_nearest_layout_keeps_what_was_asked(
    id: str, asked: dict[str, int], best: dict[str, int]
) -> None:
    assert mig.nearest(GEOMETRIES[id], asked)[0] == best


def test_nearest_layouts_do_not_repeat_each_other_with_less() -> None:
    found = mig.nearest(GEOMETRIES["a100-40gb"], {"3g.20gb": 2, "1g.5gb": 1}, limit=5)
    for index, layout in enumerate(found):
        for better in found[:index]:
            assert any(count > better.get(name, 0) for name, count in layout.items())


def test_nothing_is_near_to_nonsense() -> None:
    assert mig.nearest(GEOMETRIES["a30"], {"nonsense": 1}) == []

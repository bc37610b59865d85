"""The placement search beside a search that is written differently, and promises of ``nearest``."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from gpugen.catalog import Catalog
from gpugen.gpu import mig
from gpugen.gpu.mig import Placement, Refusal, RefusalCode
from gpugen.model.catalog import MigGeometry, MigProfile

CATALOG = Catalog()
PROFILES = {p for g in CATALOG.ids("migGeometries") for p in CATALOG.geometry(g).profiles}
GEOMETRIES = [CATALOG.geometry(name) for name in CATALOG.ids("migGeometries")]


@cache
def reachable(id: str) -> frozenset[tuple[tuple[str, int], ...]]:
    """List all layouts by filling the units of an empty GPU from left to right.

    At every unit either nothing begins, or one instance does that may begin there. Limits of
    instances, slices and engines are applied to the results only.
    """
    return everything(CATALOG.geometry(id))


def everything(geometry: MigGeometry) -> frozenset[tuple[tuple[str, int], ...]]:
    layouts: set[tuple[tuple[str, int], ...]] = set()
    frontier = {(0, ())}
    while frontier:
        unit, names = frontier.pop()
        if unit >= geometry.placement_units:
            if unit == geometry.placement_units and is_within_limits(geometry, Counter(names)):
                layouts.add(tuple(sorted(Counter(names).items())))
            continue
        frontier.add((unit + 1, names))
        for name, profile in geometry.profiles.items():
            if unit in profile.starts:
                frontier.add((unit + profile.size, tuple(sorted((*names, name)))))
    return frozenset(layouts)


def is_within_limits(geometry: MigGeometry, counts: Counter[str]) -> bool:
    rows = geometry.profiles
    engines: Counter[str] = Counter()
    for name in counts.elements():
        engines.update(rows[name].engines)
    return (
        all(count <= rows[name].max_count for name, count in counts.items())
        and sum(rows[name].compute for name in counts.elements()) <= geometry.compute_slices
        and sum(rows[name].memory_slices for name in counts.elements()) <= geometry.memory_slices
        and all(engines[engine] <= budget for engine, budget in geometry.engine_budget.items())
    )


geometries = st.sampled_from(GEOMETRIES)


@st.composite
def questions(draw: st.DrawFn) -> tuple[MigGeometry, dict[str, int]]:
    geometry = draw(geometries)
    names = st.sampled_from(list(geometry.profiles))
    return geometry, draw(st.dictionaries(names, st.integers(1, 8), max_size=4))


@st.composite
def odd_geometries(draw: st.DrawFn) -> MigGeometry:
    """GPUs that nobody builds, on which sums and placements disagree."""
    units = draw(st.integers(2, 7))
    profiles = {}
    for index in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, units))
        starts = draw(st.sets(st.integers(0, units - size), min_size=1))
        slices = index + 1
        name = f"{slices}g.{size}gb"
        profiles[name] = MigProfile(
            name=name,
            compute=slices,
            memory_slices=draw(st.integers(1, size)),
            size=size,
            starts=tuple(sorted(starts)),
            max_count=draw(st.integers(1, 4)),
            engines={"nvdec": draw(st.integers(0, 2))},
            memory_mib=None,
            multiprocessors=None,
        )
    return MigGeometry(
        id="odd",
        compute_slices=draw(st.integers(1, 9)),
        memory_slices=units,
        placement_units=units,
        engine_budget={"nvdec": draw(st.integers(1, 4))},
        profiles=profiles,
        min_driver="",
        confidence="low",
        source=("made up",),
    )


@given(questions())
def test_fit_agrees_with_filling_from_left_to_right(
    question: tuple[MigGeometry, dict[str, int]],
) -> None:
    geometry, layout = question
    fits = isinstance(mig.fit(geometry, layout), Placement)
    assert fits == (tuple(sorted(layout.items())) in reachable(geometry.id))


@settings(max_examples=60)
@given(odd_geometries(), st.data())
def test_fit_is_exact_on_gpus_where_sums_mislead(
    geometry: MigGeometry, data: st.DataObject
) -> None:
    possible = everything(geometry)
    counts = [range(profile.max_count + 1) for profile in geometry.profiles.values()]
    for chosen in product(*counts):
        layout = {n: c for n, c in zip(geometry.profiles, chosen, strict=True) if c}
        answer = mig.fit(geometry, layout)
        assert isinstance(answer, Placement) == (tuple(sorted(layout.items())) in possible)
        if isinstance(answer, Refusal) and answer.code is RefusalCode.PLACEMENT:
            assert is_within_limits(geometry, Counter(layout))


@given(questions())
def test_a_witness_overlaps_nowhere(question: tuple[MigGeometry, dict[str, int]]) -> None:
    geometry, layout = question
    answer = mig.fit(geometry, layout)
    if isinstance(answer, Placement):
        taken = [u for i in answer.instances for u in range(i.start, i.start + i.size)]
        assert len(taken) == len(set(taken))
        assert Counter(i.profile for i in answer.instances) == Counter(layout)


def test_layouts_lists_exactly_what_is_reachable() -> None:
    for geometry in GEOMETRIES:
        listed = {tuple(sorted(layout.items())) for layout in mig.layouts(geometry)}
        assert listed == reachable(geometry.id) - {()}


@given(questions(), st.integers(1, 6))
def test_nearest_layouts_fit_and_are_the_same_every_time(
    question: tuple[MigGeometry, dict[str, int]], limit: int
) -> None:
    geometry, asked = question
    found = mig.nearest(geometry, asked, limit)
    assert found == mig.nearest(geometry, dict(reversed(asked.items())), limit)
    assert len(found) <= limit
    assert all(isinstance(mig.fit(geometry, layout), Placement) for layout in found)
    if asked:
        assert found
        if isinstance(mig.fit(geometry, asked), Placement):
            assert Counter(found[0]) == Counter(asked)


@given(questions())
def test_no_layout_that_fits_keeps_more_than_the_nearest(
    question: tuple[MigGeometry, dict[str, int]],
) -> None:
    geometry, asked = question
    if not asked:
        return
    wanted = Counter(asked)
    kept = (Counter(mig.nearest(geometry, asked, 1)[0]) & wanted).total()
    assert kept == max(
        (Counter(dict(layout)) & wanted).total() for layout in reachable(geometry.id)
    )


@given(st.one_of(st.text(max_size=20), st.from_regex(r"[0-9c.]{0,3}[0-9]g\.[0-9]gb([+-].{0,6})?")))
def test_any_text_is_a_profile_or_an_explained_error(text: str) -> None:
    try:
        name = str(mig.parse_profile(text))
    except ValueError as error:
        assert text not in PROFILES
        name = str(error)
    assert name == text or repr(text) in name or name == text.partition("c.")[2]

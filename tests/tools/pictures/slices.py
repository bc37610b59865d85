"""One GPU and its slices: a MIG layout that fits, and one that does not, by the catalogue."""

from __future__ import annotations

from gpugen.catalog import Catalog
from gpugen.gpu import mig
from gpugen.model.catalog import MigGeometry
from tools.pictures.svg import Sheet

MODEL = "h100-sxm5-80gb"
FITS = {"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}
FAILS = {"3g.40gb": 2, "1g.10gb": 1}
SLICE, LEFT = 76, 190
COLOURS = {"3g.40gb": "blue", "2g.20gb": "violet", "1g.10gb": "green"}


def draw() -> str:
    """Return the picture."""
    geometry = Catalog().gpu(MODEL).geometry
    assert geometry is not None
    compute, memory = geometry.compute_slices, geometry.memory_slices
    sheet = Sheet(
        840,
        470,
        f"MIG layouts of one {MODEL}",
        f"The GPU has {compute} compute slices and {memory} memory slices. {mig.spelled(FITS)}"
        f" fits; {mig.spelled(FAILS)} needs one memory slice more than there is.",
    )
    heading = f"One H100 80GB: {compute} compute slices, {memory} memory slices"
    sheet.text(20, 32, heading, "ink title")
    _panel(sheet, 62, geometry, FITS)
    _panel(sheet, 262, geometry, FAILS)
    return sheet.svg()


def _panel(sheet: Sheet, top: float, geometry: MigGeometry, layout: dict[str, int]) -> None:
    """Draw a layout: its instances over the slices, and what finds no place."""
    placed, left_over = _largest_part(geometry, layout)
    sheet.text(20, top + 4, f"{{{', '.join(f'{k}: {v}' for k, v in layout.items())}}}", "ink mono")
    verdict = ("fits", "good strong") if not left_over else ("does not fit", "bad strong")
    sheet.text(LEFT + 240, top + 4, *verdict)
    rows = (("compute slices", geometry.compute_slices), ("memory slices", geometry.memory_slices))
    for row, (name, count) in enumerate(rows):
        y = top + 22 + row * 46
        sheet.text(20, y + 23, name, "dim")
        for index in range(count):
            sheet.box(LEFT + index * SLICE, y, SLICE - 4, 36, "free")
    used = [0, 0]
    for instance in placed.instances:
        profile = geometry.profiles[instance.profile]
        sizes = (profile.compute, profile.memory_slices)
        for row, size in enumerate(sizes):
            x, y = LEFT + instance.start * SLICE, top + 22 + row * 46
            sheet.box(x, y, size * SLICE - 4, 36, COLOURS[instance.profile])
            sheet.text(x + size * SLICE / 2 - 2, y + 23, instance.profile, "ink small middle")
            used[row] += size
    _explain(sheet, top + 138, geometry, used, left_over)


def _largest_part(
    geometry: MigGeometry, layout: dict[str, int]
) -> tuple[mig.Placement, dict[str, int]]:
    """Place a layout; where it does not fit, without its smallest profile, which is returned."""
    answer = mig.fit(geometry, layout)
    if isinstance(answer, mig.Placement):
        return answer, {}
    smallest = min(layout, key=lambda name: geometry.profiles[name].memory_slices)
    rest = {name: count for name, count in layout.items() if name != smallest}
    answer = mig.fit(geometry, rest)
    assert isinstance(answer, mig.Placement)
    return answer, {smallest: layout[smallest]}


def _explain(
    sheet: Sheet, y: float, geometry: MigGeometry, used: list[int], left_over: dict[str, int]
) -> None:
    """Say what is in use, and draw the instances that find no place."""
    compute, memory = geometry.compute_slices, geometry.memory_slices
    in_use = f"{used[0]} of {compute} compute slices and {used[1]} of {memory} memory slices in use"
    sheet.text(LEFT, y, in_use, "dim")
    for name, count in left_over.items():
        need = geometry.profiles[name]
        sheet.box(LEFT, y + 14, SLICE - 4, 36, "red")
        sheet.text(LEFT + SLICE / 2 - 2, y + 37, name, "ink small middle")
        free = compute - used[0]
        total = used[1] + need.memory_slices * count
        words = f"{free} compute slice is free, but no memory slice: {total} needed, {memory} exist"
        sheet.text(LEFT + SLICE + 8, y + 37, words, "bad")

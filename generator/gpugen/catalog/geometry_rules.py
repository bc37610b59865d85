"""What a MIG geometry must not say, although each of its values alone is in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from gpugen.model.mig_profile import meant_profile, memory_gb

Row: TypeAlias = Mapping[str, Any]
Contradiction: TypeAlias = tuple[tuple[str | int, ...], str]  # where in the row, what

MOST_UNITS = 16  # of placement, compute or memory; every GPU of the catalogue has at most 12


def contradictions(row: Row) -> Iterator[Contradiction]:
    """Yield where a geometry contradicts itself, or goes beyond what any GPU has."""
    for key in ("placementUnits", "computeSlices", "memorySlices"):
        if row[key] > MOST_UNITS:
            yield (key,), f"{row[key]} are more than any GPU has; {MOST_UNITS} are the most"
            return
    for name, profile in row["profiles"].items():
        for inner, message in _of_profile(row, name, profile):
            yield ("profiles", name, *inner), message
    for model, figures in row.get("figuresByBoard", {}).items():
        for name in figures:
            if name not in row["profiles"]:
                yield ("figuresByBoard", model, name), f"{name} is not among the profiles"


def _of_profile(row: Row, name: str, profile: Row) -> Iterator[Contradiction]:
    yield from _of_slices(row, name, profile)
    yield from _of_memory(row, name, profile)
    for index, start in enumerate(profile["starts"]):
        end = start + profile["size"]
        if end > row["placementUnits"]:
            message = f"from {start} it would reach unit {end} of {row['placementUnits']}"
            yield ("starts", index), message
    for index, compute in enumerate(profile.get("computeInstances", ())):
        if compute > profile["compute"]:
            message = f"an instance of {profile['compute']} compute slices cannot hold {compute}"
            yield ("computeInstances", index), message


def _of_memory(row: Row, name: str, profile: Row) -> Iterator[Contradiction]:
    """Yield where the programs, which make names up from memory, would use another name."""
    memory, total = profile.get("memoryMib"), row.get("nvmlTotalMib")
    meant = meant_profile(name)
    if not (memory and total and meant) or memory_gb(memory, total) == meant.gb:
        return
    text = f"of {total} MiB this is {memory_gb(memory, total)}gb to the programs, not {meant.gb}gb"
    yield ("memoryMib",), text


def _of_slices(row: Row, name: str, profile: Row) -> Iterator[Contradiction]:
    slices, _, _ = name.partition("g.")
    if int(slices) != profile["compute"]:
        yield ("compute",), f"{name} has {slices} compute slices by its name, not this many"
    if profile["compute"] > row["computeSlices"]:
        yield ("compute",), f"the GPU has only {row['computeSlices']} compute slices"
    if profile["memorySlices"] > row["memorySlices"]:
        yield ("memorySlices",), f"the GPU has only {row['memorySlices']} memory slices"
    for engine, count in profile.get("engines", {}).items():
        budget = row.get("engineBudget", {}).get(engine)
        if budget is None:
            yield ("engines", engine), f"engineBudget does not say how many {engine} the GPU has"
        elif count > budget:
            yield ("engines", engine), f"the GPU has only {budget} {engine}"

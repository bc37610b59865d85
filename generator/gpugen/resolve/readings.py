"""Resolves all readings of a spec: what it may mean besides, where names are unknown as well."""

from __future__ import annotations

from collections.abc import Iterator

from gpugen.hosts.places import DEFAULTS
from gpugen.model.finding import MOST_OF_A_KIND, ROOT, Finding, Pointer
from gpugen.model.spec import ClusterSpec
from gpugen.resolve import resolve
from gpugen.validate.readings import Readings

_SETTINGS: dict[
    str, tuple[Pointer, ...]
] = {  # what no host settings state, by the finding's id: where it may be stated
    "host-missing-os": (DEFAULTS / "os",),
    "host-missing-driver-version": (DEFAULTS / "driver" / "version",),
    "host-missing-container-toolkit-version": (DEFAULTS / "containerToolkit" / "version",),
}
_SETTINGS["host-missing-settings"] = tuple(at for places in _SETTINGS.values() for at in places)


def resolve_all(
    readings: Readings, source: str
) -> tuple[list[ClusterSpec], Readings, list[Finding]]:
    """Return a spec per reading, the readings, and the findings about names that nobody knows.

    No spec where all that can be known is that something is wrong.
    """
    results = [resolve(data, readings.catalog, source) for data in readings.sound()]
    unknown = [f for _, found in results[:1] for f in found if all(f in r[1] for r in results)]
    if len(unknown) > MOST_OF_A_KIND:
        return [], readings.with_doubts([ROOT]), unknown
    if unknown:
        readings = readings.with_doubts(_places(unknown))
        results = [resolve(data, readings.catalog, source) for data in readings.sound()]
    return [spec for spec, _ in results if spec is not None], readings, unknown


def _places(unknown: list[Finding]) -> Iterator[Pointer]:
    for finding in unknown:
        if finding.at:  # else it counts the others
            yield from _SETTINGS.get(finding.id, (finding.at,))

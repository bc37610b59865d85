"""What a spec with mistakes may mean: readings, sound specs that differ where a mistake is.

A finding of a later stage counts if every reading has it: it does not depend on the mistakes then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpugen.catalog import Catalog, UnknownRow
from gpugen.model.finding import Finding, Pointer
from gpugen.validate import MAX_FINDINGS, validate
from gpugen.validate.combined import combined_schema
from gpugen.validate.engines import errors, native_verdict
from gpugen.validate.keys import ITEMS, Place, keys_of, resolved

MOST = 6  # readings
_TRIED = 12
_ABSENT: Any = object()


class Readings(NamedTuple):
    """What a spec may mean. doubts: the places of its mistakes, none of which holds another."""

    stated: Mapping[str, Any]
    doubts: tuple[Pointer, ...]
    catalog: Catalog

    def covers(self, at: Pointer) -> bool:
        """Tell whether a place lies where a mistake is."""
        return any(at == doubt or at.startswith(f"{doubt}/") for doubt in self.doubts)

    def touches(self, at: Pointer) -> bool:
        """Tell whether a place lies where a mistake is, or around one."""
        return self.covers(at) or any(doubt.startswith(f"{at}/") for doubt in self.doubts)

    def with_doubts(self, places: Iterable[Pointer]) -> Readings:
        """Return readings that differ in further places as well."""
        every = sorted({*self.doubts, *places}, key=len)
        outer: dict[Pointer, None] = {}
        for place in every:
            parents = (Pointer(place[:end]) for end, c in enumerate(place) if c == "/")
            if not any(parent in outer for parent in parents):
                outer[place] = None
        return Readings(self.stated, tuple(outer), self.catalog)

    def sound(self) -> Iterator[dict[str, Any]]:
        """Yield the readings that the schema passes; the spec itself where nothing is wrong."""
        if not self.doubts:
            yield dict(self.stated)
            return
        numbers = (number for number in range(_TRIED) if _is_sound(self.reading(number)))
        for _, number in zip(range(MOST), numbers, strict=False):
            yield self.reading(number)

    def reading(self, number: int) -> dict[str, Any]:
        """Return a reading, which has the mistakes that nobody has found yet."""
        data: Any = self.stated
        for place in self.doubts:
            data = _put(data, place.parts, self._value(place, number))
        return dict(data)

    def _value(self, place: Pointer, number: int) -> Any:
        """Return what may be at a place; reading 0 says only what must be there."""
        from gpugen.validate.values import value_of

        schema, is_required = schema_at(place)
        if schema is None or (number == 0 and not is_required):
            return _ABSENT
        steps = tuple(ITEMS if part.isdigit() else part for part in place.parts)
        return value_of(schema, steps, number, partial(_names, self.catalog))


def read(
    data: dict[str, Any], catalog: Catalog, known: Sequence[Finding] = ()
) -> tuple[Readings, list[Finding]]:
    """Return what a spec may mean, and what is wrong with it so far.

    known: what is wrong with single values of it already.
    """
    placed = [finding for finding in known if finding.at]  # others are overridden in a layer above
    readings = Readings(data, (), catalog).with_doubts(_doubts(data, placed))
    found = [_named(data, catalog, finding) for finding in known]
    found += [f for f in validate(data) if not readings.covers(f.at)]
    readings = readings.with_doubts(_doubts(data, found[len(known) :]))
    while any(readings.doubts) and next(readings.sound(), None) is None:
        rest = [f for f in validate(readings.reading(0)) if not readings.touches(f.at)]
        if rest and len(found) < MAX_FINDINGS:  # what the first ones hid
            found += rest
            readings = readings.with_doubts(_doubts(data, rest))
        else:
            outer = (Pointer(at.rpartition("/")[0]) for at in readings.doubts)
            readings = readings.with_doubts(outer)
    return readings, found


def _named(data: Mapping[str, Any], catalog: Catalog, finding: Finding) -> Finding:
    """Return a finding about a value whose hint names the system that may be meant by it."""
    if finding.at.parts[-1:] != ("os",):
        return finding
    value: Any = data
    for part in finding.at.parts:
        value = value[int(part) if isinstance(value, list) else part]
    try:
        catalog.operating_system(value)
    except UnknownRow as unknown:
        hint = f"{unknown.meant} 'gpugen catalog {unknown.section}' lists them"
        return finding._replace(hint=hint) if unknown.close else finding
    return finding


def _doubts(data: Mapping[str, Any], findings: Iterable[Finding]) -> Iterator[Pointer]:
    """Yield the places where a spec may mean something else than it says.

    Where a key is unknown or missing, any key that is not stated may have been meant.
    """
    for finding in findings:
        if not finding.at_key:
            yield finding.at
            continue
        at = finding.at
        if finding.id != "schema-missing-key":
            yield at
            at = Pointer(at.rpartition("/")[0])
        yield from _keys_in_doubt(data, at)


def _keys_in_doubt(data: Mapping[str, Any], at: Pointer) -> Iterator[Pointer]:
    schema, _ = schema_at(at)
    known = keys_of(schema, combined_schema()) if schema is not None else {}
    if not known:
        yield at
        return
    stated: Any = data
    for part in at.parts:
        stated = stated[int(part) if isinstance(stated, list) else part]
    yield from (at / key for key in known if key not in stated)
    yield from (at / key for key in stated if key not in known)


def schema_at(place: Pointer) -> tuple[dict[str, Any] | None, bool]:
    """Return the schema of a place, if the spec has such a one, and whether it must be there."""
    root = combined_schema()
    schema, is_required = root, True
    for part in place.parts:
        for variant in _variants(schema):
            keys = variant.get("properties", {})
            if part in keys:
                inner, is_required = keys[part], part in variant.get("required", ())
            elif part.isdigit() and isinstance(variant.get("items"), dict):
                inner, is_required = variant["items"], True
            elif isinstance(variant.get("additionalProperties"), dict):
                inner, is_required = variant["additionalProperties"], False
            else:
                continue
            schema = resolved(inner, root)
            break
        else:
            return None, False
    return schema, is_required


def _variants(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield resolved(branch, combined_schema())


def _names(catalog: Catalog, place: Place) -> Sequence[str]:
    """List the names that the catalogue has for a place, spread over what there is."""
    match place:
        case ("release",):
            return catalog.ids("releases")
        case ("kubernetes", "version"):
            return [minor.id for minor in catalog.kubernetes_minors()]
        case ("kubernetes", "distribution"):
            names = catalog.ids("distributions")
            return [name for name in names if catalog.distribution(name).is_supported]
        case (*_, "gpu", "model"):
            return catalog.gpu_ids()
        case (*_, "os"):
            return catalog.ids("operatingSystems")
        case (*_, "driver", "version"):
            return [row.latest_known for row in catalog.driver_branches() if row.latest_known]
    return []


def _put(data: Any, parts: Sequence[str], value: Any) -> Any:
    """Return the data with another value at a place; what lies beside it is shared."""
    if not parts:
        return value
    key: Any = int(parts[0]) if isinstance(data, list) else parts[0]
    copy = data.copy()
    inner = data[key] if isinstance(data, list) or key in data else {}
    changed = _put(inner, parts[1:], value)
    if changed is not _ABSENT:
        copy[key] = changed
    elif key in copy:
        del copy[key]
    return copy


def _is_sound(data: dict[str, Any]) -> bool:
    verdict = native_verdict()
    if verdict is not None:
        return verdict(data)
    return next(errors(data), None) is None

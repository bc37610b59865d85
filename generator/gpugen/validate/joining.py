"""One finding per mistake: consequences of another finding are dropped, related ones joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from gpugen.model.finding import Finding, Pointer
from gpugen.text.spelling import nearest, quoted
from gpugen.validate.keys import ITEMS, Act, Place


class Worded(NamedTuple):
    """A finding, and how it relates to others.

    missing: the missing key. unknown: the unknown key. settles: keys by place and name that are not
    missing, because this finding covers them. shared: what to do about several unknown keys of one
    mapping, or about a missing one in short. where: the name of that mapping. act: what the hint
    asks for.
    """

    finding: Finding
    missing: str = ""
    unknown: str = ""
    settles: tuple[Place, ...] = ()
    shared: str = ""
    where: str = ""
    act: Act = Act.WRITE


def joined(found: Sequence[Worded]) -> list[Finding]:
    """Return one finding per mistake."""
    settled = {place for one in found for place in _settled(one)}
    left = [one for one in found if not (one.missing and _is_among(one, settled))]
    left = list(_without_lookalikes(left))
    crowded = {_parent(one.finding.at) for one in left if one.unknown}
    left = [
        one for one in left if not (one.finding.id == "schema-size" and one.finding.at in crowded)
    ]
    return list(_joined_missing(_joined_unknown(left)))


def _parent(at: Pointer) -> Pointer:
    return Pointer(at.rpartition("/")[0])


def _settled(one: Worded) -> Iterator[Place]:
    """Yield the places that a finding settles, with the list indices of its own place."""
    parts = one.finding.at.parts
    for place in one.settles:
        own = list(place)
        for i, (mine, theirs) in enumerate(zip(parts, place, strict=False)):
            if theirs == ITEMS and mine.isdigit():
                own[i] = mine
            elif mine != theirs:
                break
        yield tuple(own)


def _is_among(one: Worded, settled: Iterable[Place]) -> bool:
    parts = (*one.finding.at.parts, one.missing)
    return any(
        len(place) == len(parts)
        and all(theirs in (mine, ITEMS) for mine, theirs in zip(parts, place, strict=True))
        for place in settled
    )


def _without_lookalikes(found: list[Worded]) -> Iterator[Worded]:
    """Merge two findings if a key of the wrong type is named like a missing one."""
    taken = set()
    for one in found:
        if one.finding.id != "schema-type":
            continue
        parent, name = _parent(one.finding.at), one.finding.at.parts[-1]
        beside = {other.missing: other for other in found if other.finding.at == parent}
        meant = nearest(name, filter(None, beside), 0.85)
        if meant:
            taken |= {one, beside[meant]}
            at, message = one.finding.at, one.finding.message
            hint = f"did you mean '{meant}'?"
            yield Worded(Finding("schema-type", message, hint, at, at_key=True))
    yield from (one for one in found if one not in taken)


def _joined_unknown(found: list[Worded]) -> Iterator[Worded]:
    """Join the unknown keys of one mapping that have the same hint."""
    groups: dict[tuple[Pointer, str], list[Worded]] = {}
    for one in found:
        alone = one.shared if one.unknown and one.shared else one.finding.at
        groups.setdefault((_parent(one.finding.at), alone), []).append(one)
    for group in groups.values():
        first = group[0]
        if len(group) == 1 or not first.unknown:
            yield from group
            continue
        names = _listed([quoted(one.unknown) for one in group])
        hint = f"{names} {first.shared}" if first.act is Act.MOVE else first.shared
        message = f"unknown keys {names}{first.where}"
        at = first.finding.at
        yield Worded(Finding(first.finding.id, message, hint, at, at_key=True))


def _joined_missing(found: Iterable[Worded]) -> Iterator[Finding]:
    """Join the missing keys of one mapping."""
    by_mapping = sorted(found, key=lambda one: (bool(one.missing), one.finding.at))
    for _, same in groupby(by_mapping, key=lambda one: (bool(one.missing), one.finding.at)):
        group = list(same)
        first = group[0].finding
        if len(group) == 1 or not group[0].missing:
            yield from (one.finding for one in group)
            continue
        names = _listed([f"'{one.missing}'" for one in group])
        hint = "; ".join(one.shared for one in group[:3])
        hint += "; …" if len(group) > 3 else ""
        if first.at.parts and first.at.parts[-1].isdigit():
            hint = f"remove the '- ' if this belongs to the entry above, else {hint}"
        message = f"{group[0].where} is missing the required keys {names}"
        yield Finding(first.id, message, hint, first.at, at_key=True)


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]

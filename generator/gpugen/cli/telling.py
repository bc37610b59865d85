"""Differences between ``out/`` and the specs, as findings and as lines of text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from shlex import quote

from gpugen import write
from gpugen.changes import departures
from gpugen.cli.comparing import FOREIGN, WITHOUT_SPEC, Comparison, inventory_of, told
from gpugen.model.finding import Changed, Finding, Location, Severity
from gpugen.text.spelling import printable

HOSTS_HALF = "ansible/"
REMOVAL = "ansible/remove.yml"
_NAMED = 5  # foreign paths that one message names
_REFUSED = (write.Kind.EDITED, write.Kind.REPLACED_BY_LINK)
_DONE = {  # what happened to paths that had been changed since
    write.Kind.EDITED: "overwritten",
    write.Kind.MISSING: "restored",
    write.Kind.FOREIGN: "taken over",
}
PRUNED = {**_DONE, write.Kind.FOREIGN: "not changed"}


def without_spec(
    found: Comparison, weight: Severity, going: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield the clusters without a spec, with what to run before their output is deleted.

    going: clusters of which nothing will remain, about which there is nothing to report.
    """
    for name, files in found.orphans.items():
        if name in going:
            continue
        if name in found.hidden:
            yield found.hidden[name]
        inventory = inventory_of(found.folder, name, files)
        words, command = departures.cluster(inventory, found.shown(name), found.hosts)
        prune = "'gpugen render --prune' deletes what gpugen wrote there"
        if REMOVAL in files:
            clean = f"then 'gpugen render --prune --hosts-clean {name}' deletes what gpugen wrote"
            rest = f"; without --hosts-clean {HOSTS_HALF} is kept" * _has_more(files)
            prune = f"before merging, {command}; {clean}{rest}"
        yield Finding(
            "output-without-spec",
            f"{found.shown(name)} {words}",
            prune,
            severity=weight,
            location=Location(f"{found.folder}/{name}/{write.INDEX}", 1, 1),
        )


def _has_more(files: Sequence[str]) -> bool:
    return any(not path.startswith(HOSTS_HALF) for path in files)


def foreign(found: Comparison) -> Iterator[Finding]:
    """Yield one warning about all that gpugen did not write."""
    paths = [one.path for one in found.differences() if one.kind == FOREIGN]
    if paths:
        top = str(found.folder.parent)
        shown = [path.removeprefix(f"{top}/") for path in paths[:_NAMED]]
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        many = f"{len(paths)} paths that were" if len(paths) > 1 else "a path that was"
        yield Finding(
            "output-foreign",
            f"{found.folder.name}/ contains {many} not written by gpugen: {', '.join(shown)}{more}",
            f"delete or move them; {found.folder.name}/ is for rendered output only, and gpugen"
            " never touches other files there",
            severity=Severity.WARNING,
            location=Location(paths[0], 1, 1),
        )


def differences(found: Comparison) -> Iterator[Finding]:
    """Yield one error per path that differs from the specs, but not for clusters without a spec."""
    for path, _, kind in found.differences():
        if kind == WITHOUT_SPEC:
            continue
        is_foreign = kind == FOREIGN
        yield Finding(
            "output-foreign" if is_foreign else "output-differs",
            "not written by gpugen"
            if is_foreign
            else f"differs from what the spec renders to: {kind}",
            "delete or move it"
            if is_foreign
            else f"run 'gpugen render{_overwrite([kind], path)}' and commit",
            location=Location(path, 1, 1),
        )


def _overwrite(kinds: Sequence[str], path: str = "PATH") -> str:
    return f" --overwrite {quote(path)}" * any(kind in _REFUSED for kind in kinds)


def lines(found: Comparison) -> Iterator[str]:
    """Yield a line per difference."""
    top = str(found.folder.parent)
    for path, _, kind in found.differences():
        if kind != WITHOUT_SPEC:
            yield f"{printable(path.removeprefix(f'{top}/'))}: {kind}"


def advice(found: Sequence[Changed]) -> str:
    """Return what to do so that the output matches the specs."""
    kinds = [one.kind for one in found]
    parts = []
    if any(kind != FOREIGN for kind in kinds):
        prune = " --prune" * (WITHOUT_SPEC in kinds)
        parts.append(f"run 'gpugen render{_overwrite(kinds)}{prune}' and commit")
    if FOREIGN in kinds:
        parts.append("delete foreign files")
    return "; ".join(parts)


def summary(changes: Sequence[write.Change], words: Mapping[write.Kind, str] = _DONE) -> str:
    """Count the changes by kind."""
    if not changes:
        return "unchanged"
    kinds = [words.get(change.kind, str(change.kind)) for change in told(changes)]
    if write.is_index(told(changes)[0].path):
        return "unchanged, index renewed"
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))

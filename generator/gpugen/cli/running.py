"""A run of ``gpugen render`` without errors in specs: shows the differences, or writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from gpugen import pipeline, write
from gpugen.cli import sharing, telling
from gpugen.cli.common import FOR_PEOPLE, has_errors, print_findings
from gpugen.cli.comparing import Comparison, told
from gpugen.errors import ExitCode
from gpugen.hosts.collection import SHARED
from gpugen.model import NOTHING
from gpugen.model.finding import Changed, Finding, Severity
from gpugen.pipeline import Outcome
from gpugen.workspace import Workspace


class Options(NamedTuple):
    """The options of the command line."""

    check: bool
    diff: bool
    force: bool
    overwrite: tuple[Path, ...]
    prune: bool
    hosts_clean: tuple[str, ...]
    strict: bool
    quiet: bool
    output: str

    @property
    def compares(self) -> bool:
        """Whether nothing is to be written."""
        return self.check or self.diff


class Run(NamedTuple):
    """A run without errors in specs, and what was found before anything is written."""

    workspace: Workspace
    outcomes: Sequence[Outcome]
    options: Options
    found: Comparison
    unseen: Sequence[Finding]

    @property
    def weight(self) -> Severity:
        """The severity of a cluster without a spec."""
        return Severity.ERROR if self.options.check else Severity.WARNING

    @property
    def going(self) -> frozenset[str]:
        """The clusters of which this run leaves nothing."""
        if not self.options.prune:
            return frozenset()
        orphans = self.found.orphans.items()
        return frozenset(
            name
            for name, files in orphans
            if name not in self.found.hidden
            and (name in self.options.hosts_clean or telling.REMOVAL not in files)
        )


def show(run: Run) -> int:
    """Print what differs, with ``--diff`` how; nothing is written."""
    options, found = run.options, run.found
    differ = list(found.differences())
    extra = [*run.unseen, *found.shared.findings, *telling.without_spec(found, run.weight)]
    if options.diff:
        extra += telling.foreign(found)
    elif options.output != "text":
        extra += telling.differences(found)
    counted = run.unseen if options.check else extra  # what differs is told by its own exit code
    is_refused = has_errors(run.outcomes, run.workspace, strict=options.strict, extra=counted)
    print_findings(run.outcomes, run.workspace, options.output, extra=extra, changes=differ)
    for line in _diff(run) if options.diff else ():
        click.echo(line)
    _show_lines(run, differ)
    if options.strict and is_refused:
        return ExitCode.SPEC_IS_WRONG
    return ExitCode.DIFFERENCE if differ and options.check else ExitCode.DONE


def _show_lines(run: Run, differ: Sequence[Changed]) -> None:
    """Print the text after the findings: a line per path, and what to do."""
    options, folder = run.options, run.found.folder
    if options.output == "text" and not options.diff:
        for line in telling.lines(run.found):
            click.echo(line, err=True)
    if differ and options.check and options.output in FOR_PEOPLE:
        advice = telling.advice(differ)
        click.echo(f"{folder.name}/ differs from the specs; {advice}", err=True)


def _diff(run: Run) -> Iterator[str]:
    folder = run.found.folder
    for outcome in run.outcomes:
        assert outcome.spec is not None
        name = outcome.spec.name
        tree = pipeline.build(outcome)
        yield from write.diff(tree, folder, name, shown=f"{folder.name}/{name}")
    if (shared := run.found.shared.tree) is not None:
        yield from write.diff(shared, folder, SHARED, shown=f"{folder.name}/{SHARED}")


def write_all(run: Run) -> int:
    """Write what differs and prune; findings are printed first as text, last for programs."""
    options, found = run.options, run.found
    extra = [*run.unseen, *found.shared.findings]
    extra += [*telling.without_spec(found, run.weight, run.going), *telling.foreign(found)]
    if options.strict and has_errors(run.outcomes, run.workspace, strict=True, extra=extra):
        ending = "; nothing written"
        print_findings(run.outcomes, run.workspace, options.output, extra=extra, ending=ending)
        return ExitCode.SPEC_IS_WRONG
    if options.output in FOR_PEOPLE:
        print_findings(run.outcomes, run.workspace, options.output, extra=extra)
    changes: list[Changed] = []
    with write.Lock(found.folder) as lock:
        copies = _copies(run) if options.prune else {}
        changes += _write_shared(run, lock)
        for outcome in run.outcomes:
            changes += _write_one(run, outcome, lock)
        if options.prune:
            changes += _prune(run, copies, lock)
        if found.shared.tree is None and (options.prune or not found.orphans):
            changes += _prune_shared(run, lock)
    if options.output not in FOR_PEOPLE:
        print_findings(run.outcomes, run.workspace, options.output, extra=extra, changes=changes)
    return ExitCode.DONE


def _write_shared(run: Run, lock: write.Lock) -> Iterator[Changed]:
    """Write the collection that clusters have in common, before the first cluster needs it."""
    found, options = run.found, run.options
    if found.shared.tree is None or not _is_due(found.shared.changes):
        return
    overwrite = [below(path, found.folder / SHARED) for path in options.overwrite]
    changes = write.write(
        found.shared.tree,
        found.folder,
        SHARED,
        force=options.force,
        overwrite=overwrite,
        lock=lock,
    )
    yield from _shared(run, changes, telling.summary(changes))


def _prune_shared(run: Run, lock: write.Lock) -> Iterator[Changed]:
    """Delete it where no cluster has it in common any more."""
    if _is_due(run.found.shared.changes):
        changes = write.prune(run.found.folder, SHARED, force=run.options.force, lock=lock)
        yield from _shared(run, changes, telling.summary(changes, telling.PRUNED))


def _shared(run: Run, changes: Sequence[write.Change], words: str) -> Iterator[Changed]:
    if changes and not run.options.quiet:
        click.echo(f"{SHARED}: {words}", err=True)
    folder = run.found.folder
    yield from (Changed(f"{folder}/{SHARED}/{c.path}", "", str(c.kind)) for c in told(changes))


def _is_due(changes: Sequence[write.Change] | None) -> bool:
    """Tell whether anything is to be written; what only writing can tell, is."""
    return changes is None or any(change.kind is not write.Kind.FOREIGN for change in changes)


def _copies(run: Run) -> dict[str, dict[str, bytes]]:
    """Return the collection for clusters without a spec that keep their plays, by cluster."""
    staying = (n for n in run.found.orphans if n not in run.found.hidden and n not in run.going)
    return {name: sharing.vendored(run.found.folder, name) for name in staying}


def _write_one(run: Run, outcome: Outcome, lock: write.Lock) -> Iterator[Changed]:
    assert outcome.spec is not None
    name, folder = outcome.spec.name, run.found.folder
    changes: list[write.Change] = []
    if _is_due(run.found.changes[name]):
        changes = write.write(
            pipeline.build(outcome),
            folder,
            name,
            force=run.options.force,
            overwrite=[below(path, folder / name) for path in run.options.overwrite],
            lock=lock,
        )
    if not run.options.quiet:
        click.echo(f"{name}: {telling.summary(changes)}", err=True)
    return (Changed(f"{folder}/{name}/{c.path}", name, str(c.kind)) for c in told(changes))


def below(path: Path, folder: Path) -> str:
    """Return a path as it is called within a folder, empty for what is not below it."""
    named, top = (os.path.abspath(one) for one in (path, folder))  # noqa: PTH100 - links stay
    return named.removeprefix(f"{top}/") if named.startswith(f"{top}/") else ""


def _prune(
    run: Run, copies: Mapping[str, Mapping[str, bytes]], lock: write.Lock
) -> Iterator[Changed]:
    """Delete the output of clusters without a spec; their ansible/ once the hosts are clean.

    copies: of the collection, which such an ansible/ then has of its own.
    """
    folder = run.found.folder
    for name in run.found.orphans:
        if name in run.found.hidden:
            continue
        keep = "" if name in run.going else telling.HOSTS_HALF
        changes = write.prune(
            folder,
            name,
            keep=keep,
            instead=copies.get(name, NOTHING),
            force=run.options.force,
            lock=lock,
        )
        if not run.options.quiet:
            stays = f"; {keep} is kept" if keep else ""
            click.echo(f"{name}: {telling.summary(changes, telling.PRUNED)}{stays}", err=True)
        yield from (Changed(f"{folder}/{name}/{c.path}", name, str(c.kind)) for c in told(changes))

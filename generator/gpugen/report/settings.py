"""``gpugen.yaml``: what a repository asks of gpugen itself, and how much its findings weigh."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gpugen import __version__, assets
from gpugen.catalog import shape
from gpugen.catalog.user import locate
from gpugen.errors import GpugenError
from gpugen.load.source import Source, read_bytes
from gpugen.model.finding import MOST_OF_A_KIND, ROOT, Finding, Location, Severity
from gpugen.model.half import Form, HostHalf
from gpugen.text.versions import release

FILE = "gpugen.yaml"
OFF = "off"
WHY = {
    "settings-unknown-key": "gpugen.yaml is closed: a misspelt key would have no effect unnoticed.",
    "settings-missing-key": "An entry says which finding it is about, how much it weighs, and why.",
    "settings-value": "The value has another type or form than this key takes.",
    "settings-link": "What a link points to can lie outside of the repository.",
    "settings-unknown-finding": "gpugen has no finding of this id, so the entry has no effect.",
    "settings-duplicate": "Two entries about one finding: which of them counts would be a guess.",
    "settings-error-lowered": "An error says that the output would be wrong, and no reason makes it"
    " right. Warnings can be lowered, and switched off.",
    "settings-expired": "The day under until has passed: the entry counts no more, so that what was"
    " put off comes back by itself.",
}
WARNINGS = frozenset({"settings-expired"})
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*([0-9]+(?:\.[0-9]+)*)\s*")


class Entry(NamedTuple):
    """How much a finding weighs in a repository, and why. severity None: it is switched off."""

    severity: Severity | None
    reason: str


class Settings(NamedTuple):
    """What gpugen.yaml says: of findings by their id, of the hosts' half; what is wrong with it."""

    entries: Mapping[str, Entry]
    findings: list[Finding]
    host_half: HostHalf = HostHalf()

    def applied(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings as this repository weighs them: errors stay what they are."""
        return [self._applied(finding) for finding in findings]

    def _applied(self, finding: Finding) -> Finding:
        entry = self.entries.get(finding.id)
        if entry is None or finding.severity is Severity.ERROR:
            return finding
        if entry.severity is None:
            return finding._replace(suppressed=entry.reason)
        return finding._replace(severity=entry.severity)


def read(root: Path, known: Mapping[str, Severity], today: date | None = None) -> Settings:
    """Read the gpugen.yaml of a repository, if it has one.

    known: how much the findings weigh by themselves. today: None asks the clock. Raises
    GpugenError: the file cannot be read, or it requires another gpugen.
    """
    path = root / FILE
    if path.is_symlink():
        place = Location(path.as_posix(), 1, 1)
        what = f"{FILE} is a link, and links are not followed"
        return Settings({}, [Finding("settings-link", what, "put the file there", location=place)])
    source = Source(path, read_bytes(path))
    if unreadable := _unreadable(source):
        return Settings({}, unreadable)
    _refuse_other_gpugen(source.data.get("requires"))
    reader = _Reader(source, known, today or date.today())
    entries = reader.entries()
    return Settings(entries, reader.findings, reader.host_half())


@cache
def schema() -> dict[str, Any]:
    """Read the schema of gpugen.yaml."""
    content: dict[str, Any] = json.loads((assets.schemas() / "repository.schema.json").read_bytes())
    return content


def _unreadable(source: Source) -> list[Finding]:
    """Return why a file cannot be read; a day under ``until`` is one day, date or text."""
    rows = source.data.get("findings") if source.findings else ()
    days = [
        locate(source, ("findings", number, "until"), key=False)
        for number, row in enumerate(rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and _DAY.fullmatch(str(row.get("until")))
    ]
    return [finding for finding in source.findings if finding.location not in days]


def _refuse_other_gpugen(requires: object) -> None:
    """Raise GpugenError if a repository requires another gpugen; a wrong shape is a finding."""
    if not isinstance(requires, str):
        return
    clauses = [_CLAUSE.fullmatch(clause) for clause in requires.split(",")]
    if all(clause is None or _holds(clause[1], clause[2]) for clause in clauses):
        return
    raise GpugenError(
        f"this repository requires gpugen {requires} ({FILE}), and this is gpugen {__version__}",
        "install one that fits, or change requires",
    )


def _holds(relation: str, version: str) -> bool:
    ours, theirs = release(__version__), release(version)
    return {
        ">=": ours >= theirs,
        "<=": ours <= theirs,
        ">": ours > theirs,
        "<": ours < theirs,
        "==": ours == theirs,
        "!=": ours != theirs,
    }[relation]


class _Reader:
    """Takes the entries of a file that are right, and notes what is wrong with others."""

    def __init__(self, source: Source, known: Mapping[str, Severity], today: date) -> None:
        self.findings: list[Finding] = []
        self._source = source
        self._known = known
        self._today = today
        self._broken: set[tuple[str | int, ...]] = set()

    def host_half(self) -> HostHalf:
        """Return where the collection is; an external one has a version, no other has.

        To be read behind the entries.
        """
        stated = self._source.data.get("hostHalf")
        if stated is None or self._broken & {(), ("hostHalf",)}:
            return HostHalf()
        found = HostHalf(Form(stated["form"]), stated.get("version", ""))
        if found.form is Form.EXTERNAL and not found.version:
            message, hint = "the key 'version' is missing", 'add version: such as "0.2.0"'
            self._note("settings-missing-key", message, hint, ("hostHalf",))
        elif found.form is not Form.EXTERNAL and found.version:
            message = f"version has no effect with form: {found.form}"
            hint = "remove it: gpugen renders the collection that it comes with"
            self._note("settings-value", message, hint, ("hostHalf", "version"))
        return found

    def entries(self) -> dict[str, Entry]:
        """Return the entries that count, by the finding's id."""
        misfits = shape.misfits(self._source.data, schema())[:MOST_OF_A_KIND]
        for misfit in misfits:
            name = f"settings-{misfit.kind}"
            message, hint = _words(misfit)
            self._note(name, message, hint, misfit.path, key=misfit.at_key)
        broken = {misfit.path[:2] for misfit in misfits}
        self._broken = {path[:1] for path in broken}
        if broken & {(), ("findings",)}:
            return {}
        found: dict[str, Entry] = {}
        for number, row in enumerate(self._source.data.get("findings", ())):
            if ("findings", number) not in broken and self._counts(number, row, found):
                off = row["severity"] == OFF
                found[row["id"]] = Entry(None if off else Severity(row["severity"]), row["reason"])
        return found

    def _counts(self, number: int, row: Mapping[str, str], found: Mapping[str, Entry]) -> bool:
        name, own = row["id"], self._known.get(row["id"])
        at = ("findings", number)
        if own is None:
            close = shape.close_to(name, self._known)
            meant = f"did you mean {close!r}? " if close else ""
            hint = f"{meant}docs/reference/checks.md lists them"
            self._note(
                "settings-unknown-finding", f"no finding is called {name!r}", hint, (*at, "id")
            )
        elif own is Severity.ERROR:
            message = f"{name} is an error, which {FILE} cannot lower"
            hint = "remove the entry, and correct what the finding says"
            self._note("settings-error-lowered", message, hint, (*at, "severity"))
        elif name in found:
            message = f"{name} has an entry already"
            self._note("settings-duplicate", message, "keep one of the two", (*at, "id"))
        else:
            return not self._is_over(number, row.get("until"))
        return False

    def _is_over(self, number: int, until: str | None) -> bool:
        """Tell whether an entry counts no more, and say so."""
        at = ("findings", number, "until")
        if until is None:
            return False
        try:
            last = date.fromisoformat(until)
        except ValueError:
            self._note("settings-value", f"{until!r} is no day", "write it as 2027-06-30", at)
            return True
        if last >= self._today:
            return False
        message = f"the entry counted until {until}"
        hint = "correct what the finding says and remove the entry, or set a later day"
        self._note("settings-expired", message, hint, at, severity=Severity.WARNING)
        return True

    def _note(
        self,
        id: str,
        message: str,
        hint: str,
        steps: Iterable[str | int],
        *,
        key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> None:
        at = ROOT
        for step in steps:
            at = at / step
        place = locate(self._source, tuple(steps), key=key)
        self.findings.append(Finding(id, message, hint, at, severity, location=place))


def _words(misfit: shape.Misfit) -> tuple[str, str]:
    if misfit.kind == "unknown-key":
        return f"the key {misfit.values[0]!r} has no meaning here", misfit.values[1]
    if misfit.kind == "missing-key":
        return (
            f"the key {misfit.values[0]!r} is missing",
            f"add {misfit.values[0]}: {misfit.values[1]}",
        )
    return f"{misfit.values[0]} is not {misfit.values[1]}", misfit.values[2]

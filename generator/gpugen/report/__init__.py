"""Findings as text, JSON, SARIF and annotations of a pull request."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol

from gpugen.load import Document, Locator
from gpugen.model.finding import Changed, Finding, Row, Severity
from gpugen.report.sarif import dumped, log
from gpugen.text.credentials import HIDDEN, masked, masked_pointer, stated_secret
from gpugen.text.spelling import printable

__all__ = ["FORMATS", "Reported", "Row", "printable", "render_findings", "rows", "wants_colour"]

JSON_VERSION = 1
MAX_SHOWN = 100  # findings of one file, in the forms for people


class Reported(Protocol):
    """One spec file after the stages."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def document(self) -> Document | None:
        """The spec as loaded, if it could be."""

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with it."""


def render_findings(
    outcomes: Sequence[Reported],
    form: str,
    *,
    extra: Iterable[Finding] = (),
    ending: str = "",
    colour: bool | None = None,
    explained: Callable[[str], str] = str,
    changes: Sequence[Changed] | None = None,
) -> str:
    """Return all findings in one of FORMATS, sorted by file and place, each only once.

    extra: findings that belong to no spec. ending: of the last line of text, such as
    "; nothing written". colour: None asks the terminal and the environment. explained: returns
    what an id means, for SARIF. changes: of the output, for JSON; None where none was looked at.
    """
    found = rows(outcomes, extra)
    if form == "sarif":
        return log(found, explained)
    if form == "json":
        return _json(found, changes)
    if form == "text":
        return _text(found, ending, wants_colour(sys.stderr.isatty()) if colour is None else colour)
    return FORMATS[form](found)


def rows(outcomes: Sequence[Reported], extra: Iterable[Finding] = ()) -> list[Row]:
    """Return the findings with their places, sorted, each once."""
    found = {row for one in outcomes for row in _rows(one.findings, one.path, one.document)}
    found.update(_rows(extra, Path(), None))
    return sorted(found)


def _rows(findings: Iterable[Finding], path: Path, document: Document | None) -> Iterator[Row]:
    locator: Locator | None = None
    for finding in findings:
        if finding.location is None and document is not None:
            locator = locator or Locator(document)
        value = stated_secret(document.data, finding.at) if document is not None else ""
        yield _row(finding, path, locator, value)


def _row(finding: Finding, path: Path, locator: Locator | None, secret: str) -> Row:
    at = finding.location
    if at is None and locator is not None:
        at = locator.locate(finding.at, finding.at_key)
    name = _near(at.path if at else path.as_posix())
    line, column = (at.line, at.column) if at else (1, 1)
    message, hint = (
        printable(masked(text.replace(secret, HIDDEN) if secret else text))
        for text in (finding.message, finding.hint)
    )
    where = printable(masked_pointer(finding.at))
    return Row(
        *(name, line, column, finding.id, where, finding.severity, message, hint, finding.tags),
        suppressed=printable(masked(finding.suppressed)),
    )


def _near(path: str) -> str:
    """Return a path relative to the current folder if it is below it."""
    here = Path.cwd()
    if os.path.isabs(path) and Path(path).is_relative_to(here):  # noqa: PTH117 - cheaper
        path = Path(path).relative_to(here).as_posix()
    return f"./{path}" if path.startswith(("::", "##")) else path


def wants_colour(is_terminal: bool) -> bool:
    """Tell whether to use colour: NO_COLOR and FORCE_COLOR decide, otherwise the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def _text(found: list[Row], ending: str, is_coloured: bool) -> str:
    """Return blocks of three lines, and a last line with numbers; nothing without findings."""
    if not found:
        return ""
    lines: list[str] = []
    for row, left_out in _at_most_shown([row for row in found if not row.suppressed]):
        if row is None:
            lines.append(left_out)
            continue
        place = f"{printable(row.path)}:{row.line}:{row.column}"
        severity, place = _coloured(row.severity, place) if is_coloured else (row.severity, place)
        lines.append(f"{place}: {severity} [{row.id}] {row.message}")
        if row.pointer:
            lines.append(f"    at   {row.pointer}")
        lines.append(f"    hint {row.hint}")
    lines.append(_summary(found) + ending)
    return "\n".join(lines) + "\n"


def _coloured(severity: str, place: str) -> tuple[str, str]:
    from click import style

    hue = "red" if severity == Severity.ERROR else "yellow"
    return style(severity, fg=hue, bold=True), style(place, bold=True)


def _at_most_shown(found: list[Row]) -> Iterator[tuple[Row | None, str]]:
    """Yield the first hundred findings of each file, then a line that counts the others."""
    for path, group in groupby(found, key=lambda row: row.path):
        of_file = list(group)
        yield from ((row, "") for row in of_file[:MAX_SHOWN])
        if len(of_file) > MAX_SHOWN:
            yield None, f"{printable(path)}: and {len(of_file) - MAX_SHOWN} more"


def _summary(found: list[Row]) -> str:
    counts = Counter(row.severity for row in found if not row.suppressed)
    parts = [
        f"{counts[severity]} {severity}{'s' * (counts[severity] != 1)}"
        for severity in (Severity.ERROR, Severity.WARNING)
        if counts[severity]
    ]
    off = sum(1 for row in found if row.suppressed)
    return ", ".join([*parts, *([f"{off} switched off in gpugen.yaml"] if off else [])])


def _json(found: list[Row], changes: Sequence[Changed] | None = None) -> str:
    """Return a document by schemas/findings.schema.json."""
    counts = Counter(row.severity for row in found if not row.suppressed)
    rows = [change._asdict() | {"path": _near(change.path)} for change in changes or ()]
    return dumped(
        {
            "version": JSON_VERSION,
            "errors": counts[Severity.ERROR],
            "warnings": counts[Severity.WARNING],
            "findings": [
                {
                    "id": row.id,
                    "severity": row.severity,
                    "path": row.path,
                    "line": row.line,
                    "column": row.column,
                    "pointer": row.pointer,
                    "message": row.message,
                    "hint": row.hint,
                    "tags": list(row.tags),
                    "suppressed": row.suppressed,
                }
                for row in found
            ],
            **({} if changes is None else {"changes": rows}),
        }
    )


def _github(found: list[Row]) -> str:
    """Return workflow commands, which GitHub shows beside the lines of a pull request."""
    lines = []
    for row, left_out in _at_most_shown([row for row in found if not row.suppressed]):
        if row is None:
            lines.append(f"::notice::{_data(left_out)}")
            continue
        place = f"file={_property(row.path)},line={row.line},col={row.column}"
        text = _data(f"{row.message}\nhint: {row.hint}")
        lines.append(f"::{row.severity} {place},title={_property(row.id)}::{text}")
    return "".join(f"{line}\n" for line in lines)


def _data(text: str) -> str:
    """Escape the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property of a workflow command."""
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")


FORMATS: dict[str, Callable[[list[Row]], str]] = {
    "text": lambda found: _text(found, "", is_coloured=False),
    "json": _json,
    "sarif": log,
    "github": _github,
}

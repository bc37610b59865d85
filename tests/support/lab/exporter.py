"""Plays what Prometheus scrapes: DCGM exporter's text on every node, and kube-state-metrics'.

One server answers for all of them: Prometheus asks it as its HTTP proxy, so that addresses need no
route. Which fields an exporter knows stands in the ConfigMap that is rendered for it.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

Sample = tuple[str, Mapping[str, str], str]  # metric, labels, values in promtool's notation
NOW = 90.0  # minute of the notation at which playing begins
OF_PROMETHEUS = ("job", "instance", "node", "pool")  # labels that scraping adds
_STEP = re.compile(r"(?P<start>_|-?[\d.]+)(?P<by>[+-][\d.]+)?(?:x(?P<times>\d+))?\Z")


def fields(csv: str) -> dict[str, str]:
    """Return metric -> Prometheus type of a file of counters; labels are no metrics."""
    rows = [line.split(",") for line in csv.splitlines() if line and not line.startswith("#")]
    found = {name.strip(): kind.strip() for name, kind, *_ in rows}
    return {name: kind for name, kind in found.items() if kind != "label"}


def value(notation: str, minute: float) -> float | None:
    """Return what a series in promtool's notation has at a minute; None where it has nothing."""
    for word in notation.split():
        match = _STEP.fullmatch(word)
        assert match, word
        times = int(match["times"] or 0)
        # A gap of n steps is n samples long; a value that is repeated n times, n + 1.
        samples = max(times, 1) if match["start"] == "_" else times + 1
        if minute < samples:
            if match["start"] == "_":
                return None
            return float(match["start"]) + float(match["by"] or 0) * minute
        minute -= samples
    return None


def text(samples: Iterable[Sample], minute: float, kinds: Mapping[str, str]) -> str:
    """Return the exposition of series at a minute. kinds: of metrics; others are untyped."""
    lines: dict[str, list[str]] = {}
    for name, labels, notation in samples:
        if (number := value(notation, minute)) is not None:
            inside = ",".join(f'{key}="{each}"' for key, each in labels.items())
            lines.setdefault(name, []).append(f"{name}{{{inside}}} {number:.17g}\n")
    return "".join(
        f"# HELP {name} played\n# TYPE {name} {kinds.get(name, 'untyped')}\n{''.join(found)}"
        for name, found in lines.items()
    )


class Exporters:
    """A running proxy; pages: host -> function from the minute to the text of its metrics."""

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[float], str]] = {}
        self.asked: set[str] = set()  # URLs
        self._begin = time.monotonic()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.add(self.path)
                page = outer.pages.get(urlsplit(self.path).hostname or "")
                content = page(outer.minute).encode() if page else b""
                self.send_response(200 if page else 502)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def minute(self) -> float:
        """The minute that is played, in real time."""
        return NOW + (time.monotonic() - self._begin) / 60

    @property
    def address(self) -> str:
        """Where Prometheus finds its proxy."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Exporters:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

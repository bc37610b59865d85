"""A running Prometheus that reads what gpugen renders, and questions to it."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from support.lab.cluster.programs import Program, free_port

EVERY = "1s"


class Prometheus:
    """Questions to a Prometheus on 127.0.0.1."""

    def __init__(self, port: int, program: Program) -> None:
        self._base = f"http://127.0.0.1:{port}/"
        self.program = program

    def is_ready(self) -> bool:
        """Tell whether it answers."""
        try:
            with urllib.request.urlopen(f"{self._base}-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def ask(self, path: str, **arguments: str) -> Any:
        """Return the data of an answer of the API, version 1."""
        query = urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(f"{self._base}api/v1/{path}?{query}", timeout=30) as answer:
            return json.load(answer)["data"]

    def has(self, expression: str) -> bool:
        """Tell whether a query gives any series."""
        return bool(self.ask("query", query=expression)["result"])


@contextmanager
def running(
    program: Path, folder: Path, jobs: list[dict[str, Any]], files: Mapping[str, str]
) -> Iterator[Prometheus]:
    """Run Prometheus on scrape jobs. files: path below the folder -> text; rules/*.yaml are read.

    The rhythm of scraping and evaluating is a second; nothing else of what is handed in is changed.
    """
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    quick = [{**job, "scrape_interval": EVERY, "scrape_timeout": EVERY} for job in jobs]
    main = {
        "global": {"evaluation_interval": EVERY},
        "scrape_configs": quick,
        "rule_files": ["rules/*.yaml"],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(main), encoding="utf-8")
    port = free_port()
    command = [
        program,
        "--config.file=prometheus.yml",
        f"--storage.tsdb.path={folder / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with Program("prometheus", command, folder) as started:
        found = Prometheus(port, started)
        started.wait_for("answer", found.is_ready)
        yield found

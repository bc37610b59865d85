"""Addresses that the probe asks for without fetching them (DRV-26)."""

from __future__ import annotations

import http.server
import importlib.util
import threading
from collections.abc import Iterator

import pytest

from support import ROOT

FILE = ROOT / "plugins" / "module_utils" / "reading.py"


class Answers(http.server.BaseHTTPRequestHandler):
    """A server of one file, to which an address leads."""

    def do_HEAD(self) -> None:  # noqa: N802, the library's name
        status = {"/x.run": 200, "/moved": 302}.get(self.path, 404)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/x.run")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as own:
        threading.Thread(target=own.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{own.server_port}"
        own.shutdown()


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/x.run", 200, "OK"),
        ("/moved", 200, "OK"),
        ("/gone", 404, "HTTP Error 404: Not Found"),
    ],
)
def test_an_address_is_asked_for(
    server: str, path: str, status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    spec = importlib.util.spec_from_file_location("reading", FILE)
    assert spec is not None
    assert spec.loader is not None
    reading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reading)
    assert reading.url(server + path) == {"status": status, "msg": message}
    assert reading.url("http://127.0.0.1:1/x.run")["status"] == -1
    assert reading.url("no address")["status"] == -1
    asked = reading.answer({"urls": [server + path]})
    assert asked["urls"] == {server + path: {"status": status, "msg": message}}

"""Raw HTTP to kube-apiserver: kubectl hides duplicate keys and takes thirty times as long."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

Object: TypeAlias = dict[str, Any]

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"
YAML = "application/yaml"
STRICT = {"fieldValidation": "Strict"}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said. warnings: texts of its Warning headers."""

    status: int
    body: Any
    warnings: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Tell whether the request was carried out."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The server's reason, empty where it had none to give."""
        if self.is_good:
            return ""
        return (
            str(self.body.get("message", self.body)) if isinstance(self.body, dict) else self.body
        )


class RefusedError(AssertionError):
    """The server refused, or warned about, what it took silently."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind is addressed."""

    prefix: str  # /api/v1, /apis/apps/v1
    plural: str
    is_namespaced: bool


class Api:
    """One user's connection; not for several threads."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        self.port = port
        self.authority = authority
        self.token = token
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._connection: http.client.HTTPSConnection | None = None
        self._kinds: dict[tuple[str, str], Kind] = {}

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def as_user(self, token: str) -> Api:
        """Return a connection with another token."""
        return Api(self.port, self.authority, token)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] = NOTHING,
        type: str = JSON,
        accept: str = JSON,
    ) -> Answer:
        """Send one request; body: text as it is, anything else as JSON."""
        sent = body if isinstance(body, bytes | str) or body is None else json.dumps(body)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": accept,
            **({"Content-Type": type} if sent is not None else {}),
        }
        target = f"{path}?{urlencode(query)}" if query else path
        payload = sent.encode() if isinstance(sent, str) else sent
        try:
            response, content = self._exchange(method, target, payload, headers)
        except (http.client.HTTPException, ConnectionError, ssl.SSLEOFError):
            self.close()  # the server had closed an idle connection
            response, content = self._exchange(method, target, payload, headers)
        is_json = response.headers.get_content_type() == "application/json"
        return Answer(
            response.status,
            json.loads(content) if is_json else content.decode(errors="replace"),
            tuple(response.headers.get_all("Warning") or ()),
        )

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=60, context=self._tls
            )
        self._connection.request(method, target, body, dict(headers))
        response = self._connection.getresponse()
        return response, response.read()

    def get(self, path: str, **query: str) -> Any:
        """Return what stands at a path. Raises RefusedError: nothing, or not for this user."""
        answer = self.call("GET", path, query=query)
        if not answer.is_good:
            raise RefusedError(f"GET {path}: {answer.status} {answer.message}")
        return answer.body

    def find(self, path: str) -> Any:
        """Return what stands at a path, None where nothing does."""
        answer = self.call("GET", path)
        return None if answer.status == 404 else self._good(answer, f"GET {path}").body

    def items(self, path: str, **query: str) -> list[Object]:
        """Return the objects of a list."""
        found: list[Object] = self.get(path, **query)["items"]
        return found

    def delete(self, path: str) -> None:
        """Delete an object with all that belongs to it, at once; one that is gone is good too."""
        answer = self.call(
            "DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        )
        if answer.status != 404:
            self._good(answer, f"DELETE {path}")

    def post(self, path: str, body: object, **query: str) -> Object:
        """Create an object. Raises RefusedError: refused, or taken with a warning."""
        answer = self.call("POST", path, body, query={**STRICT, **query})
        result: Object = self._good(answer, f"POST {path}").body
        return result

    def merge(self, path: str, body: object) -> Object:
        """Merge a patch into an object."""
        answer = self.call("PATCH", path, body, query=STRICT, type=MERGE)
        result: Object = self._good(answer, f"PATCH {path}").body
        return result

    def try_apply(self, item: Object, text: str | bytes | None = None, **query: str) -> Answer:
        """Apply an object on the server's side as a delivery engine does, strictly.

        text: the YAML that is sent as it is; None sends the object.
        """
        query = {"fieldManager": "lab", "force": "true", **STRICT, **query}
        body = text if text is not None else item
        return self.call("PATCH", self.path(item), body, query=query, type=APPLY)

    def apply(self, item: Object, text: str | bytes | None = None, **query: str) -> Object:
        """Apply an object. Raises RefusedError: refused, or taken with a warning."""
        meta = item["metadata"]
        name = f"{item['kind']} {meta.get('namespace', '')}/{meta['name']}"
        result: Object = self._good(self.try_apply(item, text, **query), f"apply {name}").body
        return result

    def path(self, item: Object) -> str:
        """Return where an object stands."""
        meta = item["metadata"]
        folder = self.folder(item["apiVersion"], item["kind"], meta.get("namespace", ""))
        return f"{folder}/{quote(meta['name'])}"

    def folder(self, version: str, kind: str, namespace: str = "") -> str:
        """Return where the objects of a kind stand. Raises LookupError: no such kind is served."""
        if (version, kind) not in self._kinds:
            self._kinds = self._discovered()
        found = self._kinds[version, kind]
        inside = f"/namespaces/{namespace}" if found.is_namespaced and namespace else ""
        return f"{found.prefix}{inside}/{found.plural}"

    def serves(self, version: str, kind: str) -> bool:
        """Tell whether a kind can be addressed now."""
        try:
            return self.call("GET", self.folder(version, kind), query={"limit": "1"}).is_good
        except KeyError:
            return False

    def _discovered(self) -> dict[tuple[str, str], Kind]:
        kinds = {}
        for root in ("/api", "/apis"):
            for group in self.call("GET", root, accept=AGGREGATED).body["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    full = f"{name}/{version['version']}" if name else version["version"]
                    for each in version["resources"]:
                        kinds[full, each["responseKind"]["kind"]] = Kind(
                            f"{root}/{full}", each["resource"], each["scope"] == "Namespaced"
                        )
        return kinds

    @staticmethod
    def _good(answer: Answer, what: str) -> Answer:
        if not answer.is_good:
            raise RefusedError(f"{what}: {answer.status} {answer.message}")
        if answer.warnings:
            raise RefusedError(f"{what}: warned: {'; '.join(answer.warnings)}")
        return answer

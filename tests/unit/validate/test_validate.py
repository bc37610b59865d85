"""Validation: the combined schema, and the words for what does not fit it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema
import pytest

from gpugen import components
from gpugen.load import load
from gpugen.model.finding import Pointer
from gpugen.validate import WHY, combined_schema, engines, validate
from gpugen.validate.keys import keys_of
from support import TESTS

BASE = TESTS / "data" / "hostile" / "base.yaml"
REMOVED = object()


@cache
def base() -> dict[str, Any]:
    document, _ = load(BASE, BASE.parent)
    assert document is not None
    return document.data


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Set values at pointers of a valid spec."""
    spec = copy.deepcopy(base())
    for pointer, value in changes.items():
        *path, last = Pointer(pointer).parts
        node: Any = spec
        for part in path:
            node = node[int(part)] if isinstance(node, list) else node[part]
        if value is REMOVED:
            del node[last]
        elif isinstance(node, list):
            node[int(last)] = value
        else:
            node[last] = value
    return spec


def said(changes: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return pointer, message and hint of every finding."""
    return [(f.at, f.message, f.hint) for f in validate(changed(changes))]


def test_the_base_is_valid() -> None:
    assert validate(base()) == []


@pytest.mark.parametrize(
    ("changes", "at", "message", "hint"),
    [
        ({"/foo": 1}, "/foo", "unknown key 'foo'", "remove it; allowed keys are access, "),
        ({"/nmae": "x", "/name": REMOVED}, "/nmae", "unknown key 'nmae'", "did you mean 'name'?"),
        (
            {"/pools/1/mode": "mps"},
            "/pools/1/mode",
            "unknown key 'mode' in entry 'inference' of pools",
            "'mode' belongs under pools[].sharing",
        ),
        (
            {"/pools/0/mig/gpu": {}},
            "/pools/0/mig/gpu",
            "unknown key 'gpu' in mig",
            "'gpu' belongs under pools[]",
        ),
        (
            {"/access/images": {}},
            "/access/images",
            "unknown key 'images' in access",
            "'images' belongs at the top level",
        ),
        (
            {"/pools/1/time_slicing": {}},
            "/pools/1/time_slicing",
            "unknown key 'time_slicing' in entry 'inference' of pools",
            "'time_slicing' is a value of pools[].sharing.mode",
        ),
        (
            {"/kubernetes/version": REMOVED},
            "/kubernetes",
            "kubernetes is missing the required key 'version'",
            'write version: "1.36" (Minor version of the control plane, quoted)',
        ),
        (
            {"/pools/1/gpu": "t4"},
            "/pools/1/gpu",
            "gpu: expected a mapping, got the text 't4'",
            'write a mapping such as {model: "h100-sxm5-80gb", count: 8}',
        ),
        (
            {"/pools/0/gpu/count": True},
            "/pools/0/gpu/count",
            "count: expected a whole number, got true",
            "write a whole number such as 8",
        ),
        (
            {"/pools/0/taints/0/value": None},
            "/pools/0/taints/0/value",
            "value has no value: null",
            "remove the key, or write a value such as present",
        ),
        (
            {"/pools/0/mig/layout/0/gpus": "al"},
            "/pools/0/mig/layout/0/gpus",
            "gpus: expected the word all, or a list of GPU indices such as [0, 1], got the"
            " text 'al'",
            "did you mean all?",
        ),
        (
            {"/pools/0/mig/layout/0/gpus": [0, "1"]},
            "/pools/0/mig/layout/0/gpus/1",
            "an entry of gpus: expected a whole number, got the text '1'",
            "write 1 without quotes",
        ),
        (
            {"/components/grafana": "on"},
            "/components/grafana",
            "grafana: expected true or false or a mapping, got the text 'on'",
            "write true",
        ),
        (
            {"/name": "a\x1b[31m\u202eb"},
            "/name",
            "name is the text 'a\\x1b[31m\\u202eb'; expected at most 40 lower-case letters, digits"
            " and hyphens, with a letter or digit at both ends",
            "write for example lab",
        ),
        (
            {"/name": "x" * 100},
            "/name",
            f"name is the text '{'x' * 39}…'; expected at most 40 lower-case letters, digits and"
            " hyphens, with a letter or digit at both ends",
            "write for example lab",
        ),
        (
            {"/pools/0/labels": {"a b": "c"}},
            "/pools/0/labels/a b",
            "the key 'a b' is not valid; expected a Kubernetes label key such as example.com/team",
            "write a-b",
        ),
        (
            {"/components/prometheus/mode:": None},
            "/components/prometheus/mode:",
            "unknown key 'mode:' in prometheus",
            "write mode: with a space and a value after the colon",
        ),
        (
            {"/pools/0/gpu/count": 72},
            "/pools/0/gpu/count",
            "count is 72; expected 1 to 16",
            "write 1 to 16",
        ),
        (
            {"/drain": {"timeout": 30}},
            "/drain/timeout",
            "timeout: expected text, got the number 30",
            "write 30s or 30m",
        ),
        (
            {"/drain": {"timeout": "30 minutes"}},
            "/drain/timeout",
            "timeout is the text '30 minutes'; expected a duration such as 30s, 5m or 1h",
            'write "30m"',
        ),
        (
            {"/components/dcgm-exporter": {"interval": "1m"}},
            "/components/dcgm-exporter/interval",
            "interval is the text '1m'; expected seconds from 1s to 120s, such as 15s",
            'write "60s"',
        ),
        (
            {"/hostDefaults/tuning": {"powerLimitWatts": "200W"}},
            "/hostDefaults/tuning/powerLimitWatts",
            "powerLimitWatts: expected a whole number, got the text '200W'",
            "write 200",
        ),
        (
            {"/hostDefaults/tuning": {"hugepages": {"2Mi": "16Gi"}}},
            "/hostDefaults/tuning/hugepages/2Mi",
            "2Mi: expected a whole number, got the text '16Gi'",
            "write a whole number such as 1024",
        ),
        (
            {"/pools/0/mig/layout/0/gpus": "0-3"},
            "/pools/0/mig/layout/0/gpus",
            "gpus: expected the word all, or a list of GPU indices such as [0, 1], got the"
            " text '0-3'",
            "list each GPU: [0, 1, 2, 3]",
        ),
        (
            {"/pools/1/hosts/0": "t4-[0001:9999999].x"},
            "/pools/1/hosts/0",
            "an entry of hosts is the text 't4-[0001:9999999].x'; expected a host name, or an"
            " Ansible range of them such as gpu-[01:16].lab.example",
            "write at most 6 digits on each side of a range, such as [0001:1200]",
        ),
        (
            {"/pools/1/hosts/0": {"name": "t4", "address": "10.20.0.17/24"}},
            "/pools/1/hosts/0/address",
            "address is the text '10.20.0.17/24'; expected an IP address or a host name",
            'write "10.20.0.17"; without the prefix length',
        ),
        (
            {"/pools/1/sharing": {"mode": "mps", "resources": {"nvidia.com/gpu": 1}}},
            "/pools/1/sharing/resources/nvidia.com~1gpu",
            "nvidia.com/gpu is 1; expected 2 to 1000 replicas",
            "write at least 2, or remove the resource: resources that are not listed are not"
            " shared",
        ),
    ],
)
def test_words(changes: dict[str, Any], at: str, message: str, hint: str) -> None:
    ((found_at, found_message, found_hint),) = said(changes)
    assert (found_at, found_message) == (at, message)
    assert found_hint == hint or (hint.endswith(" ") and found_hint.startswith(hint))


def test_a_wrong_value_hides_no_key_that_is_missing() -> None:
    """A hint to leave a key out is none to leave out the mapping that it stands in."""
    base = {"apiVersion": "gpugen/v1", "kind": "Cluster", "name": "a", "stack": "gpu-operator"}
    assert {f.id for f in validate(base)} == {"schema-value", "schema-missing-key"}


HIDDEN = {  # an unknown key whose hint mentions a key that it does not replace -> what is missing
    "memory": ({"/pools/0/gpu": {"count": 8, "memory": 80}}, "/pools/0/gpu", "'model'"),
    "timeSlicing": (
        {"/pools/0": {"name": "a", "hosts": ["a.example"], "timeSlicing": {}}},
        "/pools/0",
        "'gpu'",
    ),
    "vars": (
        {"/pools/0": {"name": "a", "gpu": {"model": "t4", "count": 1}, "vars": {}}},
        "/pools/0",
        "'hosts'",
    ),
    "flux": ({"/name": REMOVED, "/flux": {}}, "", "'name'"),
}


@pytest.mark.parametrize("key", HIDDEN)
def test_a_hint_hides_no_key_that_it_only_mentions(key: str) -> None:
    changes, at, name = HIDDEN[key]
    missing = [f for f in validate(changed(changes)) if f.id == "schema-missing-key"]
    assert [(f.at, f.message.endswith(f"the required key {name}")) for f in missing] == [(at, True)]


def test_what_a_hint_replaces_is_a_key_of_its_mapping() -> None:
    root = combined_schema()
    for schema in walk(root):
        known = {*keys_of(schema, root), *(["extends"] if schema is root else [])}
        for stated in schema.get("x-instead", {}).values():
            hint, *replaced = [stated] if isinstance(stated, str) else stated
            assert set(replaced) <= known, hint
            assert isinstance(stated, str) or replaced, hint


def test_keys_are_marked_as_such() -> None:
    (unknown,) = validate(changed({"/foo": 1}))
    (missing,) = validate(changed({"/release": REMOVED}))
    (wrong,) = validate(changed({"/release": "x"}))
    assert (unknown.at_key, missing.at_key, wrong.at_key) == (True, True, False)


def test_more_than_a_hundred_findings_are_counted() -> None:
    found = validate(changed({"/pools/1/hosts": [f"host {n}" for n in range(150)]}))
    assert len(found) == 101
    assert (found[-1].id, found[-1].message) == ("schema-more", "and 50 more findings")
    found = validate(changed({"/pools/1/hosts": [f"host {n}" for n in range(15000)]}))
    assert found[-1].message == "and more than 1000 more findings"


def test_many_equal_mappings_are_found_at_once() -> None:
    hosts = [{"name": f"h{n}"} for n in range(3000)]
    assert list(engines._unique_items(None, True, hosts, {})) == []
    (error,) = engines._unique_items(None, True, [*hosts, {"name": "h7"}], {})
    assert list(error.path) == [3000]


def test_texts_longer_than_any_field_are_refused_before_a_pattern_sees_them() -> None:
    found = validate(changed({"/name": "a" * 60000, "/description": "b" * 4096}))
    assert [(f.id, f.at) for f in found] == [("schema-size", "/name")]
    found = validate(changed({"/pools/0/labels": {"a" * 5000: "x"}}))
    assert [(f.id, f.at) for f in found] == [("schema-size", "/pools/0/labels")]


def test_verdict_without_the_native_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jsonschema_rs", None)
    engines.native_verdict.cache_clear()
    try:
        assert engines.native_verdict() is None
        assert validate(base()) == []
        assert [f.id for f in validate(changed({"/foo": 1}))] == ["schema-unknown-key"]
    finally:
        monkeypatch.undo()
        engines.native_verdict.cache_clear()
    assert engines.native_verdict() is not None


def test_every_id_has_a_reason() -> None:
    assert all(name.startswith("schema-") and reason.endswith(".") for name, reason in WHY.items())


def walk(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping of a schema."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from walk(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from walk(value)


def test_the_combined_schema_is_a_schema_that_refers_to_itself_only() -> None:
    schema = combined_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in walk(schema):
        reference = part.get("$ref", "#/$defs/pool")
        if isinstance(reference, str):
            assert reference.removeprefix("#/$defs/") in schema["$defs"]


def test_every_component_with_options_may_be_mentioned() -> None:
    places = combined_schema()["properties"]["components"]["properties"]
    assert set(places) == {name for name in components.names() if components.options_schema(name)}


def test_references_lead_nowhere_else() -> None:
    with pytest.raises(ValueError, match="refer only to themselves"):
        engines._refuse("file:///etc/passwd")


def test_patterns_end_at_the_end_of_the_text() -> None:
    """A pattern that ends in a bare dollar lets a trailing line end through in Python."""
    for part in walk(combined_schema()):
        pattern = part.get("pattern")
        if isinstance(pattern, str) and "$" in pattern:
            assert pattern.endswith(("$(?!\\n)", "\\$\\())")), pattern


@pytest.mark.parametrize(
    "address",
    [
        "https://git.example/x.git?private_token=hunter2hunter2",
        "https://git.example/?a=1&access_key=hunter2",
        "https://git.example/x#hunter2",
        "https://hunter2@git.example/x",
        "https://me:hunter2@git.example/x",
        "https://git.example/hunter2@x",
        "oci://hunter2@r.example/x",
        "ssh://git:hunter2@h.example/x",
        "git@h.example:x?t=hunter2",
        "http://h.example/?hunter2",
    ],
)
def test_what_an_address_carries_is_refused_and_never_shown(address: str) -> None:
    (found,) = validate(changed({"/delivery": {"engine": "argocd", "repoURL": address}}))
    assert found.at == "/delivery/repoURL"
    assert "hunter2" not in found.message + found.hint
    assert "write" in found.hint or "remove" in found.hint

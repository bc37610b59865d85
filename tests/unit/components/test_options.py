"""Records of options: their fields are the properties of the schemas, and defaults fill them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from gpugen import components
from gpugen.model.options import DcgmExporter, NodeFeatureDiscovery, Prometheus, WebConfig
from support.component_specs import cluster

WITH_OPTIONS = [name for name in components.names() if components.options_schema(name)]
EMPTY = {"runtime-class"}  # may be switched on and off, and has no options


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def unlike(kind: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """Yield where a record's fields are not the schema's properties in their order."""
    fields = [name for name in kind._fields if name not in kind._field_defaults]
    listed = [name for name in map(snake, schema["properties"]) if name not in kind._field_defaults]
    if fields != listed or set(kind._fields) != set(map(snake, schema["properties"])):
        yield f"{where}: {kind._fields} is not {list(schema['properties'])}"
    hints = get_type_hints(kind)
    for key, part in schema["properties"].items():
        hint = hints[snake(key)]
        inner = next((one for one in (hint, *get_args(hint)) if hasattr(one, "_fields")), None)
        if inner:
            yield from unlike(inner, part.get("items", part), f"{where}.{key}")


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_a_record_has_the_fields_of_the_schema(name: str) -> None:
    schema = components.options_schema(name)
    kind = components.find(name).options
    assert schema is not None
    assert (kind is None) == (name in EMPTY)
    assert kind is None or list(unlike(kind, schema, name)) == []


@pytest.mark.parametrize("name", components.names())
def test_defaults_alone_make_the_record(name: str) -> None:
    options = components.options_of(name, {})
    assert (options is None) == (name not in WITH_OPTIONS or name in EMPTY)


def test_lists_are_tuples_and_mappings_records_all_the_way() -> None:
    web = {"secret": "web", "basicAuth": True, "scrapeSecret": "scrape"}
    added = {"field": "DCGM_FI_DEV_FAN_SPEED", "type": "gauge", "help": "Fan."}
    stated = {"webConfig": web, "metrics": {"add": [added]}, "podLabels": ["app"]}
    own = cluster(components={"dcgm-exporter": stated}).own(DcgmExporter)
    assert own.web_config == WebConfig(
        "web", "https", None, basic_auth=True, scrape_secret="scrape"
    )
    assert [row.field for row in own.metrics.add] == [added["field"]]
    assert own.metrics.remove == ()
    assert own.pod_labels == ("app",)
    assert own.profiling is None


def test_a_component_that_is_off_has_no_options() -> None:
    spec = cluster(components={"dcgm-exporter": False})
    assert spec.find(DcgmExporter) is None
    assert spec.find(Prometheus) is None
    assert spec.own(NodeFeatureDiscovery).resources.worker["requests"]
    with pytest.raises(LookupError, match="DcgmExporter"):
        spec.own(DcgmExporter)

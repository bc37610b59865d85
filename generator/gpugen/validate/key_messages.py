"""Messages about keys that the schema does not know, or requires."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpugen.model.finding import Finding
from gpugen.text.spelling import quoted
from gpugen.validate.combined import combined_schema
from gpugen.validate.examples import example_of
from gpugen.validate.joining import Worded
from gpugen.validate.keys import advice, keys_of, resolved
from gpugen.validate.violations import name_of, place_of, pointer_of


def unknown_keys(error: Any) -> Iterator[Worded]:
    """Return a finding per key that the schema does not know."""
    known = list(keys_of(error.schema, combined_schema()))
    place, pointer = place_of(error), pointer_of(error)
    where = f" in {name_of(error)}" if error.absolute_path else ""
    for key, value in error.instance.items():
        if key in known:
            continue
        found = advice(key, error.schema, place, combined_schema())
        inside = tuple((*place, inner) for inner in value) if isinstance(value, dict) else ()
        message = f"unknown key {quoted(key)}{where}"
        finding = Finding("schema-unknown-key", message, found.hint, pointer / key, at_key=True)
        yield Worded(finding, "", key, (*found.settles, *inside), found.shared, where, found.act)


def missing_key(error: Any) -> Iterator[Worded]:
    """Return the finding for one required key; the error's message is its name."""
    key = error.message
    schema = resolved(keys_of(error.schema, combined_schema()).get(key, {}), combined_schema())
    about = re.split(r"[.:;] |\.$", schema.get("description", ""), maxsplit=1)[0]
    example = example_of(schema)
    hint = f"write {key}: {example}" if example else f"add the key {key}"
    whole = f"{hint} ({about})" if about else hint
    message, at = f"{name_of(error)} is missing the required key '{key}'", pointer_of(error)
    finding = Finding("schema-missing-key", message, whole, at, at_key=True)
    yield Worded(finding, missing=key, where=name_of(error), shared=hint)

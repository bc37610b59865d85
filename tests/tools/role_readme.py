"""The README of each role, from its argument_specs.

python tests/tools/role_readme.py           # rewrites roles/*/README.md
python tests/tools/role_readme.py --check   # exits 1 where one is stale, and names it
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]

ROLES = ROOT / "roles"
HEAD = "<!-- Written by tests/tools/role_readme.py from meta/argument_specs.yml; edit that. -->\n"
TABLE = ["| variable | type | default | meaning |", "| --- | --- | --- | --- |"]


def roles() -> list[str]:
    """List the roles, sorted."""
    return sorted(path.parent.parent.name for path in ROLES.glob("*/meta/argument_specs.yml"))


def page(role: str) -> str:
    """Return the README of a role."""
    text = (ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    entries = yaml.safe_load(text)["argument_specs"]
    main = entries["main"]
    lines = [f"{HEAD}# {role}", "", f"{_prose(main['short_description'])}.", ""]
    lines += [f"- {_prose(item)}" for item in main.get("description", [])]
    lines += ["", "## Entry points", ""]
    lines += [f"- `{name}`: {_prose(spec['short_description'])}." for name, spec in entries.items()]
    lines += ["", "## Variables", "", *TABLE, *_rows(main["options"], "")]
    return "\n".join(lines) + "\n"


def _rows(options: dict[str, Any], prefix: str) -> Iterator[str]:
    """Return a row per variable, and below it one per field of a list of mappings."""
    for name, option in options.items():
        cells = (f"`{prefix}{name}`", _kind(option), _default(option), _meaning(option))
        yield f"| {' | '.join(cells)} |"
        yield from _rows(option.get("options", {}), f"{prefix}{name}[].")


def _kind(option: dict[str, Any]) -> str:
    elements = option.get("elements")
    return f"{option['type']} of {elements}" if elements else option["type"]


def _default(option: dict[str, Any]) -> str:
    if option.get("required"):
        return "required"
    return f"`{yaml.safe_dump(option.get('default'), default_flow_style=True).splitlines()[0]}`"


def _meaning(option: dict[str, Any]) -> str:
    description = option["description"]
    text = " ".join(description) if isinstance(description, list) else description
    choices = ", ".join(f"`{choice}`" for choice in option.get("choices", ()))
    return _prose(text).replace("|", "\\|") + (f" One of {choices}." if choices else "")


def _prose(text: str) -> str:
    """Return Ansible's markup as Markdown."""
    return re.sub(r"C\(([^)]*)\)", r"`\1`", text)


def main() -> None:
    """Write the pages, or tell which are stale."""
    stale = [role for role in roles() if _current(role) != page(role)]
    if "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale)}" if stale else 0)
    for role in stale:
        (ROLES / role / "README.md").write_text(page(role), encoding="utf-8")
        print(f"roles/{role}/README.md")


def _current(role: str) -> str:
    path = ROLES / role / "README.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    main()

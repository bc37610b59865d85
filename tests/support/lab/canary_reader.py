"""Has Ansible's own code read rendered plays: every variable, default and template, every ssh line.

python canary_reader.py FOLDER... --roles FOLDER...

Each folder holds site.yml and so on; JSON is printed. Those behind --roles have the roles'
defaults, variables and templates worked out, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader, init_plugin_loader
from ansible.template import Templar, trust_as_template
from ansible.vars.manager import VariableManager

COLLECTION = Path(__file__).parents[3]
FACTS = {
    "kernel": "6.8.0-31-generic",
    "architecture": "x86_64",
    "pkg_mgr": "apt",
    "distribution": "Ubuntu",
    "distribution_version": "24.04",
    "distribution_major_version": "24",
    "service_mgr": "systemd",
    "python": {"executable": "/usr/bin/python3"},
}


class Reader:
    """Reads one folder and counts what was worked out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loader = DataLoader()
        self.loader.set_basedir(str(folder))
        inventory = InventoryManager(loader=self.loader, sources=[str(folder / "inventory")])
        manager = VariableManager(loader=self.loader, inventory=inventory)
        self.hosts = {host.name: manager.get_vars(host=host) for host in inventory.get_hosts()}
        self.worked_out = 0
        self.lines: list[list[str]] = []

    def read(self, *, roles: bool) -> dict[str, Any]:
        """Work out what every host has, and for one host what plays and roles make of it."""
        defaults, values = self._of_roles("defaults"), self._of_roles("vars")
        values |= self._load(COLLECTION / "playbooks/vars/run.yml")
        plays = self._plays()
        for name, own in self.hosts.items():
            self._evaluate(own, own)
            if own.get("ansible_connection", "ssh") != "local":
                self.lines.append(self._line(name, own))
        own = next(own for own in self.hosts.values() if "gpugen_pool" in own)
        stub = {"ansible_facts": FACTS, "playbook_dir": str(self.folder)}
        variables = {**defaults, **own, **values, **stub}
        for play in plays:
            self._evaluate([play], {**variables, **play.get("vars", {})})
        if roles:
            self._evaluate([defaults, values], variables)
            self._render(variables)
        return {"hosts": len(self.hosts), "workedOut": self.worked_out, "lines": self.lines}

    def _plays(self) -> list[dict[str, Any]]:
        files = sorted([*self.folder.glob("*.yml"), *COLLECTION.glob("playbooks/*.yml")])
        return [play for path in files for play in self._load(path)]

    def _load(self, path: Path) -> Any:
        return self.loader.load_from_file(str(path), trusted_as_template=True)

    def _of_roles(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in sorted(COLLECTION.glob(f"roles/*/{kind}/**/*.yml")):
            found |= self._load(path) or {}
        return found

    def _evaluate(self, value: Any, variables: dict[str, Any]) -> None:
        templar = Templar(loader=self.loader, variables=variables)
        for text in _texts(value):
            try:
                templar.template(text)
            except Exception:  # noqa: BLE001 - what a task would have found is not there
                continue
            self.worked_out += 1

    def _render(self, variables: dict[str, Any]) -> None:
        for path in sorted(COLLECTION.glob("roles/*/templates/*.j2")):
            whole = trust_as_template(f"{{{{ lookup('ansible.builtin.template', '{path}') }}}}")
            role = str(path.parents[1])
            own = {"ansible_search_path": [role], "role_path": role}
            self._evaluate([whole], {**variables, **own})

    def _line(self, name: str, own: dict[str, Any]) -> list[str]:
        """Return the command line by which Ansible would reach a host."""
        templar = Templar(loader=self.loader, variables=own)
        options = {}
        for key, value in own.items():
            if key.startswith("ansible_"):
                try:
                    options[key] = templar.template(value)
                except Exception:  # noqa: BLE001 - not of the connection
                    continue
        context = PlayContext()
        context.remote_addr = str(options.get("ansible_host", name))
        connection = connection_loader.get("ansible.builtin.ssh", context)
        connection.set_options(var_options={**options, "inventory_hostname": name})
        host = connection.get_option("host") or name
        line = connection._build_command("ssh", "ssh", host, "true")
        return [part.decode() if isinstance(part, bytes) else str(part) for part in line]


def _texts(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def main(folders: list[str]) -> None:
    """Read every folder."""
    init_plugin_loader()
    split = folders.index("--roles")
    plain, whole = folders[:split], folders[split + 1 :]
    found = {folder: Reader(Path(folder)).read(roles=False) for folder in plain}
    found |= {folder: Reader(Path(folder)).read(roles=True) for folder in whole}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])

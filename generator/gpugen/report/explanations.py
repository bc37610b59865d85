"""What ``gpugen explain`` says of every finding, by its id."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from gpugen import checks
from gpugen.checks import fleet
from gpugen.model.finding import Severity

WARNINGS = fleet.WARNINGS | {  # of the stages; whatever else they find stops the run
    *("output-without-spec", "output-foreign", "folder-without-spec"),
    *("host-without-spec", "pool-without-spec", "role-without-spec"),
}
_OF_NAMES = {
    "unknown-release": "The catalogue has no such release, which is a set of component versions.",
    "unknown-distribution": "The catalogue has no such Kubernetes distribution.",
    "unknown-kubernetes-version": "gpugen knows the minor versions that upstream supports, and two"
    " older ones.",
    "unknown-gpu-model": "The catalogue has no such board; a row of your own may add it"
    " (docs/specs/catalog.md).",
    "unknown-operating-system": "The catalogue has no such host system.",
    "unknown-driver-branch": "The catalogue has no such driver branch; it is the first number of"
    " the driver's version.",
    "host-missing-settings": "Neither hostDefaults nor the pool says what its hosts are to be"
    " brought to: system, driver, toolkit.",
    "host-missing-os": "Without the operating system no package names can be known.",
    "host-missing-driver-version": "Driver versions are exact and written in the spec:"
    " nothing moves by itself.",
    "host-missing-container-toolkit-version": "Toolkit versions are exact and written in the"
    " spec: nothing moves by itself.",
    "cluster-name-folder": "The name of a cluster, of its folder below inventories/ and of its"
    " output are one.",
    "repository-key-file": "The package repository's public key is copied into the output and"
    " checked by its fingerprint on each host.",
    "output-without-spec": "A folder of out/ carries gpugen's index, but its spec is gone. Its"
    " hosts keep what was done there until remove.yml takes it back, so run that before the"
    " change is merged. Nothing is deleted without --prune, and ansible/ with its remove.yml"
    " stays until --hosts-clean names the cluster.",
    "output-differs": "render --check: the file is not what the specs render to, whatever the"
    " index beside it says of it.",
    "output-foreign": "gpugen did not write this path in out/. Nothing there but its own files is"
    " ever changed or deleted, and render --check fails until it is gone: Ansible and delivery"
    " engines would take what lies there for part of the output.",
    "host-without-spec": "A host that the plays served is named by no pool any more. What they"
    " did stays on it: driver, kubelet settings, labels, taints. remove.yml of the tree as it"
    " was takes it back, before the change is merged (docs/hosts/rollout.md).",
    "pool-without-spec": "A pool is gone from the spec. Hosts that leave with it keep what the"
    " plays did. Hosts that are in another pool now keep the label of the old one until the"
    " play runs, and no agent serves them in the meantime.",
    "role-without-spec": "The plays had a role that nothing in the spec asks for any more, so"
    " they leave it out; what it did stays on the hosts. Its removal is part of the plays as"
    " they were before: ansible-playbook remove.yml --tags <role> -e gpugen_remove=true"
    " (docs/hosts/rollout.md).",
    "spec-not-seen": "A path below inventories/ looks like a cluster's spec, but it is not where"
    " specs are read: inventories/<cluster>/cluster.yaml, a file. Its cluster must not be"
    " taken for one that is gone, so nothing is rendered or deleted. A spec in a folder that"
    " begins with _ or a dot is a warning, and its output stays.",
    "folder-without-spec": "A folder below inventories/ holds nothing that looks like a spec, so"
    " it is no cluster. Folders that begin with _ are for layers and other files.",
}


class Explanation(NamedTuple):
    """What is to say of the findings with one id; tags: its numbers in lists of others."""

    text: str
    severity: str
    tags: tuple[str, ...] = ()


def findings() -> dict[str, Explanation]:
    """Return id -> explanation of everything that a finding can say, sorted by id."""
    weights = dict.fromkeys(WARNINGS, Severity.WARNING)
    found = {
        name: Explanation(text, weights.get(name, Severity.ERROR))
        for name, text in of_stages().items()
    }
    for check in checks.discover():
        text = inspect.cleandoc(check.explanation)
        found[check.id] = Explanation(text, check.severity, check.tags)
    return dict(sorted(found.items()))


def of_stages() -> dict[str, str]:
    """Return a sentence or more per id of a finding, sorted by id."""
    from gpugen import load, validate
    from gpugen.catalog.words import FAULTS

    of_rows = {name: words.why for name, words in FAULTS.items()}
    return dict(sorted({**load.why(), **validate.WHY, **of_rows, **_OF_NAMES, **fleet.WHY}.items()))

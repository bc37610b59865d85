"""The explanations of ``gpugen explain``, by finding id."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from gpugen import checks
from gpugen.checks import fleet
from gpugen.model.finding import Severity
from gpugen.report import settings

WARNINGS = (
    fleet.WARNINGS
    | settings.WARNINGS
    | {  # of the stages; their other findings are errors
        *("output-without-spec", "output-foreign", "folder-without-spec", "hosts-contract"),
        *("host-without-spec", "pool-without-spec", "role-without-spec"),
    }
)
_OF_NAMES = {
    "unknown-release": "The catalogue has no such release, which is a set of component versions.",
    "unknown-distribution": "The catalogue has no such Kubernetes distribution.",
    "unknown-kubernetes-version": (
        "gpugen supports the Kubernetes minor versions that upstream supports, and two older ones."
    ),
    "unknown-gpu-model": (
        "The catalogue has no such GPU model; your repository can add it (docs/specs/catalog.md)."
    ),
    "unknown-operating-system": "The catalogue has no such operating system.",
    "unknown-driver-branch": (
        "The catalogue has no such driver branch (the first number of the driver's version)."
    ),
    "host-missing-settings": (
        "Neither hostDefaults nor the pool states operating system, driver"
        " and container toolkit of its hosts."
    ),
    "host-missing-os": "Package names depend on the operating system, so it must be stated.",
    "host-missing-driver-version": (
        "The exact driver version must be stated: gpugen never changes a version on its own."
    ),
    "host-missing-container-toolkit-version": (
        "The exact container toolkit version must be"
        " stated: gpugen never changes a version on its"
        " own."
    ),
    "cluster-name-folder": (
        "A cluster's name must be that of its folder below inventories/, which"
        " is also that of its output."
    ),
    "repository-key-file": "The package repository's public key is copied into the output and"
    " checked by its fingerprint on each host.",
    "output-without-spec": (
        "A folder of out/ has gpugen's index but no spec. gpugen's changes remain on its hosts"
        " until remove.yml reverts them, so run that before merging. Nothing is deleted without"
        " --prune, and ansible/ with its remove.yml is kept until --hosts-clean names the"
        " cluster."
    ),
    "hosts-contract": (
        "The collection in out/_hosts is shared, and a run for some clusters renews it for all. The"
        " variables of the clusters named follow another contract, so the first task of their plays"
        " fails until they are rendered, too (docs/hosts/collection.md)."
    ),
    "output-differs": "render --check: the file differs from what the specs render to.",
    "output-foreign": (
        "gpugen did not write this path in out/. It never changes or deletes such files, but"
        " render --check fails until they are gone: Ansible and delivery engines would use them"
        " as part of the output."
    ),
    "host-without-spec": (
        "A host of the previous output is in no pool any more. The changes of"
        " gpugen's plays remain on it: driver, container runtime, labels,"
        " taints. To revert them, run remove.yml of the previous output before"
        " merging (docs/hosts/rollout.md)."
    ),
    "pool-without-spec": (
        "A pool was removed from the spec. The changes of gpugen's plays remain"
        " on hosts that left with it. Hosts that are in another pool now keep"
        " the old pool's label until the play runs, so no agent runs there in"
        " the meantime."
    ),
    "role-without-spec": (
        "The spec no longer uses a role of the previous output; the role's changes remain on the"
        " hosts. To revert them, run the previous plays: ansible-playbook remove.yml --tags"
        " <role> -e gpugen_remove=true (docs/hosts/rollout.md)."
    ),
    "spec-not-seen": (
        "A path below inventories/ looks like a cluster's spec, but specs are read"
        " only from inventories/<cluster>/cluster.yaml. Its cluster must not be"
        " mistaken for a removed one, so nothing is rendered or deleted. A spec in a"
        " folder that begins with _ or a dot is a warning, and its output is kept."
    ),
    "folder-without-spec": (
        "A folder below inventories/ contains no spec, so it is not a cluster."
        " Folders that begin with _ are for layers and other files."
    ),
}


class Explanation(NamedTuple):
    """The explanation of a finding's id."""

    text: str
    severity: str


def findings() -> dict[str, Explanation]:
    """Return id -> explanation of every finding, sorted by id."""
    weights = dict.fromkeys(WARNINGS, Severity.WARNING)
    found = {
        name: Explanation(text, weights.get(name, Severity.ERROR))
        for name, text in of_stages().items()
    }
    for check in checks.discover():
        text = inspect.cleandoc(check.explanation)
        found[check.id] = Explanation(text, check.severity)
    return dict(sorted(found.items()))


def of_stages() -> dict[str, str]:
    """Return a sentence or more per id of a finding, sorted by id."""
    from gpugen import load, validate
    from gpugen.catalog.messages import FAULTS

    of_rows = {name: words.why for name, words in FAULTS.items()}
    return dict(
        sorted(
            {
                **load.why(),
                **validate.WHY,
                **of_rows,
                **_OF_NAMES,
                **fleet.WHY,
                **settings.WHY,
            }.items()
        )
    )

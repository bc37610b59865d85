"""What ``gpugen explain`` says of findings that are no check's: those of the other stages."""

from __future__ import annotations

WARNINGS = frozenset(
    {"output-without-spec", "role-without-spec"}
)  # of the stages; whatever else they find stops the run
_OF_NAMES = {
    "unknown-release": "The catalogue has no such release, which is a set of component versions.",
    "unknown-distribution": "The catalogue has no such Kubernetes distribution.",
    "unknown-kubernetes-version": "gpugen knows the minor versions that upstream supports, and two"
    " older ones.",
    "unknown-gpu-model": "The catalogue has no such board; a row of your own may add it"
    " (docs/catalog.md).",
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
    "output-without-spec": "A folder of out/ carries gpugen's index, but its spec is gone. Nothing"
    " is deleted without --prune.",
    "role-without-spec": "The plays had a role that nothing in the spec asks for any more, so they"
    " leave it out; what it did stays on the hosts. Its removal is part of the plays as they were"
    " before: ansible-playbook remove.yml --tags <role> -e gpugen_remove=true (docs/hosts.md).",
}


def of_stages() -> dict[str, str]:
    """Return a sentence or more per id of a finding, sorted by id."""
    from gpugen import load, validate
    from gpugen.catalog.words import FAULTS

    of_rows = {name: words.why for name, words in FAULTS.items()}
    return dict(sorted({**load.why(), **validate.WHY, **of_rows, **_OF_NAMES}.items()))

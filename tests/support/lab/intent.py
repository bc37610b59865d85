"""What a spec states, in its own words, and whether the programs did that and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gpugen.model.prediction import Prediction
from support.lab.laboratory import Observed

WHOLE = "nvidia.com/gpu"
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def refusals(pool: Mapping[str, Any], observed: Observed) -> list[str]:
    """Return why the programs refused a pool: one ended, ignored a stated key, or did otherwise.

    pool: as it stands in the spec. Empty: they did what it states.
    """
    return [
        *_ended(observed),
        *_other_instances(pool, observed),
        *_other_resources(pool, observed),
        *_other_limit(pool, observed),
        *_invalid_labels(observed),
    ]


def lost_labels(observed: Observed) -> list[str]:
    """Return the labels that no node gets, because Kubernetes takes their value for no label's.

    Source: Kubernetes, labels and selectors, syntax.
    """
    labels = observed.labelling.labels
    return sorted(name for name, value in labels.items() if not LABEL_VALUE.fullmatch(value))


def checked_labels(observed: Observed, prediction: Prediction) -> dict[str, str]:
    """Return the labels that feature discovery printed, less those of which we foretell nothing."""
    labels = observed.labelling.labels
    return {n: value for n, value in labels.items() if n not in prediction.unknown_labels}


def stated_instances(pool: Mapping[str, Any]) -> list[list[dict[str, int]]]:
    """Return for each GPU of a node what each entry that names it says."""
    count = pool["gpu"]["count"]
    said: list[list[dict[str, int]]] = [[] for _ in range(count)]
    for entry in pool.get("mig", {}).get("layout", ()):
        for index in range(count) if entry["gpus"] == "all" else entry["gpus"]:
            if index < count:
                said[index].append(entry["profiles"])
    return said


def _ended(observed: Observed) -> Iterator[str]:
    complaints = {
        "mig-parted": observed.mig.complaint,
        "MPS daemon": observed.daemon_complaint,
        "device plugin": observed.offer.complaint,
        "feature discovery": observed.labelling.complaint,
    }
    yield from (f"{name}: {text}" for name, text in complaints.items() if text)


def _other_instances(pool: Mapping[str, Any], observed: Observed) -> Iterator[str]:
    """Yield what the GPUs carry instead of what was stated, and what nobody can do or undo."""
    count = pool["gpu"]["count"]
    if "layout" in pool.get("mig", {}) and not _knows_mig(observed):
        yield "mig-parted passes over GPU models that know no MIG"
    for entry in pool.get("mig", {}).get("layout", ()):
        if entry["gpus"] != "all" and max(entry["gpus"]) >= count:
            yield f"no GPU {max(entry['gpus'])}"
    for index, said in enumerate(stated_instances(pool)):
        if any(dict(each) != observed.mig.layouts[index] for each in said):
            yield f"GPU {index} carries {observed.mig.layouts[index]}"


def _knows_mig(observed: Observed) -> bool:
    return observed.labelling.labels.get("nvidia.com/mig.capable", "true") == "true"


def _other_resources(pool: Mapping[str, Any], observed: Observed) -> Iterator[str]:
    wanted = _stated_resources(pool)
    found = dict(observed.offer.resources)
    if not observed.offer.complaint and found != wanted:
        yield f"registered {found} instead of {wanted}"


def _stated_resources(pool: Mapping[str, Any]) -> dict[str, int]:
    """Return the units per resource that the spec speaks of, dead entries included."""
    devices: Counter[str] = Counter()
    strategy = pool.get("mig", {}).get("strategy", "none")
    for said in stated_instances(pool):
        instances = said[-1] if said else {}
        for profile, count in instances.items():
            single = strategy == "single"
            devices[WHOLE if single else "nvidia.com/mig-" + profile.replace("+", ".")] += count
        devices[WHOLE] += not instances
    sharing = pool.get("sharing", {})
    units = {name: count for name, count in devices.items() if count}
    for name, replicas in sharing.get("resources", {}).items():
        own = units.pop(name, 0)
        units[f"{name}.shared" if sharing.get("rename") else name] = own * replicas
    return units


def _other_limit(pool: Mapping[str, Any], observed: Observed) -> Iterator[str]:
    """Yield where two units of a shared resource are granted or refused against the spec."""
    sharing = pool.get("sharing", {})
    wanted = sharing.get("failRequestsGreaterThanOne", True)
    for name in sharing.get("resources", {}):
        effective = f"{name}.shared" if sharing.get("rename") else name
        if observed.offer.refuses_two.get(effective, wanted) != wanted:
            yield f"two units of {effective} are {'granted' if wanted else 'refused'}"


def _invalid_labels(observed: Observed) -> Iterator[str]:
    """Yield feature discovery's word for a layout that does not fit the strategy."""
    for name, value in observed.labelling.labels.items():
        if value.endswith("-MIG-INVALID"):
            yield f"{name}={value}"

"""Names that clouds give to machines and accelerators, and the GPU models behind them."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from gpugen.catalog import reading

OWNERS = {"ec2": "AWS", "gke": "Google Cloud", "aks": "Azure"}
ACCELERATORS = "gkeAccelerators"
_LOCAL = "-nolssd"  # of Google Cloud: the same machine without local disks


class Machine(NamedTuple):
    """A machine or an accelerator of a cloud.

    count: GPUs per machine; 0: a fraction of one; None: an accelerator, of which machines have any
    number. whole: a machine with whole GPUs of the model, where this one has a fraction.
    """

    name: str
    owner: str
    model: str
    count: int | None
    whole: str = ""

    @property
    def what(self) -> str:
        """What the name means, as a sentence."""
        if self.count is None:
            return f"{self.name!r} is {self.owner}'s name of an accelerator, not a GPU model"
        has = f"{self.count} GPU{'s' * (self.count > 1)}" if self.count else "a fraction of a GPU"
        return f"{self.name!r} is a machine of {self.owner} with {has}, not a GPU model"

    @property
    def way(self) -> str:
        """What to write instead."""
        if self.count == 0:
            other = f", such as {self.whole}" if self.whole else ""
            return f"choose a machine with whole GPUs{other}: a fraction is a vGPU;"
        return f"write model: {self.model}{f', count: {self.count}' if self.count else ''};"


def named(name: str) -> Machine | None:
    """Return the machine or accelerator of that name, by the rows that gpugen brings.

    Azure's machines go with or without ``Standard_``, in any case.
    """
    sought = name.lower().removesuffix(_LOCAL).removeprefix("standard_")
    if not sought:
        return None
    for model in reading.shipped_ids("gpus"):  # as text first: a row costs a hundred times more
        if sought in reading.text("gpus", model).lower():
            for machine in _of(model):
                if machine.name.lower().removeprefix("standard_") == sought:
                    return machine._replace(name=name)
    return None


def reason(name: str) -> str:
    """Return why nothing is rendered for what people call so; empty where nothing says so."""
    for row in reading.parse((reading.FOLDER / "not-rendered.yaml").read_text("utf-8")):
        if any(fnmatchcase(name.lower(), pattern) for pattern in row["names"]):
            return str(row["why"])
    return ""


def _of(model: str) -> Iterator[Machine]:
    """Yield the machines and accelerators with a GPU model."""
    row = reading.shipped("gpus", model)
    cloud = (row or {}).get("cloud", {})
    for key, owner in OWNERS.items():
        counts = cloud.get(key, {})
        whole = next((other for other, count in counts.items() if count), "")
        for name, count in counts.items():
            yield Machine(name, owner, model, count, "" if count else whole)
    for name in cloud.get(ACCELERATORS, ()):
        yield Machine(name, OWNERS["gke"], model, None)

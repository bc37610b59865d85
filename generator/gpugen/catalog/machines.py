"""Names that clouds give to machines and accelerators, and the GPU models behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpugen.catalog import reading

OWNERS = {"ec2": "AWS", "gke": "Google Cloud", "aks": "Azure"}
ACCELERATORS = "gkeAccelerators"
_LOCAL = "-nolssd"  # of Google Cloud: the same machine without local disks


class Machine(NamedTuple):
    """A machine or an accelerator of a cloud.

    gpus: per machine; 0: a fraction of one; None: an accelerator, of which machines have any
    number. whole: a machine with whole GPUs of the model, where this one has a fraction.
    """

    name: str
    owner: str
    model: str
    gpus: int | None
    whole: str = ""

    @property
    def what(self) -> str:
        """What the name means, as a sentence."""
        if self.gpus is None:
            return f"{self.name!r} is {self.owner}'s name of an accelerator, not a GPU model"
        has = f"{self.gpus} GPU{'s' * (self.gpus > 1)}" if self.gpus else "a fraction of a GPU"
        return f"{self.name!r} is a machine of {self.owner} with {has}, not a GPU model"

    @property
    def way(self) -> str:
        """What to write instead."""
        if self.gpus == 0:
            other = f", such as {self.whole}" if self.whole else ""
            return f"choose a machine with whole GPUs{other}: a fraction is a vGPU;"
        return f"write model: {self.model}{f', count: {self.gpus}' if self.gpus else ''};"


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

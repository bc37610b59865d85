# Copyright: the gpugen authors. Apache-2.0.
"""Settings that no reboot survives: each is a unit of ours (TUN-01, TUN-02, TUN-03, TUN-05)."""

from __future__ import annotations

from typing import NamedTuple

from ..common import seen as answers
from . import places
from .host import Host, number

MODES = {"default": "DEFAULT", "exclusive-process": "EXCLUSIVE_PROCESS"}
STEP = 15  # MHz between two clocks; the driver tells the one of the moment, not the locked range
PYTHON = "/usr/bin/python3"  # of a host that was not read
TEXT = """\
[Unit]
Description={about}
After=nvidia-persistenced.service systemd-modules-load.service
{relation}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={command}

[Install]
WantedBy=multi-user.target{also}
"""


class Setting(NamedTuple):
    """A setting, and the unit that sets it at every boot."""

    name: str
    about: str
    is_of_gpus: bool
    is_stated: bool
    is_live: bool
    command: list[str]
    reset: list[str]  # none: the next boot resets it

    @property
    def text(self) -> str:
        """Return the text of the unit."""
        relation = "PartOf=nvidia-persistenced.service"
        return places.HEAD + TEXT.format(
            about=self.about,
            relation=relation if self.is_of_gpus else "ConditionVirtualization=!vm",
            command=" ".join(self.command),
            also=" nvidia-persistenced.service" if self.is_of_gpus else "",
        )


def settings(own: Host) -> list[Setting]:
    """Return all settings, stated or not."""
    return [_power(own), _clocks(own), _mode(own), _acs(own)]


def expected(own: Host) -> list[Setting]:
    """Return the stated settings."""
    return [setting for setting in settings(own) if setting.is_stated]


def due(own: Host) -> list[Setting]:
    """Return settings whose unit or whose effect is not as stated."""
    return [setting for setting in expected(own) if not _is_kept(own, setting)]


def retired(own: Host) -> list[Setting]:
    """Return settings that are no longer stated, and whose unit is still there."""
    former = [setting for setting in settings(own) if not setting.is_stated]
    return [each for each in former if answers.exists(own.seen, places.unit_file(each.name))]


def is_script_due(own: Host) -> bool:
    """Tell whether the program that switches ACS off is not on the host as it should be."""
    found = answers.text(own.seen, places.ACS_SCRIPT).strip()
    return own.acs == "disabled" and found != places.ACS_PROGRAM.strip()


def _is_kept(own: Host, setting: Setting) -> bool:
    state = answers.unit(own.seen, f"{setting.name}.service")
    text = answers.text(own.seen, places.unit_file(setting.name))
    has_unit = text.strip() == setting.text.strip() and state["UnitFileState"] == "enabled"
    return has_unit and state["ActiveState"] == "active" and setting.is_live


def _power(own: Host) -> Setting:
    default = max((number(gpu.default) for gpu in own.gpus), default=0)  # the GPU's own limit
    return Setting(
        name="gpugen-gpu-power-limit",
        about="Power limit of the GPUs",
        is_of_gpus=True,
        is_stated=own.power > 0,
        is_live=all(number(gpu.limit) == own.power for gpu in own.gpus),
        command=[places.SMI, f"--power-limit={own.power}"],
        reset=[places.SMI, f"--power-limit={default}"],
    )


def _clocks(own: Host) -> Setting:
    highest = own.clocks[-1] if own.clocks else 0
    return Setting(
        name="gpugen-gpu-locked-clocks",
        about="Range that the graphics clocks of the GPUs are locked to",
        is_of_gpus=True,
        is_stated=bool(own.clocks),
        is_live=all(int(number(gpu.clock)) <= highest + STEP for gpu in own.gpus),
        command=[places.SMI, f"--lock-gpu-clocks={','.join(map(str, own.clocks))}"],
        reset=[places.SMI, "--reset-gpu-clocks"],
    )


def _mode(own: Host) -> Setting:
    word = MODES.get(own.mode, "")
    return Setting(
        name="gpugen-gpu-compute-mode",
        about="Compute mode of the GPUs",
        is_of_gpus=True,
        is_stated=bool(own.mode),
        is_live=all(gpu.mode.upper() == word for gpu in own.gpus),
        command=[places.SMI, f"--compute-mode={word}"],
        reset=[places.SMI, "--compute-mode=DEFAULT"],
    )


def _acs(own: Host) -> Setting:
    python = answers.host(own.seen, "python") or PYTHON
    return Setting(
        name=places.ACS_UNIT,
        about="Access control services of PCI bridges, switched off",
        is_of_gpus=False,
        is_stated=own.acs == "disabled",
        is_live=not own.bridges,
        command=[python, places.ACS_SCRIPT, "clear", own.tree.sysfs],
        reset=[],  # firmware and kernel set them again at the next boot
    )

"""Shows or switches off the access control services (ACS) of PCI bridges.

pci_acs.py show|clear SYSFS; prints the address of every bridge whose ACS control is not zero.
clear sets it to zero, as setpci would by ECAP_ACS+6.w=0. Runs on Python 3.8 and newer.
Source: PCI Express Base Specification, extended capability 000D: control register at offset 6.
"""

import os
import sys

BRIDGE = "0x0604"
FIRST = 0x100  # of the extended capabilities
ACS = 0x000D
CONTROL = 6
MOST = 64  # capabilities of one device; a longer chain is a loop


def control_at(descriptor):
    """Return where a device keeps its ACS control register, 0 if it has none."""
    at = FIRST
    for _dummy in range(MOST):
        raw = os.pread(descriptor, 4, at)
        header = int.from_bytes(raw, "little") if len(raw) == 4 else 0
        if header in (0, 0xFFFFFFFF):
            return 0
        if header & 0xFFFF == ACS:
            return at + CONTROL
        at = header >> 20
        if at < FIRST:
            return 0
    return 0


def is_on(path, clear):
    """Tell whether a bridge's ACS control is not zero; set it to zero if asked to."""
    descriptor = os.open(path, os.O_RDWR if clear else os.O_RDONLY)
    try:
        at = control_at(descriptor)
        found = at and os.pread(descriptor, 2, at) not in (b"", b"\0\0")
        if found and clear:
            os.pwrite(descriptor, b"\0\0", at)
        return found
    finally:
        os.close(descriptor)


def bridges(sysfs):
    """Yield the folders of PCI bridges, sorted."""
    devices = os.path.join(sysfs, "bus/pci/devices")
    for name in sorted(os.listdir(devices)):
        try:
            with open(os.path.join(devices, name, "class")) as file:
                kind = file.read()
        except FileNotFoundError:
            continue
        if kind.startswith(BRIDGE):
            yield name, os.path.join(devices, name, "config")


def main(word, sysfs):
    """Print the bridges whose ACS is on, or was before it was switched off."""
    for name, path in bridges(sysfs):
        if is_on(path, word == "clear"):
            sys.stdout.write(name + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

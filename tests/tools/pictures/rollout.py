"""A roll-out: checks first, then batches, and a stop at the first failure."""

from __future__ import annotations

from tools.pictures.svg import Sheet

STEPS = (
    ["cordon", "drain"],
    ["driver", "repositories"],
    ["reboot", "if one is due"],
    ["toolkit", "roles, labels"],
    ["GPUs", "advertised?"],
    ["verify", "all roles"],
    ["uncordon", "pods return"],
)
HOSTS, NODE = 20, 26


def draw() -> str:
    """Return the picture."""
    sheet = Sheet(
        900,
        470,
        "A roll-out",
        "All hosts are checked before any is changed. Disruption must be allowed. Batches of one"
        " host, then ten percent, run the same steps; the first failure stops the play.",
    )
    sheet.text(20, 32, "ansible-playbook site.yml", "ink mono strong")
    sheet.text(240, 32, 'with rollout.serial: [1, "10%"] and 20 hosts', "dim")
    check = ["1. check every host", "what would be interrupted?"]
    sheet.labelled(20, 56, 210, 62, check, "blue")
    allowed = ["2. disruption allowed?", "rollout.allowDisruption: true"]
    sheet.labelled(290, 56, 230, 62, allowed, "amber")
    refused = ["host refused", "left out, untouched, and told why"]
    sheet.labelled(600, 56, 280, 62, refused, "card")
    sheet.arrow((230, 87), (290, 87))
    sheet.arrow((520, 87), (600, 87))
    sheet.text(556, 80, "no", "dim small middle")
    sheet.arrow((405, 118), (405, 152))
    sheet.text(416, 139, "yes, or nothing is interrupted", "dim small")
    _batches(sheet, 152)
    _steps(sheet, 270)
    stop = ["the first failure stops the play", "later batches are not touched, the failed node"]
    stop[1] += " stays cordoned; repair it and run the same again"
    sheet.labelled(20, 392, 860, 58, stop, "red")
    for index in range(len(STEPS) - 1):
        x = 20 + index * 124 + 55
        sheet.arrow((x, 352), (x, 392))
    return sheet.svg()


def _batches(sheet: Sheet, top: float) -> None:
    """Draw the hosts: done, in work, and not yet."""
    sheet.text(20, top + 14, "3. batches", "ink strong")
    place = 20.0
    for number, size in enumerate((1, *(2 for _ in range(9)), 1)):
        kind = "green" if number < 2 else "amber" if number == 2 else "card"
        for _ in range(size):
            sheet.box(place, top + 28, NODE, NODE, kind)
            place += NODE + 4
        place += 14
    marks = ((20, "green", "verified"), (140, "amber", "in work"), (250, "card", "not touched yet"))
    for x, kind, words in marks:
        sheet.box(x, top + 68, 14, 14, kind)
        sheet.text(x + 22, top + 80, words, "dim small")


def _steps(sheet: Sheet, top: float) -> None:
    """Draw what happens to each host of a batch."""
    sheet.text(20, top + 4, "for each host of a batch", "ink strong")
    for index, lines in enumerate(STEPS):
        x = 20 + index * 124
        kind = "green" if index == len(STEPS) - 1 else "card"
        sheet.labelled(x, top + 20, 110, 62, lines, kind)
        if index:
            sheet.arrow((x - 14, top + 51), (x, top + 51))

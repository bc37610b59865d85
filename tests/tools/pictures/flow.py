"""The flow from a spec to hosts and cluster."""

from __future__ import annotations

from tools.pictures.svg import Sheet


def draw() -> str:
    """Return the picture."""
    sheet = Sheet(
        980,
        410,
        "From one spec to hosts and cluster",
        "gpugen reads specs and the catalogue, answers wrong ones, and writes two folders that are"
        " committed: Ansible applies one to the hosts, a delivery engine the other to the cluster.",
    )
    sheet.text(20, 32, "One spec, two halves", "ink title")
    sheet.box(20, 48, 640, 310, "zone")
    sheet.text(34, 70, "your repository, in git", "dim small")
    sheet.labelled(40, 88, 180, 64, ["cluster.yaml", "pools, GPUs, MIG, driver"], "blue")
    sheet.labelled(40, 176, 180, 64, ["_layers/, catalog/", "shared settings, own rows"], "card")
    sheet.labelled(
        270, 104, 150, 120, ["gpugen render", "validate", "predict once", "write"], "violet"
    )
    sheet.labelled(470, 88, 170, 64, ["out/…/ansible", "inventory, playbooks"], "green")
    sheet.labelled(470, 176, 170, 64, ["out/…/kustomize", "a folder per wave"], "green")
    sheet.labelled(255, 274, 180, 64, ["a wrong spec", "file:line, and what to write"], "red")
    sheet.labelled(695, 88, 110, 64, ["Ansible", "you run it"], "card")
    sheet.labelled(695, 176, 110, 64, ["Argo CD", "Flux, kubectl"], "card")
    sheet.labelled(845, 76, 115, 84, ["hosts", "driver, toolkit,", "MIG, labels"], "amber")
    sheet.labelled(845, 170, 115, 84, ["cluster", "agents, alerts,", "policies"], "amber")
    sheet.arrow((220, 120), (245, 120), (245, 148), (270, 148))
    sheet.arrow((220, 208), (245, 208), (245, 180), (270, 180))
    sheet.arrow((420, 148), (445, 148), (445, 120), (470, 120))
    sheet.arrow((420, 180), (445, 180), (445, 208), (470, 208))
    sheet.arrow((345, 224), (345, 274))
    sheet.arrow((255, 306), (130, 306), (130, 240))
    for y in (120, 208):
        sheet.arrow((640, y), (695, y))
        sheet.arrow((805, y), (845, y))
    sheet.lines(470, 298, ["same spec, same bytes;", "CI: gpugen render --check"], "dim small")
    words = "gpugen itself changes no host and no cluster, and opens no connection."
    sheet.text(20, 388, words, "dim")
    return sheet.svg()

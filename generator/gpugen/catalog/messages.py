"""The words for everything that can be wrong with a repository's own catalogue."""

from __future__ import annotations

from gpugen.load.syntax_messages import Words
from gpugen.model.finding import Finding, Location, Pointer

FAULTS: dict[str, Words] = {
    "catalog-file-name": Words(
        "{0} is not read, because its name does not end in .yaml",
        "rename it to {1}",
        "Of catalog/ every *.yaml is read and nothing else, so another ending would be ignored.",
    ),
    "catalog-link": Words(
        "{0} is a link, and links are not followed",
        "put the file itself into catalog/",
        "What a link points to can lie outside of the repository and change without a commit.",
    ),
    "catalog-unknown-key": Words(
        "the key {0!r} has no meaning here",
        "{1}",
        "Rows are closed: a misspelt fact would otherwise count as unknown.",
    ),
    "catalog-missing-key": Words(
        "this row is missing the required key {0!r}",
        "add {0}: {1}",
        "Without it the row says too little to be used.",
    ),
    "catalog-missing-source": Words(
        "this row names no source",
        "add source: [where you read it, e.g. the output of nvidia-smi -q on host gpu-01]",
        "Everybody who reads a row must be able to look its facts up.",
    ),
    "catalog-value": Words(
        "{0} is not {1}",
        "{2}",
        "The value has another type or form than the facts of this kind have.",
    ),
    "catalog-duplicate-row": Words(
        "{0!r} is described twice under {1}; the other row is in {2}",
        "remove one of the two",
        "Which of two rows wins would depend on the order of the files.",
    ),
    "catalog-missing-override": Words(
        "gpugen has a row {0!r}, which this one would override",
        "write override: true into the row if that is meant, or choose another id",
        "An override must be explicit, because it also hides later corrections of gpugen's row.",
    ),
    "catalog-needless-override": Words(
        "this row says override: true, but gpugen has no row {0!r} to override",
        "delete override, or correct the id: {1}",
        "With a misspelt id gpugen's row would remain in use silently.",
    ),
    "catalog-unknown-geometry": Words(
        "no MIG geometry {0!r} is in the catalogue",
        "{1}",
        "MIG layouts are validated against the GPU model's geometry, so its row is required.",
    ),
    "catalog-range": Words(
        "{0} {1} comes after {2} {3}, so the range contains nothing",
        "exchange the two, or remove the one whose end is open",
        "What is outside of every range would be refused, or treated as unknown, silently.",
    ),
    "catalog-more": Words(
        "and more; only the first {0} errors of a file are listed",
        "correct the first ones; the others may have the same cause",
        "The number of messages per file is limited.",
    ),
    "catalog-size": Words(
        "with {0} the files of catalog/ have more than {1} MiB together",
        "remove what no spec of this repository uses",
        "What a run reads is bounded, whatever somebody puts there.",
    ),
    "catalog-geometry": Words(
        "{0}",
        "compare with the output of nvidia-smi mig -lgip and nvidia-smi mig -lgipp",
        "Placements are searched exactly, so a geometry that contradicts itself gives nonsense.",
    ),
}


def finding(id: str, location: Location, at: Pointer, *values: object, hint: str = "") -> Finding:
    """Make a finding about a row; hint replaces the words' own."""
    words = FAULTS[id]
    return Finding(
        id,
        words.message.format(*values),
        hint or words.hint.format(*values),
        at,
        location=location,
    )

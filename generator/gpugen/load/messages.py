"""The words for everything that can be wrong with a file before any schema is asked."""

from __future__ import annotations

from gpugen.load.syntax_messages import SYNTAX, Words
from gpugen.text.versions import UPGRADE

_SPEC_IS_PUBLIC = "keep the spec in plain text; it contains no secrets, only their names"

FAULTS: dict[str, Words] = {
    **SYNTAX,
    "spec-size": Words(
        "the file is larger than 16 MB",
        "write host ranges such as gpu-[001:999]",
        "Files are read up to 16 MB; 10,000 hosts listed one by one take 1 MB.",
    ),
    "spec-empty": Words(
        "the file is empty{0}",
        "begin with apiVersion: gpugen/v1; 'gpugen init FOLDER' writes a whole example",
        "An empty file, or one with comments only, describes no cluster.",
    ),
    "spec-utf-16": Words(
        "the file is {0}",
        "save it as UTF-8",
        "Specs are UTF-8, with or without a byte order mark.",
    ),
    "spec-encoding": Words(
        "byte 0x{0:02X} is not UTF-8",
        "save the file as UTF-8; it may be Latin-1 or Windows-1252",
        "Programs interpret bytes that are not UTF-8 differently.",
    ),
    "spec-control-character": Words(
        "{0} is not allowed here",
        "delete it; it cannot be seen, and other programs read it differently",
        "Control, direction and byte-order characters hide text or drive terminals.",
    ),
    "spec-carriage-return": Words(
        "carriage return without a line feed",
        "end lines with LF or CR LF",
        "Lines end with LF or CR LF; a CR alone is a line end only to some parsers.",
    ),
    "spec-odd-space": Words(
        "{0} looks like a space but is none",
        "type an ordinary space in its place",
        "No-break spaces, often pasted from web pages, are no indentation to YAML.",
    ),
    "spec-conflict-marker": Words(
        "a merge conflict is not resolved here: {0}",
        "choose one side, and delete the lines with <<<<<<<, ======= and >>>>>>>",
        "git left both sides of a conflict in the file.",
    ),
    "spec-lfs-pointer": Words(
        "this is a Git LFS pointer, not the file itself",
        "run `git lfs pull`, or take the spec out of LFS",
        "The file was not fetched from Git LFS.",
    ),
    "spec-encrypted": Words("the file is encrypted ({0})", _SPEC_IS_PUBLIC, _SPEC_IS_PUBLIC + "."),
    "spec-template": Words(
        "a template is not rendered here",
        "render it before gpugen reads the file; gpugen itself has layers (extends)",
        "Template marks outside of quotes are mappings to YAML. The spec has no templating.",
    ),
    "spec-directive": Words(
        "{0} is a YAML directive",
        "delete the line; a spec is always YAML 1.2",
        "Directives change the meaning of a file; only %YAML 1.2 is let through.",
    ),
    "spec-several-documents": Words(
        "a second YAML document begins here",
        "write one cluster per file, and delete the '---'",
        "A file is one spec or one layer.",
    ),
    "spec-tag": Words(
        "the tag {0} has no meaning in a spec",
        "delete the tag; quote the value if it is text",
        "Tags make objects of some programs, or secrets of others, out of plain values.",
    ),
    "spec-tab": Words(
        "found a tab, expected spaces",
        "indent by spaces",
        "YAML does not allow tabs in indentation, because their width is not defined.",
    ),
    "spec-question-mark": Words(
        "unquoted question mark in brackets",
        "put the whole value in quotes",
        "In brackets, programs disagree whether a question mark is text or begins a key.",
    ),
    "spec-blank-line": Words(
        "a line of spaces only before the first line of a block text",
        "delete its spaces, or the line",
        "Programs disagree whether such a line sets the indentation of the text.",
    ),
    "spec-depth": Words(
        "more than {0} levels are nested", "flatten the spec", "A spec needs less than ten levels."
    ),
    "spec-nodes": Words(
        "the file holds more than {0} values",
        "write host ranges such as gpu-[001:999]",
        "The number of values is limited, so that every file is validated in seconds.",
    ),
    "spec-alias-expansion": Words(
        "aliases blow the file up from {0} to {1} values",
        "write the values out, or move common parts into a layer (extends)",
        "Aliases of aliases grow without bound, and stall whatever walks the result.",
    ),
    "spec-self-reference": Words(
        "*{0} lies inside of what it refers to",
        "write the value out",
        "A value that contains itself has no end.",
    ),
    "spec-unknown-alias": Words(
        "*{0} refers to an anchor that is not defined above",
        'quote it if it is text: "*{0}"',
        "An unquoted * refers to an anchor (&name) earlier in the file.",
    ),
    "spec-anchor-twice": Words(
        "the anchor &{0} is already used above",
        "give it a name of its own",
        "An anchor that is defined twice means different things above and below.",
    ),
    "spec-long-scalar": Words(
        "the text has {0} characters; at most {1} are allowed",
        "shorten it",
        "No field needs more than 64 kB.",
    ),
    "spec-long-integer": Words(
        "{0} has more than 18 digits",
        'quote it if it is text: "{0}"',
        "Longer integers lose digits in other programs.",
    ),
    "spec-duplicate-key": Words(
        "the key '{0}' is already used in line {1}",
        "{2}",
        "Parsers disagree which of two equal keys wins.",
    ),
    "spec-key-not-text": Words(
        "the key {0} is not text",
        'quote it: "{0}"',
        "Keys are text; a bare number, date or null is another thing.",
    ),
    "spec-collection-as-key": Words(
        "a list or mapping is used as a key",
        "write plain text before the colon; quote what begins with [ or {{",
        "Keys are text.",
    ),
    "spec-missing-key-text": Words(
        "a key is missing before the colon", "write the key", "Every value has a key with a name."
    ),
    "spec-merge-key": Words(
        "'<<' merges mappings in YAML 1.1 only",
        "move common parts into a layer, and name it under extends",
        "Merge keys are no part of YAML 1.2; parsers that support them differ in the details.",
    ),
    "spec-not-a-mapping": Words(
        "the file is {0}, not a mapping",
        "begin with apiVersion: gpugen/v1",
        "A spec is a mapping of keys such as name, kubernetes and pools.",
    ),
    "spec-ambiguous-scalar": Words(
        "{0}",
        "{1}",
        "YAML 1.1 and 1.2 read some unquoted words and numbers differently: NO, on, 010, 1:20.",
    ),
    "spec-bare-float": Words(
        "{0}", "{1}", "An unquoted 1.30 is the number 1.3; versions are text and want quotes."
    ),
    "extends-shape": Words(
        "extends wants a list of paths{0}",
        "write extends: [{1}], or remove the key",
        "extends lists the layers below this file, lowest first.",
    ),
    "extends-outside": Words(
        "'{0}' {1}",
        "name a layer inside the repository, relative to this file, such as ../_layers/site.yaml",
        "Layers lie inside the repository; links are followed and count too.",
    ),
    "extends-missing": Words(
        "'{0}' {1}",
        "{2}paths are relative to the file that names them",
        "A layer that is named but is not there would change the cluster silently.",
    ),
    "extends-cluster": Words(
        "'{0}' is a cluster, not a layer",
        "put what both have in common into a layer (kind: Layer), and extend that from both",
        "What extends a cluster would inherit its pools and hosts.",
    ),
    "extends-cycle": Words(
        "'{0}' extends itself, directly or through other layers",
        "remove the cycle: a layer must not extend what extends it",
        "Layers are stacked; a circle has no lowest one.",
    ),
    "extends-repeated": Words(
        "'{0}' is listed twice", "list it once", "A layer is merged once, at its lowest place."
    ),
    "spec-outside": Words(
        "the spec is a link that is outside of the repository; it is not followed",
        "put the file itself there",
        "What a link points to can be any file of the machine that runs gpugen, and a message about"
        " it would show a line of it.",
    ),
    "extends-too-large": Words(
        "with this file the spec and its layers have more than {0} MiB together",
        "remove what no cluster needs",
        "What a run reads is bounded, whatever somebody puts into the repository.",
    ),
    "extends-too-many": Words(
        "the spec extends more than {0} files", "merge layers", "The number of layers is bounded."
    ),
    "layer-kind": Words(
        "a file that is extended is a layer, and this one does not say so",
        "write kind: Layer",
        "A layer is no cluster; saying so keeps one from being extended by mistake.",
    ),
    "layer-api-version": Words(
        "a layer states the version of its format, {0}",
        "write apiVersion: {0}",
        "The version tells a newer gpugen how the file was meant.",
    ),
    "layer-too-new": Words(
        "apiVersion {0}",
        UPGRADE,
        "A newer format may mean the same keys differently.",
    ),
    "layer-name": Words(
        "a layer has no name, because it is no cluster",
        "delete the name; each cluster states its own",
        "A name in a layer would name every cluster that extends it.",
    ),
}

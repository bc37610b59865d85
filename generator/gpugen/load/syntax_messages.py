"""The words for text that is no YAML, or not the YAML that was meant."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """Message and hint take values by ``str.format``; why is for ``gpugen explain``."""

    message: str
    hint: str
    why: str


SYNTAX: dict[str, Words] = {
    "spec-missing-space": Words(
        "'{0}' is one piece of text, because no space follows the {2}",
        "write {1}",
        "A colon ends a key, and a dash begins an item, only if a space follows.",
    ),
    "spec-missing-dash": Words(
        "'{0}' is in a list, but does not begin with a dash",
        "write '- ' before it",
        "Each item of a list begins with a dash and a space.",
    ),
    "spec-missing-colon": Words(
        "'{0}' has no colon, which a key needs",
        "write '{0}:', or join the line with the one above",
        "In a mapping each line is 'key: value'.",
    ),
    "spec-colon-in-text": Words(
        "this line has a second ': ', so the text before it would be a key",
        "quote the value",
        "Unquoted text cannot contain a colon with a space behind it.",
    ),
    "spec-indentation": Words(
        "{0}",
        "indent with spaces, entries of one mapping or list alike",
        "The indentation says which mapping or list a line belongs to.",
    ),
    "spec-fused-items": Words(
        "this line is read as part of the text that begins in line {0}",
        "indent it like the entry above, or quote the text",
        "Unquoted text goes on in lines that are indented deeper, even if they begin with '- '.",
    ),
    "spec-unclosed-quote": Words(
        "the quote that begins here is not closed in its line",
        "close it; in double quotes write \\\" for a quote, in single ones ''",
        "Without its closing quote a text swallows the lines that follow.",
    ),
    "spec-unclosed-bracket": Words(
        "the {0} that begins here is not closed",
        "close it, or look for a missing comma",
        "Collections in brackets end with the bracket that belongs to them.",
    ),
    "spec-missing-comma": Words(
        "a comma or {0} is missing before this",
        "separate entries by commas; quote text with brackets, such as host ranges",
        "In brackets, entries are separated by commas.",
    ),
    "spec-stray-bracket": Words(
        "{0} without its counterpart",
        "delete it, or quote the text",
        "Brackets and commas outside of quotes structure the file.",
    ),
    "spec-quote-needed": Words(
        "text cannot begin with {0} unless it is quoted",
        "put the whole value in quotes",
        "Some characters have a meaning at the beginning of a value.",
    ),
    "spec-text-after-quote": Words(
        "text follows a value that is already complete",
        "put the whole value in one pair of quotes",
        "What follows a closing quote or bracket is another value.",
    ),
    "spec-escape": Words(
        "a backslash in double quotes makes an escape, and this one does not exist",
        "write two backslashes, or use single quotes",
        "Regular expressions and Windows paths are best written in single quotes.",
    ),
    "spec-syntax": Words(
        "the structure of the file breaks off here{0}",
        "compare indentation, quotes and brackets with the lines above",
        "From here on the text is not valid YAML.",
    ),
}

"""Texts near YAML as people write it: pieces of real specs and drawn lines, with mistakes."""

from __future__ import annotations

import random
from functools import cache

from support import ROOT, TESTS

_MARKS = [
    *"\t?:,[]{}&*!|>#%@`\"'-\\/=<~. \n",
    *("\t", "? ", ": ", "- ", " #", "# ", "[", "]", "{", "}", ":\n", "|\n", ">\n", "|-\n", ">+\n"),
    *("|2\n", "\n\n", "---\n", "...\n", "\n---\n", "&a ", "*a", "&b", "*b ", "!t ", "! ", "!!str "),
    *('"', "'", '""', "''", '\\"', "\\n", "\\\n", "\\u00e9", "\\ud800", "\\x41", "\\e", "<<: "),
    *("a: b", "a:b", "a:,", "a:]", "a:}", "[a]", "{a: b}", "[a, b]", "{a}", "[?a]", "[:a]"),
    *("{? a}", "0", "1.5", "no", "010", "é", "日", "\u00a0", "?x", "a?b", "a ? b", "  ", "    "),
    *("\n  ", "\n    ", "\n ", "- - ", "-a", ":a", " :", "~", "null"),
]
_WORDS = [
    *("a", "b", "name", "x.y/z", "1g.5gb", "lab", "two words", "it's", 'say "hi"', "a#b", "a:b"),
    *("http://x/y", "gpu-[01:16].lab", "a, b", "a{b", "a - b", "a & b", "50%", "x?", "1", "0"),
    *("-1", "42", "1.30", "1.2.3", "010", "1_0", "1:20", "12:ab", "yes", "true", "null", "~", "y"),
    *("-", "--", "?", "...", "---", "../x", "./x", "/x", "=", "<<", "é", "日本", "1e3", "0x1f"),
    *("*a", "&a", "&a x", "!t", "|", ">", ">-", "|+", "@x", "%x", '"q"', "'s'", '"a: b"'),
    *("'a # b'", '""', "''", '"a\\"b"', "'a''b'", '"open', "[]", "{}", "[a, b]", "[a,b]"),
    *("{a: b}", "{a: 1, b: [2]}", "[a, {b: c}]", "[a,]", "{a:b}", "{a}", "[a: b]", "{'a': b}"),
    *('{"a":b}', "{a: }", "[a # c", "[1:2]", "[a:b]", '"a\\tb"', "'x\n  y'", '"x\n  y"'),
    *("x\n  y", "|\n    x\n    y", ">\n    x\n    y\n\n    z", "|\n    \n    x", "|2\n     x"),
    *(">\n    x\n      y\n    z", "[a,\n  b]", "{a: b,\n  c: d}"),
]
_KEYS = ["a", "b", "name", "x.y/z", '"q"', "'s'", "c", "d e", "1g.5gb", "e", "f", "? g\n"]
_TAILS = ["", "", "", "", "", " ", " # c", "# c", " #", "\t", "  # it's: [a", "\t# c"]
_INDENTS = ["", "", "", "  ", "  ", "    ", " ", "   "]
_DEEPEST = 3


def drawn(seed: int) -> str:
    """Return the text of a number; the same number gives the same text."""
    chance = random.Random(seed)
    kind = chance.random()
    if kind < 0.2:
        text = _lines(chance)
    elif kind < 0.4:
        text = _entries(chance)
    else:
        text = _piece(chance)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3, 5])):
        text = _mutated(text, chance)
    return text


@cache
def _specs() -> tuple[tuple[str, ...], ...]:
    files = [
        *sorted(ROOT.glob("inventories/*/*.yaml")),
        *sorted(TESTS.glob("golden/*/cluster.yaml")),
        TESTS / "data/hostile/base.yaml",
    ]
    return tuple(tuple(file.read_text("utf-8").splitlines(keepends=True)) for file in files)


def _piece(chance: random.Random) -> str:
    """Return some lines of a spec, most times indented as if they stood alone."""
    spec = chance.choice(_specs())
    count = chance.randint(1, 14)
    at = chance.randrange(max(1, len(spec) - count + 1))
    lines = spec[at : at + count]
    if chance.random() < 0.3:
        return "".join(lines)
    least = min((len(x) - len(x.lstrip(" ")) for x in lines if x.strip()), default=0)
    return "".join(x[least:] if x[:least].isspace() else x for x in lines)


def _lines(chance: random.Random) -> str:
    found = []
    for _ in range(chance.randint(1, 6)):
        indent, key = chance.choice(_INDENTS), chance.choice(_KEYS)
        word, tail = chance.choice(_WORDS), chance.choice(_TAILS)
        line = chance.choice(
            [
                *(f"{key}: {word}{tail}", f"{key}: {word}{tail}", f"{key}:{tail}"),
                *(f"- {word}{tail}", f"- {key}: {word}{tail}", f"{word}{tail}", "# c", ""),
                f"{key}:\n{indent}  - {word}\n{indent}  - {word}{tail}",
                f"{key}:\n{indent}  a: {word}\n{indent}  b: {chance.choice(_WORDS)}{tail}",
            ]
        )
        found.append(indent + line)
    return "\n".join(found) + chance.choice(["\n", "\n", ""])


def _entries(chance: random.Random) -> str:
    keys = range(chance.randint(1, 4))
    return "".join(f"k{n}: {_value(chance)}{chance.choice(_TAILS)}\n" for n in keys)


def _value(chance: random.Random, depth: int = 0) -> str:
    """Return a word, or a collection in brackets."""
    kind = chance.random()
    if depth > _DEEPEST or kind < 0.5 or kind >= 0.9:
        return chance.choice(_WORDS)
    comma = chance.choice([", ", ",", ",", ",\n  "])
    before, behind = chance.choice(["", "", " ", "\n  "]), chance.choice(["", "", ",", "\n  "])
    values = [_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    if kind < 0.7:
        return f"[{before}{comma.join(values)}{behind}]"
    colon = chance.choice([": ", ": ", ":"])
    entries = comma.join(f"{chance.choice(_KEYS)}{colon}{value}" for value in values)
    return f"{{{before}{entries}{behind}}}"


def _mutated(text: str, chance: random.Random) -> str:
    at, kind, mark = chance.randint(0, len(text)), chance.random(), chance.choice(_MARKS)
    if kind < 0.55:
        return text[:at] + mark + text[at:]
    if kind < 0.7:
        return text[:at] + text[at + chance.randint(1, 3) :]
    if kind < 0.8:
        return text[:at] + mark + text[at + 1 :]
    lines = text.split("\n")
    number = chance.randrange(len(lines))
    if kind < 0.9:
        lines[number] = chance.choice(["  ", " ", "    ", "\t"]) + lines[number]
    else:
        lines.insert(chance.randrange(len(lines) + 1), lines[number])
    return "\n".join(lines)

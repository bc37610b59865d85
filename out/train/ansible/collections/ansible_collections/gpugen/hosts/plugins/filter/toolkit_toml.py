"""Filters that read TOML with a TOML parser, and add an import to containerd's main file.

They run on the control host, with the Python of ansible-core. A file is changed as text, so that
comments and order survive; the parser then confirms that nothing but the imports differs.
"""

import json
import re
import tomllib

_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[ \t]*(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_STRINGS = (  # the long quotes first: they begin like the short ones
    re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_OURS_TO_CHANGE = ("enable_cdi", "default_runtime_name")  # settings that the role may set


def from_toml(text):
    """Return TOML text as a mapping; empty where the text is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def containerd_root(text, add, ours, instead):
    """Return what containerd's main file says, and how it reads with and without our import.

    add: the path to import. ours: paths that count as our import. instead: what replaces them
    where they are taken away. Returns {"fault": str, "version": int, "imports": [str],
    "with_ours": str, "without_ours": str}; fault says why the file cannot be read or changed, and
    the texts are then the file as it is.
    """
    answer = {"fault": "", "version": 1, "imports": []}
    answer.update(with_ours=text, without_ours=text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        return {**answer, "fault": "is no valid TOML: %s" % problem}
    imports, version = data.get("imports", []), data.get("version", 1)
    if type(version) is not int:
        return {**answer, "fault": "has a version that is no number"}
    answer["version"] = version
    if not isinstance(imports, list) or not all(isinstance(path, str) for path in imports):
        return {**answer, "fault": "has imports that are no list of paths"}
    answer["imports"] = imports
    try:
        if not set(ours) & set(imports):
            answer["with_ours"] = _checked(data, [*imports, add], _added(text, add))
        else:
            kept = [new for path in imports for new in (instead if path in ours else [path])]
            answer["without_ours"] = _checked(data, kept, _replaced(text, ours, instead))
    except ValueError as problem:
        answer["fault"] = "cannot be given another import (%s); add %s by hand" % (problem, add)
    return answer


def containerd_runtime(dump, name):
    """Return the table of a CRI runtime in a configuration of containerd; empty without one."""
    plugins = from_toml(dump).get("plugins", {})
    for plugin in plugins.values() if isinstance(plugins, dict) else ():
        for part in ("containerd", "runtimes", name):
            plugin = plugin.get(part, {}) if isinstance(plugin, dict) else {}
        if plugin:
            return plugin
    return {}


def containerd_lost(before, after, runtime):
    """List settings that one dump of containerd has and a later one has not, or has differently.

    Not counted: the imports, the table of our runtime, and what the role itself may set.
    """
    return sorted(_lost(from_toml(before), from_toml(after), (), runtime))


def _lost(before, after, path, runtime):
    for key, value in before.items():
        here = (*path, key)
        if here == ("imports",) or here[-2:] == ("runtimes", runtime) or key in _OURS_TO_CHANGE:
            continue
        if isinstance(value, dict) and isinstance(after.get(key), dict):
            yield from _lost(value, after[key], here, runtime)
        elif key not in after or after[key] != value:
            yield ".".join(part if re.fullmatch(r"[\w-]+", part) else json.dumps(part) for part in here)


def _checked(data, imports, text):
    """Return the changed text. Raises ValueError: more than the imports would change."""
    expected = {**data, "imports": imports}
    found = tomllib.loads(text)  # its error is a ValueError
    if {"imports": [], **found} != expected:
        raise ValueError("its form is not known")
    return text


def _added(text, path):
    """Return the text with one path more, behind the last import."""
    span = _imports(text)
    if span is None:
        return "imports = [%s]\n%s" % (json.dumps(path), text)
    elements, _ = _elements(text, span)
    kind, _, end = elements[-1] if elements else ("[", 0, text.index("[", span[0]) + 1)
    new = {"[": "", ",": " "}.get(kind, ", ") + json.dumps(path)
    return text[:end] + new + text[end:]


def _replaced(text, ours, instead):
    """Return the text with other paths in place of ours; without the imports if none is left."""
    span = _imports(text)
    if span is None:
        raise ValueError("no imports before the first table")
    elements, _ = _elements(text, span)
    new = ", ".join(map(json.dumps, instead))
    kept = [tomllib.loads("a = " + text[s:e])["a"] for kind, s, e in elements if kind == "text"]
    if not new and set(kept) <= set(ours):
        end = text.find("\n", span[1])
        return text[: span[0]] + (text[end + 1 :] if end >= 0 else "")
    for at in range(len(elements) - 1, -1, -1):
        kind, start, end = elements[at]
        if kind == "text" and tomllib.loads("a = " + text[start:end])["a"] in ours:
            if not new:
                start, end = _with_comma(text, elements, at)
            text = text[:start] + new + text[end:]
    return text


def _with_comma(text, elements, at):
    """Return the span of an element and of the one comma that leaves with it."""
    _, start, end = elements[at]
    if at and text[elements[at - 1][2] : start].isspace():
        return elements[at - 1][1], end
    return start, elements[at + 1][2] if at + 1 < len(elements) else end


def _imports(text):
    """Return the span of the value of ``imports`` above the first table, from its line's start."""
    at = 0
    while at < len(text):
        start = at
        at = _BLANK.match(text, at).end()
        if text.startswith("[", at):
            return None
        key = _KEY.match(text, at)
        if key and text.startswith("=", key.end()):
            end = _value_end(text, key.end() + 1)
            if tomllib.loads(key[0] + "= 0").get("imports") == 0:
                return start, end
            at = end
        newline = text.find("\n", at)
        at = len(text) if newline < 0 else newline + 1
    return None


def _value_end(text, at):
    """Return where a value ends: at the end of its line, or of its last bracket's line."""
    depth = 0
    while at < len(text):
        if text[at] == "#":
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
        elif match := next(filter(None, (each.match(text, at) for each in _STRINGS)), None):
            at = match.end()
        elif text[at] == "\n" and depth == 0:
            return at
        else:
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(text[at], 0)
            at += 1
    return at


def _elements(text, span):
    """Return kind ("text" or ","), start and end of the parts of an array of strings, and its end."""
    parts, at = [], text.index("[", text.index("=", span[0])) + 1
    while at < span[1]:
        if match := next(filter(None, (each.match(text, at) for each in _STRINGS)), None):
            parts.append(("text", at, match.end()))
            at = match.end()
        elif text[at] == "#":
            at = text.index("\n", at)
        elif text[at] == "]":
            return parts, at
        else:
            if text[at] == ",":
                parts.append((",", at, at + 1))
            at += 1
    raise ValueError("no end of the imports")


class FilterModule:
    """What Ansible asks for."""

    def filters(self):
        """Return the filters by name."""
        return {
            "from_toml": from_toml,
            "containerd_root": containerd_root,
            "containerd_runtime": containerd_runtime,
            "containerd_lost": containerd_lost,
        }

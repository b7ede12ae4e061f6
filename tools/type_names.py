"""Finds types of one name in one namespace: two definitions of postrider::Host are undefined
behaviour that only optimised builds survive by luck. Used by tools/check_layers."""

import collections
import re

STRIP = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|^\s*#[^\n]*(?:\\\n[^\n]*)*""",
                   re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{};<>()=:,\[\]]|\S")
ATTRIBUTE = {"final", "alignas"}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def tokens_of(text):
    text = STRIP.sub(blank, text)
    for match in TOKEN.finditer(text):
        yield match.group(), text.count("\n", 0, match.start()) + 1


def namespace_of(words):
    """The name behind `namespace`; '' for an anonymous one."""
    return "".join(word for word in words if word not in ("inline", "namespace"))


def type_of(words):
    """The name that a type's head defines, or None: 'class X final : public Y' -> 'X'."""
    for at, word in enumerate(words):
        if word in ("class", "struct", "union", "enum"):
            break
        if word in ("(", "="):
            return None
    else:
        return None
    rest = words[at + 1:]
    if rest and rest[0] in ("class", "struct"):  # enum class
        rest = rest[1:]
    name = []
    depth = 0
    for word in rest:
        if word in ("[", "("):
            depth += 1
        elif word in ("]", ")"):
            depth -= 1
        elif depth == 0:
            if word in ATTRIBUTE:
                continue
            if word == ":":
                break
            if word == "<":
                return None  # a specialisation is another type than its template
            name.append(word)
    return "".join(name) if name and re.fullmatch(r"[A-Za-z_]\w*", "".join(name)) else None


def types_in(text):
    """Yields (namespace, type, line) for each type that is defined in a namespace with a name."""
    scopes = []  # the namespace of each open brace; None inside of anything else
    head, line = [], 1
    angle = 0
    for word, at in tokens_of(text):
        if not head:
            line = at
        if word == "{":
            inside = None
            if all(scope is not None for scope in scopes):
                if "namespace" in head[:2]:
                    name = namespace_of(head)
                    inside = name if name else None
                else:
                    words = head
                    if words[:1] == ["template"]:
                        depth = 0
                        for index, item in enumerate(words):
                            depth += {"<": 1, ">": -1}.get(item, 0)
                            if depth == 0 and index > 0:
                                words = words[index + 1:]
                                break
                    name = type_of(words)
                    if name:
                        yield "::".join(scopes), name, line
            scopes.append(inside)
            head = []
        elif word == "}":
            if scopes:
                scopes.pop()
            head = []
        elif word == ";":
            head = []
        else:
            head.append(word)


def doubles(texts):
    """texts: {path: text}. Yields (path, line, type, other path) for each second definition."""
    seen = collections.defaultdict(list)
    for path, text in sorted(texts.items()):
        for namespace, name, line in types_in(text):
            seen[namespace, name].append((path, line))
    for (namespace, name), places in sorted(seen.items()):
        for path, line in places[1:]:
            yield path, line, f"{namespace}::{name}", places[0][0]

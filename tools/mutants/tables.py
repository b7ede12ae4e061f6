"""Deleted rows of tables. They are data that the compiler checks, so a file is compiled again for each row; what compiles is tested."""

import dataclasses
import re

from .points import Point

FILES = ("postrider/core/rules/health.cc", "postrider/profiles/webhook/table.h", "postrider/profiles/device/table.h",
         "postrider/sim/fields/drill/table.h", "postrider/sim/fields/drill/drill.cc", "postrider/profiles/webhook/rules.cc")
TABLE = re.compile(r"std::to_array<(\w+)>\(\{")


@dataclasses.dataclass
class Row:
    point: Point
    start: int
    end: int


def rows_of(root, name):
    """The rows of the tables in a file."""
    text = (root / name).read_text()
    out = []
    for table in TABLE.finditer(text):
        at, depth, begin = table.end(), 0, None
        if text.count("\n", table.end(), text.index("})", table.end())) < 2:
            continue  # a list of words
        while True:
            if text.startswith("//", at):
                at = text.index("\n", at)
            if text[at] == '"':
                at += 1
                while text[at] != '"':
                    at += 2 if text[at] == "\\" else 1
            elif text[at] in "{(":
                if depth == 0:
                    begin = at
                depth += 1
            elif text[at] in "})":
                if depth == 0:
                    break
                depth -= 1
                if depth == 0 and text[at] == "}":
                    end = at + 1
                    while end < len(text) and text[end] in ", ":
                        end += 1
                    line = text.count("\n", 0, begin) + 1
                    column = begin - (text.rfind("\n", 0, begin) + 1) + 1
                    first = text[begin:at + 1].split("\n")[0]
                    out.append(Row(Point(name, line, column, "row", f"without a row of {table.group(1)}", first.strip()), begin, end))
            at += 1
    return out


def without(root, row):
    """The file without the row, its lines kept."""
    text = (root / row.point.file).read_text()
    return text[:row.start] + "\n" * text.count("\n", row.start, row.end) + text[row.end:]

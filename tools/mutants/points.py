"""Where a source can be mutated, and the source with every mutant in it, each behind a question (see runtime.h).

A point is a range of bytes and what would stand there instead. All of them go into one text: `a < b` becomes
`(mutants::on(7) ? (a <= b) : mutants::on(8) ? (a >= b) : (a < b))`. Lines keep their numbers.
"""

import bisect
import dataclasses
import pathlib
import re
import shlex
import sys

try:
    from clang import cindex
except ImportError:  # Debian's package is for Debian's Python; it is plain Python
    sys.path.append("/usr/lib/python3/dist-packages")
    from clang import cindex

K = cindex.CursorKind
SWAPS = {
    "<": ("compare", ("<=", ">=")), "<=": ("compare", ("<", ">")), ">": ("compare", (">=", "<=")), ">=": ("compare", (">", "<")),
    "==": ("compare", ("!=",)), "!=": ("compare", ("==",)), "&&": ("logic", ("||",)), "||": ("logic", ("&&",)),
    "+": ("arithmetic", ("-",)), "-": ("arithmetic", ("+",)),
}
# Calls whose absence nobody can see but by a clock.
SPEED_ONLY = {"reserve", "shrink_to_fit"}
NUMBER = re.compile(r"^(0[xX][0-9a-fA-F']+|[0-9][0-9']*)([a-zA-Z_]*)$")
FUNCTIONS = {K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.DESTRUCTOR, K.CONVERSION_FUNCTION, K.FUNCTION_TEMPLATE}
SILENT = {K.STATIC_ASSERT, K.ENUM_DECL, K.TYPE_ALIAS_DECL, K.TYPEDEF_DECL, K.TEMPLATE_NON_TYPE_PARAMETER, K.TEMPLATE_TYPE_PARAMETER,
          K.TYPE_ALIAS_TEMPLATE_DECL, K.CONCEPT_DECL if hasattr(K, "CONCEPT_DECL") else K.STATIC_ASSERT}


@dataclasses.dataclass
class Point:
    file: str  # from the root of the repository
    line: int
    column: int
    group: str  # compare, constant, logic, arithmetic, call, row
    change: str  # for people
    text: str  # the line of the source, trimmed
    number: int = 0
    constant: bool = False  # in a function that the compiler may evaluate; when nothing reaches it, only the compiler does

    @property
    def name(self):
        return f"{self.file}:{self.line}:{self.column}:{self.change}"


@dataclasses.dataclass
class Edit:
    start: int
    end: int
    kind: str  # choice, statement, after
    late: bool = False
    mutants: list = dataclasses.field(default_factory=list)  # (Point, text)


class File:
    """One source: its tokens, its expressions, its edits."""

    def __init__(self, root, path):
        self.path, self.name = path, path.relative_to(root).as_posix()
        self.bytes = path.read_bytes()
        self.lines = self.bytes.decode().splitlines()
        self.tokens, self.starts = [], []
        self.ranges = {}  # (start, end) -> cursor
        self.begins, self.ends = {}, {}
        self.late = []  # ranges in which the compiler may evaluate
        self.functions = []  # those among them that are functions
        self.planted = []  # expressions that ask for a planted bug
        self.edits = {}

    def read_tokens(self, unit):
        span = cindex.SourceRange.from_locations(
            cindex.SourceLocation.from_offset(unit, unit.get_file(str(self.path)), 0),
            cindex.SourceLocation.from_offset(unit, unit.get_file(str(self.path)), len(self.bytes)))
        self.tokens = [(t.extent.start.offset, t.extent.end.offset, t.spelling, t.kind) for t in unit.get_tokens(extent=span)
                       if t.kind != cindex.TokenKind.COMMENT]
        self.starts = [token[0] for token in self.tokens]

    def token_at(self, offset):
        i = bisect.bisect_left(self.starts, offset)
        return i if i < len(self.tokens) and self.starts[i] == offset else None

    def words(self, start, end):
        """The tokens of a range, without comments and on one line."""
        i, j = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        return [token[2] for token in self.tokens[i:j]]

    def plain(self, start, end):
        return " ".join(self.words(start, end))

    def add_range(self, cursor):
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if (start, end) not in self.ranges:
            self.ranges[start, end] = cursor
            self.begins.setdefault(start, []).append(end)
            self.ends.setdefault(end, []).append(start)

    def point(self, offset, group, change):
        line = self.bytes.count(b"\n", 0, offset) + 1
        column = offset - (self.bytes.rfind(b"\n", 0, offset) + 1) + 1
        return Point(self.name, line, column, group, change, self.lines[line - 1].strip())

    def edit(self, start, end, kind):
        key = (start, end, kind)
        if key not in self.edits:
            late = any(a <= start and end <= b for a, b in self.late)
            self.edits[key] = Edit(start, end, kind, late)
        return self.edits[key]


class Finder:
    """Reads translation units and collects the files of one folder."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.files = {}  # name -> File
        self.constants = {}  # (file, offset of the name) -> [(Point, suffix)]
        self.uses = {}  # (file, start, end) -> (file, offset)
        self.statements, self.literals = {}, {}
        self.index = cindex.Index.create()

    def read(self, source, arguments):
        unit = self.index.parse(str(source), args=arguments)
        bad = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if bad:
            raise SystemExit(f"libclang cannot read {source}: {bad[0]}")
        fresh = set()
        for cursor in unit.cursor.get_children():
            place = cursor.location.file
            if place is None:
                continue
            path = pathlib.Path(place.name).resolve()
            if path.parent != self.folder or path.name.endswith("_test.cc"):
                continue
            file = self.files.get(path)
            if file is None:
                file = self.files[path] = File(self.root, path)
                file.read_tokens(unit)
                fresh.add(path)
            if path in fresh:
                self.walk(cursor, file)

    def is_constant(self, cursor, file):
        return bool({"constexpr", "consteval"} & set(file.words(cursor.extent.start.offset, cursor.location.offset)))

    def walk(self, cursor, file):
        kind = cursor.kind
        if kind in SILENT:
            return
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if kind in FUNCTIONS and "consteval" in file.words(start, cursor.location.offset):
            return  # only the compiler asks it, and the program as it is compiled has passed
        if kind == K.VAR_DECL and self.is_constant(cursor, file):
            self.add_constant(cursor, file)
            return
        children = list(cursor.get_children())
        if kind in FUNCTIONS and self.is_constant(cursor, file) or kind in (K.FIELD_DECL, K.PARM_DECL):
            file.late.append((start, end))
            if kind in FUNCTIONS:
                file.functions.append((start, end))
        if kind in FUNCTIONS or kind in (K.VAR_DECL, K.FIELD_DECL, K.PARM_DECL):  # what stands before the name is a type
            children = [c for c in children if c.extent.start.offset > cursor.location.offset]
        if kind == K.FIELD_DECL and cursor.is_bitfield():
            children = children[1:]
        if kind == K.CASE_STMT or kind == K.IF_STMT and file.words(start, end)[1:2] == ["constexpr"]:
            children = children[1:]
        if kind == K.IF_STMT and children and asks_for_bug(children[0], file):
            children = children[2:]  # a planted bug: never so in the program as it is
        if kind.is_expression():
            if asks_for_bug(cursor, file):
                file.planted.append((start, end))
            file.add_range(cursor)
        if kind == K.DECL_REF_EXPR:
            self.add_use(cursor, file)
            return
        if kind in (K.INTEGER_LITERAL, K.CXX_BOOL_LITERAL_EXPR):
            self.literals[file.path, start] = True
        self.find_statements(kind, children, file)
        for child in children:
            self.walk(child, file)

    def find_statements(self, kind, children, file):
        if kind not in (K.COMPOUND_STMT, K.IF_STMT, K.FOR_STMT, K.WHILE_STMT, K.CXX_FOR_RANGE_STMT):
            return
        for child in children:
            while child.kind == K.UNEXPOSED_EXPR and len(inner := list(child.get_children())) == 1:
                child = inner[0]
            if child.kind != K.CALL_EXPR or child.spelling.startswith("operator") or child.spelling in SPEED_ONLY:
                continue
            i = bisect.bisect_left(file.starts, child.extent.end.offset)
            if i < len(file.tokens) and file.tokens[i][2] == ";" and self.begins_statement(file, child.extent.start.offset):
                self.statements[file.path, child.extent.start.offset] = (child.extent.end.offset, file.tokens[i][1], child.spelling)

    @staticmethod
    def begins_statement(file, start):
        i = file.token_at(start)
        return i is not None and i > 0 and file.tokens[i - 1][2] in (";", "{", "}", ")", "else")

    def add_constant(self, cursor, file):
        """constexpr T kX = 5: a second constant beside it, and each use chooses."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        after = file.token_at(end) if file.token_at(end) is not None else bisect.bisect_left(file.starts, end)
        first = bisect.bisect_left(file.starts, cursor.location.offset) + 1
        numbers = [t for t in file.tokens[first:after] if NUMBER.match(t[2])]
        if after >= len(file.tokens) or file.tokens[after][2] != ";" or not 1 <= len(numbers) <= 3:
            return
        if end - start > 200 or "[" in file.words(start, end):
            return
        name = cursor.spelling
        for token in numbers:
            more = increased(token[2])
            point = file.point(token[0], "constant", f"{token[2]} to {more}")
            self.constants.setdefault((file.path, cursor.location.offset), []).append(point)
            words = []
            for t in file.tokens[bisect.bisect_left(file.starts, start):after]:
                words.append(name + "_mutant@" if t[0] == cursor.location.offset else more if t[0] == token[0] else t[2])
            edit = file.edit(file.tokens[after][1], file.tokens[after][1], "after")
            edit.mutants.append((point, " ".join(words) + ";"))

    def add_use(self, cursor, file):
        decl = cursor.referenced
        if decl is None or decl.kind != K.VAR_DECL or decl.location.file is None:
            return
        path = pathlib.Path(decl.location.file.name).resolve()
        if path.parent == self.folder:
            self.uses[file.path, cursor.extent.start.offset, cursor.extent.end.offset] = (path, decl.location.offset)

    def finish(self):
        """All points, numbered in the order of the files."""
        for file in self.files.values():
            self.swap_operators(file)
        for (path, offset) in self.literals:
            self.add_literal(self.files[path], offset)
        for (path, start), (end, stop, called) in self.statements.items():
            file = self.files[path]
            point = file.point(start, "call", f"without {called}()")
            file.edit(start, stop, "statement").mutants.append((point, ""))
        for (path, start, end), key in self.uses.items():
            file = self.files[path]
            for point in self.constants.get(key, []):
                text = file.plain(start, end)
                file.edit(start, end, "choice").mutants.append((point, text + "_mutant@"))
        used = {key for key in self.uses.values()}
        points = {}
        for file in self.files.values():
            for key, edit in list(file.edits.items()):
                if any(a <= edit.start and edit.end <= b for a, b in file.planted):
                    del file.edits[key]
                    continue
                for point, _ in edit.mutants:
                    point.constant = any(a <= edit.start and edit.end <= b for a, b in file.functions)
                    points[point.name] = point
            file.ranges, file.begins, file.ends = {}, {}, {}  # they hold on to the compiler's trees
        unused = {p.name for key, ps in self.constants.items() if key not in used for p in ps}
        ordered = sorted((p for p in points.values() if p.name not in unused), key=lambda p: (p.file, p.line, p.column, p.change))
        for number, point in enumerate(ordered, 1):
            point.number = number
        return ordered

    def swap_operators(self, file):
        for i, (start, end, spelling, _) in enumerate(file.tokens[:-1]):
            if spelling == "!" and file.tokens[i + 1][0] == end:
                self.drop_not(file, i)
            if spelling not in SWAPS or i == 0:
                continue
            group, others = SWAPS[spelling]
            left_end, right_start = file.tokens[i - 1][1], file.tokens[i + 1][0]
            whole = [(s, e) for s in file.ends.get(left_end, ()) for e in file.begins.get(right_start, ()) if (s, e) in file.ranges]
            if not whole:
                continue
            s, e = min(whole, key=lambda r: r[1] - r[0])
            if group == "arithmetic" and not is_number(file.ranges[s, e]):
                continue
            for other in others:
                text = f"{file.plain(s, start)} {other} {file.plain(end, e)}"
                file.edit(s, e, "choice").mutants.append((file.point(start, group, f"{spelling} to {other}"), text))

    @staticmethod
    def drop_not(file, i):
        start = file.tokens[i][0]
        inner = file.begins.get(file.tokens[i + 1][0], ())
        ends = [e for e in file.begins.get(start, ()) if e in inner]
        if ends:
            text = f"bool({file.plain(file.tokens[i + 1][0], min(ends))})"
            file.edit(start, min(ends), "choice").mutants.append((file.point(start, "logic", "without !"), text))

    @staticmethod
    def add_literal(file, offset):
        i = file.token_at(offset)
        if i is None:
            return
        start, end, spelling, _ = file.tokens[i]
        if least_of_page(file, i):
            return
        more = {"true": "false", "false": "true"}.get(spelling) or (increased(spelling) if NUMBER.match(spelling) else None)
        if more:
            file.edit(start, end, "choice").mutants.append((file.point(start, "constant", f"{spelling} to {more}"), more))


def asks_for_bug(cursor, file):
    """planted(X), planted(X) && …, … && planted(X): false in the program as it is, and so is what depends on it."""
    start = cursor.extent.start.offset
    if file.words(start, start + 1) == ["planted"]:
        return True
    children = list(cursor.get_children())
    if cursor.kind in (K.UNEXPOSED_EXPR, K.PAREN_EXPR) and len(children) == 1:
        return asks_for_bug(children[0], file)
    if cursor.kind != K.BINARY_OPERATOR or len(children) != 2:
        return False
    between = file.words(children[0].extent.end.offset, children[1].extent.start.offset)
    return between[:1] == ["&&"] and any(asks_for_bug(child, file) for child in children)


def least_of_page(file, i):
    """std::max<std::uint32_t>(1, limits_.x_rows_max): the fewest rows of a read. Pages of another size are read more or less often,
    and nothing that is decided depends on them."""
    before = [t[2] for t in file.tokens[max(0, i - 7):i]]
    behind = [t[2] for t in file.tokens[i + 1:i + 8]]
    return before == ["max", "<", "std", "::", "uint32_t", ">", "("] and any(word.endswith("rows_max") for word in behind)


def increased(text):
    digits, suffix = NUMBER.match(text).groups()
    value = int(digits.replace("'", ""), 0 if digits[:2] in ("0x", "0X") else 10) + 1
    return (hex(value) if digits[:2] in ("0x", "0X") else str(value)) + suffix


def is_number(cursor):
    kind = cursor.type.get_canonical()
    if cindex.TypeKind.BOOL.value <= kind.kind.value <= cindex.TypeKind.LONGDOUBLE.value:
        return True
    return any(word in kind.spelling for word in ("Timestamp", "Duration", "chrono"))


def rewritten(file, left_out):
    """The source with all its mutants but those left out."""
    edits = []
    for edit in file.edits.values():
        mutants = [(p, text) for p, text in edit.mutants if p.number and p.number not in left_out]
        if mutants:
            edits.append(dataclasses.replace(edit, mutants=mutants))
    edits.sort(key=lambda e: (e.start, -e.end, e.kind != "statement"))
    return emit(file, edits, 0, len(file.bytes)).decode()


def emit(file, edits, start, end):
    out, at = bytearray(), start
    while edits:
        edit = edits.pop(0)
        inside = []
        while edits and edits[0].start >= edit.start and edits[0].end <= edit.end and edit.kind != "after":
            inside.append(edits.pop(0))
        out += file.bytes[at:edit.start]
        question = "::mutants::on_late" if edit.late else "::mutants::on"
        text = emit(file, inside, edit.start, edit.end)
        if edit.kind == "statement":
            asked = "".join(f"if (!{question}({p.number})) " for p, _ in edit.mutants)
            out += b"{ " + asked.encode() + text + b" }"
        elif edit.kind == "after":
            out += "".join(" " + t.replace("_mutant@", f"_mutant{p.number}") for p, t in edit.mutants).encode()
        else:
            chain = "".join(f"{question}({p.number}) ? ({t.replace('_mutant@', f'_mutant{p.number}')}) : " for p, t in edit.mutants)
            out += b"(" + chain.encode() + b"(" + text + b"))"
        at = edit.end
    return bytes(out + file.bytes[at:end])


def find(root, commands, folder):
    """(files by path, points) of the sources in one folder."""
    finder = Finder(root, folder)
    for source, command in commands:
        words = shlex.split(command)
        finder.read(source, [w for w in words if w.startswith(("-I", "-D", "-std"))] + ["-Wno-everything"])
    points = finder.finish()
    return finder.files, points

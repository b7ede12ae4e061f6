"""Compiles mutated sources with the commands of a finished build, and links its tests with them.

Nothing else is compiled again: an object on the line of the linker stands before the library that has the same symbols.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess


class Build:
    """`build` is a build directory that is up to date; what is made goes to `out`."""

    def __init__(self, root, build, out):
        self.root, self.build, self.out = root, build, out
        self.entries = {}  # object -> (source, words of the command)
        for entry in json.loads((build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            self.entries[words[words.index("-o") + 1]] = (entry["file"], words)
        self.depends = {}
        name = None
        for line in self.ninja("deps").splitlines():
            if line.startswith("    "):
                self.depends[name].add(os.path.normpath(build / line.strip()))  # ccache may have made it relative
            elif ":" in line:
                name = line.split(":")[0]
                self.depends[name] = set()

    def ninja(self, tool, *arguments):
        return subprocess.run(["ninja", "-C", str(self.build), "-t", tool, *arguments], stdout=subprocess.PIPE, text=True,
                              check=True).stdout

    def sources(self, library):
        """(source, command) of the files of one library."""
        part = f"/postrider_{library}.dir/"
        return [(source, shlex.join(words)) for object_, (source, words) in self.entries.items() if part in "/" + object_]

    def link_line(self, target):
        last = self.ninja("commands", target).strip().splitlines()[-1]
        line = next(part for part in last.split("&&") if re.search(r"\s-o\s", part) and not re.search(r"\s-c\s", part))
        return shlex.split(line)

    def objects_of(self, target):
        """The objects that a program is made of, those of its libraries among them, without those for planted bugs."""
        words = self.link_line(target)
        libraries = {re.sub(r"^.*/?lib(\w+)\.a$", r"\1", w) for w in words if w.endswith(".a")}
        own = {w for w in words if w.endswith(".o")}
        return [o for o in self.entries if o in own or any(f"/{name}.dir/" in "/" + o for name in libraries)]

    def dependents(self, target, files):
        """Those of its objects that one of the files is a part of."""
        names = {str(file) for file in files}
        return [o for o in self.objects_of(target) if names & self.depends.get(o, set()) or self.entries[o][0] in names]

    def compile(self, object_, overlay, more=(), check_only=False):
        """The object from sources in `overlay`, which stands before the root; (path, errors)."""
        source, words = self.entries[object_]
        # Quickly compiled rather than quick: a mutant is run for a second, and everything is compiled anew when a line changes.
        words = ["-O1" if w == "-O2" else w for w in words if not w.startswith(("-W", "-g"))] + ["-w"]
        changed = overlay / source.removeprefix(str(self.root) + "/")
        words[words.index("-c") + 1] = str(changed) if changed.exists() else source
        words[1:1] = [f"-I{overlay}"]
        words[words.index("-o"):words.index("-o")] = more
        result = self.out / "objects" / overlay.name / object_.replace("/", "_")
        result.parent.mkdir(parents=True, exist_ok=True)
        if check_only:
            at = words.index("-o")
            words[at:at + 2] = ["-fsyntax-only"]
        else:
            words[words.index("-o") + 1] = str(result)
        stamp = hashlib.sha256(json.dumps(words).encode())
        names = {file: str(self.root / file.relative_to(overlay)) for file in sorted(overlay.rglob("*.h"))}
        own = changed if changed.exists() else pathlib.Path(source)  # a test may have changed as well
        for file in [f for f, name in names.items() if name in self.depends.get(object_, ())] + [own]:
            stamp.update(file.read_bytes())
        note = result.with_suffix(".stamp")
        if not check_only and result.exists() and note.exists() and note.read_text() == stamp.hexdigest():
            return result, ""
        words[0:0] = ["nice", "-n", "10"]
        done = subprocess.run(words, cwd=self.build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            return None, done.stdout
        if not check_only:
            note.write_text(stamp.hexdigest())
        return result, ""

    def link(self, target, replaced, extra=(), instead=None, folder="tests"):
        """A copy of the program with other objects: {object: path}. `instead`: the name of one that has `extra` for its own."""
        words = self.link_line(target)
        if instead:
            words = [w for w in words if not (w.endswith(".o") and f"/{target}.dir/" in "/" + w)]
        at = words.index("-o")
        program = self.out / folder / (instead or target)
        program.parent.mkdir(parents=True, exist_ok=True)
        own = {w for w in words if w in replaced}
        words[at + 1] = str(program)
        words[at:at] = [str(path) for o, path in replaced.items() if o not in own] + [str(path) for path in extra]
        subprocess.run(["nice", "-n", "10", *[str(replaced[w]) if w in own else w for w in words]], cwd=self.build, check=True)
        return program

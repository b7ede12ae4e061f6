"""README's command blocks, as they stand: what they promise happens.

What is put in place of the words of README: the program of this build, a port that is free, and for ID the
id that `send` printed. `make run` is not run, because it builds; its last command is read from the Makefile
and started. The two demos are run by tests/crash/demo_test.cc.
"""

import re
import shlex
import socket
import subprocess
import unittest

from harness import BINARY, ENVIRONMENT, PATIENCE, ROOT, Case

PROGRAM = "build/release/postrider"


def blocks():
    """The lines of each block of commands in README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = [block.splitlines() for block in re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]
    return [block for block in found if re.match(r"(make|build/|less) ?", block[0])]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Readme(Case):
    def test_has_the_blocks_that_are_tried(self):
        self.assertEqual([block[0].split()[:2] for block in blocks()],
                         [["make", "run"], [PROGRAM, "sink"], [PROGRAM, "demo"]])

    def test_make_has_both_commands(self):  # req: daemon.first.1
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for line in blocks()[0]:
            self.assertRegex(makefile, rf"(?m)^{line.split()[1]}:")
        self.assertRegex(makefile, r"(?m)^run: program ")
        self.assertIn("serve --dev --data ./data", makefile)

    def test_the_first_message_ends_as_delivered(self):  # req: daemon.first.2
        daemon = self.daemon("--dev", name="data")
        port = free_port()
        environment = {**ENVIRONMENT, "POSTRIDER_URL": f"http://{daemon.address}"}
        sent = None
        for line in blocks()[1]:
            words = [str(BINARY) if word == PROGRAM else word.replace("8470", str(port))
                     for word in shlex.split(line.rstrip(" &"))]
            if line.endswith("&"):
                sink = subprocess.Popen(words, cwd=self.directory, env=environment, stderr=subprocess.PIPE)
                self.addCleanup(sink.wait)
                self.addCleanup(sink.stderr.close)
                self.addCleanup(sink.terminate)
                sink.stderr.readline()  # it listens
                continue
            done = subprocess.run([sent if word == "ID" else word for word in words], cwd=self.directory, text=True,
                                  env=environment, timeout=PATIENCE, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
            if "--new-secret" in line:
                self.assertIn("whsec_", done.stdout)
            if words[1] == "send":
                sent = re.search(r"\b[0-9a-f]{32}\b", done.stdout).group()
            if words[1] in ("send", "explain"):
                self.assertIn("delivered", done.stdout)
        self.assertIsNotNone(sent)

    def test_look_around(self):  # req: daemon.first.3
        for line in blocks()[2]:
            words = shlex.split(line, comments=True)
            if words[0] == "less":
                self.assertTrue((ROOT / words[1]).is_file(), line)
            elif words[1] != "demo":
                done = self.run_program(*words[1:])
                self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")


if __name__ == "__main__":
    unittest.main()

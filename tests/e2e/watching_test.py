#!/usr/bin/env python3
"""For whoever watches: shape, top, --watch, completion, manual pages, alert rules, the board and the runbooks, with a
real daemon and, where it matters, a real terminal."""

import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time

import harness
from harness import BINARY, ENVIRONMENT, PATIENCE, ROOT, wait_until

METRIC = re.compile(r"\b((?:postrider|process)_[a-z_]+)(\{[^}]*\})?")
LABEL = re.compile(r'([a-z_]+)(=|!=|=~|!~)"([^"]*)"')
PLACED_BY_PROMETHEUS = {"instance", "job", "le"}


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *arguments, rows=12, columns=90, url=None):
        self.master, slave = pty.openpty()
        self.slave = slave
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        environment = {**ENVIRONMENT, "TERM": "xterm"}
        del environment["NO_COLOR"]
        if url:
            environment["POSTRIDER_URL"] = url
        self.process = subprocess.Popen([str(BINARY), *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.bytes = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                break
            if not piece:
                break
            self.bytes += piece
        return self.bytes.decode(errors="replace")

    def screens(self):
        """What was drawn, each time, without colours."""
        parts = self.read().split("\x1b[H")[1:]
        return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", part) for part in parts if part.endswith("\x1b[J")]

    def wait_for(self, condition, what):
        wait_until(lambda: condition(self.screens()), f"{what}; there is {self.read()[-2000:]!r}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class Watching(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = self.daemon(config='[transport]\nallow = ["127.0.0.0/8"]\n')
        self.client = self.server.wait_ready()

    def ask(self, *arguments):
        return self.run_program(*arguments, environment={"POSTRIDER_URL": self.server.url})

    def terminal(self, *arguments, **more):
        terminal = Terminal(*arguments, url=self.server.url, **more)
        self.addCleanup(terminal.close)
        return terminal

    def fill(self):
        receiver = self.receiver(lambda request: (503, {}, b"not now"))
        self.client.put_destination("away", url=receiver.url, ladder="1h,1h", jitter_percent="0")
        self.client.put_destination("held", url=receiver.url)
        self.client.post("/v1/destinations/held/pause", {"reason": "moving house"})
        for _ in range(3):
            self.client.send("held")
        self.client.wait_for(self.client.send("away"), "backoff")
        return receiver

    # req: cli.shape.1
    def test_shape_counts_everything_that_waits(self):
        self.fill()
        done = self.ask("shape")
        self.assertEqual(done.returncode, 0, done)
        rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
        self.assertEqual(rows["all"][1:3], ["4", "4"], done.stdout)
        self.assertEqual(rows["held"][1:3], ["3", "3"])
        self.assertEqual(rows["away"][1:3], ["1", "1"])
        told = json.loads(self.ask("shape", "--json").stdout)
        self.assertEqual([row["total"] for row in told["destinations"]], [3, 1])
        self.assertEqual(told["looked_at"], 4)
        self.assertEqual(json.loads(self.ask("shape", "--json", "--destination", "away").stdout)["looked_at"], 1)
        self.assert_fails(self.ask("shape", "--destination", "nobody"), 1, "nobody")

    # req: cli.shape.1, api.shape.3
    def test_a_shape_of_many_agrees_with_the_books(self):
        receiver = self.receiver()
        for number in range(5):
            self.client.put_destination(f"d{number}", url=receiver.url)
            self.client.post(f"/v1/destinations/d{number}/pause")
        lines = "".join(json.dumps({"destination": f"d{n % 5}", "body": "x" * 100}) + "\n" for n in range(25000))
        answer = self.client.post("/v1/messages", lines, headers={"content-type": "application/x-ndjson"})
        self.assertEqual(answer.body.count(b'"id"'), 25000)
        told = json.loads(self.ask("shape", "--json").stdout)
        self.assertEqual(sum(row["total"] for row in told["destinations"]), self.client.conservation()["live"])
        self.assertEqual([row["total"] for row in told["destinations"]], [5000] * 5)

    # req: cli.top.1
    def test_top_prints_once_where_there_is_no_terminal(self):
        self.fill()
        done = self.ask("top")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"(?m)^held +paused +3 .* moving house$")
        self.assertRegex(done.stdout, r"(?m)^away +\w+ +1 +\S+ +0/\d+ +0 +0\.02 +in \S+ +HTTP 503.*, \S+ ago|now$")
        told = {row["name"]: row for row in json.loads(self.ask("top", "--json").stdout)["destinations"]}
        self.assertEqual(told["held"]["pending"], 3)
        self.assertTrue(told["held"]["exact"])
        self.assertEqual(told["away"]["failed_last_minute"], 1)
        self.assertIn("503", told["away"]["last_error"])
        self.assertIn("next_at", told["away"])
        only = json.loads(self.ask("top", "--json", "--prefix", "he").stdout)["destinations"]
        self.assertEqual([row["name"] for row in only], ["held"])

    # req: cli.top.2
    def test_top_draws_in_place_sorts_and_gives_the_terminal_back(self):
        self.fill()
        for ending in ("q", "\x03", signal.SIGTERM):
            terminal = self.terminal("top")
            terminal.wait_for(lambda screens: screens and "held" in screens[-1], "the first picture")
            terminal.wait_for(lambda screens: len(screens) > 2, "further pictures")
            os.write(terminal.master, b"n")
            terminal.wait_for(lambda screens: "by name" in screens[-1], "another order")
            last = terminal.screens()[-1]
            self.assertLess(last.index("away"), last.index("held"))
            terminal.resize(5, 30)
            terminal.process.send_signal(signal.SIGWINCH)
            terminal.wait_for(lambda screens: max(map(len, screens[-1].splitlines())) <= 30, "the smaller window")
            self.assertLessEqual(len(terminal.screens()[-1].splitlines()), 5)
            self.assertNotIn("\x1b[2J", terminal.read().split("\x1b[2J", 1)[1], "drawn over, never cleared")
            if isinstance(ending, str):
                os.write(terminal.master, ending.encode())
            else:
                terminal.process.send_signal(ending)
            self.assertEqual(terminal.process.wait(PATIENCE), 0)
            self.assertTrue(terminal.read().endswith("\x1b[?25h\x1b[?1049l"))
            self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)

    # req: cli.watch.1
    def test_watch_draws_a_list_again_and_waits_for_a_daemon_that_is_gone(self):
        self.fill()
        terminal = self.terminal("dest", "ls", "--watch=1")
        terminal.wait_for(lambda screens: screens and "held" in screens[-1], "the list")
        self.client.post("/v1/destinations/held/resume")
        terminal.wait_for(lambda screens: "paused" not in screens[-1], "the change")
        self.server.stop()
        terminal.wait_for(lambda screens: "nothing answers" in screens[-1], "the complaint")
        os.write(terminal.master, b"q")
        self.assertEqual(terminal.process.wait(PATIENCE), 0)

    # req: cli.watch.1
    def test_watch_prints_one_answer_after_the_other_where_there_is_no_terminal(self):
        self.fill()
        process = subprocess.Popen([str(BINARY), "msg", "ls", "--watch=1", "--json", "--url", self.server.url],
                                   stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        self.assertEqual([len(answer["messages"]) for answer in answers], [4, 4])
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    # req: cli.profile.live.1
    def test_live_counts_of_every_profile(self):
        self.fill()
        done = self.ask("profile", "show", "webhook", "--live")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"(?m)^\w+ +queued +3 ")
        self.assertIn("4 messages live", done.stdout)
        told = json.loads(self.ask("profile", "show", "webhook", "--live", "--json").stdout)
        self.assertEqual(told["live"], 4)
        diagram = self.ask("profile", "show", "webhook", "--live", "--method", "post",
                           "--format", "mermaid").stdout
        self.assertRegex(diagram, r"(?m)^  \w+ : 3$")
        for name in ("webhook", "device"):
            self.assertEqual(self.ask("profile", "show", name, "--live", "--json").returncode, 0)


class Pages(harness.Case):
    def help_of(self, *words):
        done = self.run_program(*words, "--help")
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def commands(self):
        """Every command as a list of words, from the help alone."""
        for noun in re.findall(r"(?m)^  ([a-z]+) ", self.help_of()):
            usages = re.findall(r"(?m)^(?:Usage: |       )postrider (.*) \[OPTION", self.help_of(noun))
            for usage in usages:
                yield [word for word in usage.split() if re.fullmatch("[a-z]+", word)][:2]

    # req: cli.man.1, cli.completion.1
    def test_every_option_of_the_help_is_in_the_manual_and_in_the_completions(self):
        seen = 0
        scripts = {shell: self.run_program("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
        for words in self.commands():
            options = re.findall(r"(?m)^  (--[a-z-]+)", self.help_of(*words))
            page = self.run_program("man", words[0]).stdout.replace("\\-", "-")
            for option in options:
                self.assertIn(f".B {option}", page, words)
                self.assertIn(option, scripts["bash"])
                self.assertIn(option, scripts["zsh"])
                self.assertIn(f"-l {option[2:]} ", scripts["fish"])
                seen += 1
            self.assertIn("'" + " ".join(words) + "') words='" + " ".join(options) + "'", scripts["bash"])
        self.assertGreater(seen, 200)
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=scripts[shell], text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done)

    # req: cli.man.1
    def test_pages_are_understood_by_man(self):
        done = self.run_program("man", "--directory", "man1")
        self.assertEqual(done.returncode, 0, done)
        pages = sorted((self.directory / "man1").iterdir())
        self.assertGreater(len(pages), 15)
        if not shutil.which("groff"):
            return
        for page in pages:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)


class Rules(harness.Case):
    """The alert rules, the board and the runbooks speak of what there is."""

    def scrape(self):
        """What a daemon shows that has done something of everything."""
        receiver = self.receiver(lambda request: (503 if request.path == "/bad" else 200, {}, b""))
        daemon = self.daemon(config='[transport]\nallow = ["127.0.0.0/8"]\n')
        client = daemon.wait_ready()
        client.put_destination("good", url=receiver.url)
        client.put_destination("bad", url=receiver.url + "/bad", ladder="100ms,1h", jitter_percent="0")
        client.put_destination("slow", url=receiver.url, rate="1", burst="1")
        client.ask("PUT", "/v1/destinations/inbox", {"profile": "mailbox", "settings": {}})
        for name in ["slow"] * 30 + ["inbox"]:
            client.send(name)
        client.wait_for(client.send("good"), "delivered")
        retried = client.send("bad")
        wait_until(lambda: client.explain(retried)["attempts"] == 2, "a retry")
        client.wait_for(retried, "backoff")
        client.get("/nowhere")
        return client.get("/metrics").body.decode()

    def metrics(self):
        """name -> label -> values."""
        found = {}
        for line in self.scrape().splitlines():
            sample = re.match(r"([a-z_]+)(?:\{(.*)\})? ", line)
            if line.startswith("#") or not sample:
                continue
            labels = found.setdefault(sample.group(1), {})
            for name, value in re.findall(r'([a-z_]+)="([^"]*)"', sample.group(2) or ""):
                labels.setdefault(name, set()).add(value)
        return found

    def check_expression(self, expression, found):
        names = 0
        for name, labels in METRIC.findall(expression):
            self.assertIn(name, found, expression)
            names += 1
            for label, how, value in LABEL.findall(labels or ""):
                if label in PLACED_BY_PROMETHEUS or value.startswith("$"):
                    continue
                self.assertIn(label, found[name], expression)
                # Requests that were refused are not among those that this test made.
                if how == "=" and label != "code":
                    self.assertIn(value, found[name][label], expression)
        for listed in re.findall(r"by \(([^)]*)\)", expression):
            for label in re.split(r", *", listed):
                known = any(label in found[name] for name, _ in METRIC.findall(expression))
                self.assertTrue(known or label in PLACED_BY_PROMETHEUS, f"{label} in {expression}")
        return names

    # req: ops.rules.1
    def test_rules_and_board_name_metrics_that_there_are(self):
        found = self.metrics()
        rules = (ROOT / "packaging/prometheus/postrider.rules.yml").read_text()
        expressions = re.findall(r"(?m)^ +expr: (?:>\n +)?(.*)$", rules)
        self.assertEqual(len(expressions), rules.count("- alert: "))
        self.assertGreater(sum(self.check_expression(one, found) for one in expressions), 14)
        board = json.loads((ROOT / "packaging/grafana/postrider.json").read_text())
        targets = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        self.assertGreater(sum(self.check_expression(one, found) for one in targets), 25)
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))

    # req: ops.rules.1
    def test_every_alert_leads_to_a_runbook(self):
        rules = (ROOT / "packaging/prometheus/postrider.rules.yml").read_text()
        runbooks = re.findall(r"runbook: (\S+)", rules)
        self.assertEqual(len(runbooks), rules.count("- alert: "))
        for path in set(runbooks):
            self.assertTrue((ROOT / path).is_file(), path)
        for page in (ROOT / "docs/runbooks").glob("*.md"):
            self.assertIn(f"docs/runbooks/{page.name}", runbooks)
            for name, _ in METRIC.findall(page.read_text()):
                self.assertIn(name, (ROOT / "postrider/api/metrics.cc").read_text(), page)

    def promtool(self):
        tool = os.environ.get("POSTRIDER_PROMTOOL") or shutil.which("promtool")
        if not tool:
            self.skipTest("promtool is not here: scripts/install-deps promtool")
        return tool

    # req: api.metrics.3
    def test_promtool_has_no_complaint_about_the_metrics(self):
        tool = self.promtool()
        done = subprocess.run([tool, "check", "metrics"], input=self.scrape(), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    # req: api.metrics.5
    def test_figures_of_the_process_are_those_of_the_daemon(self):
        began = time.time()
        found = dict(re.findall(r"(?m)^(process_[a-z_]+) (\S+)$", self.scrape()))
        self.assertLess(abs(float(found["process_start_time_seconds"]) - began), PATIENCE)
        self.assertGreater(float(found["process_cpu_seconds_total"]), 0)
        self.assertGreater(int(found["process_threads"]), 1)
        self.assertGreater(int(found["process_open_fds"]), 10)
        self.assertGreaterEqual(int(found["process_max_fds"]), int(found["process_open_fds"]))
        self.assertGreater(int(found["process_resident_memory_bytes"]), 1 << 20)
        self.assertGreater(int(found["process_virtual_memory_bytes"]), int(found["process_resident_memory_bytes"]))

    # req: ops.rules.1
    def test_promtool_agrees(self):
        tool = self.promtool()
        for verb, file in (("check", "postrider.rules.yml"), ("test", "postrider.rules.test.yml")):
            done = subprocess.run([tool, verb, "rules", file], cwd=ROOT / "packaging/prometheus", capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done)

    # req: ops.runbooks.1
    def test_every_command_of_the_runbooks_is_understood(self):
        commands = 0
        for page in sorted((ROOT / "docs/runbooks").glob("*.md")):
            text = page.read_text()
            for line in re.findall(r"(?m)^\$ (postrider .*)$", text) + re.findall(r"`(postrider [a-z][^`]*)`", text):
                words = shlex.split(line.split(" | ")[0].split(" > ")[0], comments=True)[1:]
                if "serve" in words:
                    continue
                # With --help behind it, everything before is checked only if it is understood; so leave it out and
                # look at the complaint instead: no daemon is there, which is a failure and no usage error.
                done = self.run_program(*words, environment={"POSTRIDER_URL": "http://127.0.0.1:1"}, stdin="")
                self.assertNotEqual(done.returncode, 2, (page.name, line, done.stderr))
                commands += 1
        self.assertGreater(commands, 20)


if __name__ == "__main__":
    harness.main()

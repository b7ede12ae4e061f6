#!/usr/bin/env python3
"""`postrider sim --config`: the destinations of a daemon's own file, rehearsed under virtual time."""

import json

import harness

SECRET = "whsec_cExhTnRFZC1zaW11bGF0ZWQtc2lnbmluZy1rZXktLi4="
HEADER = "pLaNtEd-header"
CONFIG = f"""
[destinations.patient]
profile = "webhook"
[destinations.patient.settings]
url = "https://patient.example/hook"
secret = "{SECRET}"
headers = {{ authorization = "{HEADER}" }}
[destinations.hasty]
profile = "webhook"
[destinations.hasty.settings]
url = "https://hasty.example/hook"
ladder = "1s"
budget = "5s"
jitter_percent = "0"
[destinations.orderly]
profile = "webhook"
[destinations.orderly.settings]
url = "https://orderly.example/hook"
order = "fifo"
"""


class OwnDestinations(harness.Case):
    def setUp(self):
        super().setUp()
        self.file = self.directory / "p.toml"
        self.file.write_text(CONFIG)

    def sim(self, *options):
        return self.run_program("sim", "--config", self.file, "--days", "3", "--messages", "300", *options)

    # req: sim.config.1
    def test_each_is_reported_by_its_name(self):
        done = self.sim("--json", "--seeds", "3")
        self.assertEqual(done.returncode, 0, done)
        report = json.loads(done.stdout)
        found = {each["name"]: each for each in report["destinations"]}
        self.assertEqual(sorted(found), ["hasty", "orderly", "patient"])
        for what in ("delivered", "dead", "expired", "cancelled"):
            self.assertEqual(sum(each[what] for each in found.values()), report["outcomes"][what], what)
        # Who gives up after five seconds has more dead letters; what waits for a closed route is not given up.
        self.assertGreater(found["hasty"]["dead"], found["patient"]["dead"])
        self.assertGreater(found["patient"]["worst_delay_seconds"], 60)
        self.assertEqual(report["violations"], 0)

    # req: sim.config.1
    def test_people_get_a_table(self):
        done = self.sim()
        self.assertEqual(done.returncode, 0, done)
        head = next(line for line in done.stdout.splitlines() if line.startswith("DESTINATION"))
        self.assertEqual(head.split("  ")[-1].strip(), "WORST DELAY")
        self.assertEqual(sum(line.startswith(("patient ", "hasty ", "orderly ")) for line in done.stdout.splitlines()), 3)

    # req: sim.config.1
    def test_the_same_seed_is_the_same_world_and_a_setting_changes_it(self):
        hashes = [json.loads(self.sim("--json", "--seed", "7", "--seeds", "4").stdout)["trace_hash"] for _ in range(2)]
        self.file.write_text(CONFIG.replace('ladder = "1s"', 'ladder = "2s"'))
        hashes.append(json.loads(self.sim("--json", "--seed", "7", "--seeds", "4").stdout)["trace_hash"])
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])

    # req: sim.config.2
    def test_nothing_secret_gets_into_the_trace(self):
        trace = self.directory / "trace"
        done = self.sim("--trace", trace)
        text = trace.read_text() + done.stdout + done.stderr
        self.assertIn("peer-", text)
        for word in (SECRET, SECRET[6:], HEADER, "patient.example"):
            self.assertNotIn(word, text)

    # req: sim.config.1
    def test_a_file_that_cannot_be_rehearsed_is_refused(self):
        self.assert_fails(self.sim("--profile", "drill"), 2, "--profile does not go with --config")
        self.assert_fails(self.sim("--destinations", "3"), 2, "--destinations does not go with --config")
        self.file.write_text(CONFIG + "ladderr = \"1s\"\n")
        self.assert_fails(self.sim(), 2, "did you mean 'ladder'?")
        self.file.write_text("")
        self.assert_fails(self.sim(), 2, "no destinations to rehearse")
        self.file.unlink()
        self.assert_fails(self.sim(), 2, "No such file")


if __name__ == "__main__":
    harness.main()

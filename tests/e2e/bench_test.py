#!/usr/bin/env python3
"""Every bench runs, accounts for what it did and reports the agreed figures. How large they are is not tested."""

import json
import os
import pathlib
import subprocess

import harness

FIGURES = ("rate", "p50_us", "p99_us", "records_per_lifecycle", "bytes_per_lifecycle", "cpu_us_per_lifecycle", "rss_mb")


# The program of bench/long; the builds with sanitizers have none.
LONG = pathlib.Path(os.environ.get("POSTRIDER_BENCH_BINARY", harness.BINARY.with_name("postrider-bench")))


class Bench(harness.Case):
    def bench(self, *options, without=()):
        return self.report(self.run_program("bench", *options, "--json"), without)

    def long_bench(self, *options, without=()):
        if not LONG.exists():
            self.skipTest(f"there is no {LONG}")
        done = subprocess.run([str(LONG), *options, "--json"], text=True, timeout=harness.PATIENCE, capture_output=True,
                              cwd=self.directory, env=harness.ENVIRONMENT, check=False)
        return self.report(done, without)

    def report(self, done, without):
        self.assertEqual(done.returncode, 0, done)
        report = json.loads(done.stdout)
        for name in FIGURES:
            if name not in without:
                self.assertGreater(report[name], 0, f"{name}: {report}")
        return report

    # req: engine.figure.1
    def test_lifecycles(self):
        report = self.bench("lifecycle", "--seconds", "1", "--destinations", "10", "--depth", "16")
        self.assertIn("fdatasync", report["sync"])
        # One message, and its share of the pages that hold the ends.
        self.assertGreaterEqual(report["records_per_lifecycle"], 1)
        self.assertGreaterEqual(report["bytes_per_lifecycle"], 512)

    # req: engine.figure.1
    def test_http_in_and_out(self):
        for bench in ("http", "webhook"):
            report = self.bench(bench, "--seconds", "1", "--destinations", "10")
            self.assertGreaterEqual(report["records_per_lifecycle"], 1)
            self.assertGreaterEqual(report["bytes_per_lifecycle"], 512)

    # req: engine.figure.1
    def test_a_backlog_is_made_killed_and_drained_without_loss(self):
        report = self.long_bench("backlog", "--messages", "3000")
        self.assertEqual(report["messages"], 3001)
        for name in ("accept_rate", "accept_rate_empty", "accept_rate_full", "restart_seconds"):
            self.assertGreater(report[name], 0, name)

    # req: engine.figure.1
    def test_each_program_calls_itself_by_its_name(self):
        if not LONG.exists():
            self.skipTest(f"there is no {LONG}")
        for command, said in (([str(LONG)], "postrider-bench"), ([str(harness.BINARY), "bench"], "postrider bench")):
            done = subprocess.run([*command, "--help"], text=True, timeout=harness.PATIENCE, capture_output=True, check=False)
            lines = [line for line in done.stdout.splitlines() if "[OPTION…]" in line]
            self.assertTrue(lines, done)
            for line in lines:
                self.assertRegex(line, f"^(Usage:| {{6}}) {said} [a-z]+ ")
            self.assertIn(f"'{said} VERB --help'", done.stdout)
            wrong = subprocess.run([*command, "nonsense"], text=True, timeout=harness.PATIENCE, capture_output=True, check=False)
            self.assertTrue(wrong.stderr.startswith(f"{said}: unknown verb"), wrong)

    # req: engine.figure.1
    def test_timers(self):
        report = self.long_bench("timers", "--messages", "10000", without=("records_per_lifecycle", "bytes_per_lifecycle"))
        self.assertEqual(report["fired"], 10000)


if __name__ == "__main__":
    harness.main()

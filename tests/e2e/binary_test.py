#!/usr/bin/env python3
"""What is shipped: the program without debug sections, and these beside it."""

import subprocess

import harness


def sections(file):
    return subprocess.run(["readelf", "-SW", str(file)], text=True, capture_output=True, check=True).stdout


class Binary(harness.Case):
    # req: daemon.first.4
    def test_debug_sections_are_kept_apart(self):
        debug = harness.BINARY.with_name(harness.BINARY.name + ".debug")
        if not debug.exists():
            self.skipTest("a build with sanitizers keeps them inside")
        self.assertNotIn(".debug_", sections(harness.BINARY))
        self.assertIn(".gnu_debuglink", sections(harness.BINARY))
        self.assertIn(".debug_line", sections(debug))


if __name__ == "__main__":
    harness.main()

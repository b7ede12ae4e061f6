"""The example program that embeds the library: its message is delivered, and it says so."""

import subprocess
import unittest

from harness import BINARY, ENVIRONMENT, PATIENCE, Case

EMBED = BINARY.parent / "examples" / "embed"


class Embed(Case):
    def run_embed(self, *words):
        return subprocess.run([EMBED, self.directory / "store", *words], capture_output=True, text=True,
                              timeout=PATIENCE, env=ENVIRONMENT)

    def test_delivers_and_tells_the_end(self):  # req: lib.client.1, lib.client.2
        receiver = self.receiver()
        ran = self.run_embed(receiver.url, '{"order": 4711}')
        self.assertEqual(ran.returncode, 0, ran.stderr)
        submitted, end = ran.stdout.splitlines()
        self.assertRegex(submitted, r"^submitted \S+$")
        message = submitted.split()[1]
        self.assertTrue(end.startswith(f"{message} delivered after 1 attempts"), end)
        self.assertEqual([request.body for request in receiver.requests], [b'{"order": 4711}'])
        self.assertEqual(receiver.requests[0].headers["webhook-id"], message)

    def test_says_what_is_wrong(self):  # req: lib.client.3
        ran = self.run_embed("ftp://nowhere")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("url", ran.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""What an operator of a homeserver does with the matrix profile, between two real Synapses on loopback: a reverse proxy
that mirrors inbound requests, an egress that is down for a while, media through the relay, and the way out again.

Runs in the environment that scripts/interop makes, as matrix_test.py does.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from matrix_test import TwoServers  # noqa: E402

PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:{harness.ROOT / 'build/nginx/usr/sbin'}"
NGINX = os.environ.get("POSTRIDER_NGINX") or shutil.which("nginx", path=PLACES)

# The locations are those of docs/profiles/matrix.md.
PROXY = """
daemon off; master_process off; pid nginx.pid; error_log error.log info;
events {{ }}
http {{
  access_log access.log; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi; client_max_body_size 100m;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {certificate}.crt; ssl_certificate_key {certificate}.key;
    location / {{ proxy_pass http://127.0.0.1:{inner}; proxy_set_header Host $http_host; }}
{locations}
  }}
}}
"""


def documented_locations(inner, api):
    """The two locations of the operator's page, with the ports of the test."""
    page = (harness.ROOT / "docs/profiles/matrix.md").read_text()
    text = page.split("```nginx\n")[1].split("```")[0]
    assert "127.0.0.1:8008" in text and "127.0.0.1:8460" in text, text
    return text.replace("127.0.0.1:8008", f"127.0.0.1:{inner}").replace("127.0.0.1:8460", api)


class Mirror(TwoServers):
    SETTINGS = 'tries = 1\ninterval_first = "10m"'
    PROXIED = True

    def setUp(self):
        if not NGINX:
            self.skipTest("there is no nginx")
        super().setUp()

    def begin(self):
        super().begin()
        directory = self.directory / "nginx"
        directory.mkdir()
        (directory / "nginx.conf").write_text(PROXY.format(
            port=self.a.federation, inner=self.a.inner, certificate=self.authority.directory / "a",
            locations=documented_locations(self.a.inner, self.postrider.address)))
        self.proxy = subprocess.Popen([NGINX, "-p", str(directory), "-c", "nginx.conf", "-e", "error.log"],
                                      stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.proxy.wait)
        self.addCleanup(self.proxy.kill)

    def verdicts(self, word):
        return self.metric(f'postrider_matrix_inbound_total{{verdict="{word}"}}')

    # req: matrix.wake.3, matrix.seen.2
    def test_what_b_sends_to_a_opens_the_way_to_b(self):
        room, = self.shared_rooms(1)
        self.alice.say(room, "before")
        harness.wait_until(lambda: self.bob.texts(room) == ["before"], "B before its outage")
        alive = self.verdicts("alive")
        self.b.stop()
        self.alice.say(room, "meanwhile")
        harness.wait_until(lambda: self.health() == "wait", "the back-off")
        self.b.start()
        self.assertEqual(self.health(), "wait")
        delivered = {}

        def watch():
            harness.wait_until(lambda: self.verdicts("alive") > alive, "the mirrored request")
            delivered["verified"] = time.monotonic()
            harness.wait_until(lambda: self.client.conservation()["live"] == 0, "the end of what waited")
            delivered["ended"] = time.monotonic()
        watching = threading.Thread(target=watch)
        watching.start()
        self.bob.say(room, "I am back")
        watching.join()
        self.assertIn("ended", delivered)
        print(f"delivered within {1000 * (delivered['ended'] - delivered['verified']):.0f} ms of the mirrored request")
        harness.wait_until(lambda: sorted(self.bob.texts(room)) == ["I am back", "before", "meanwhile"], "all at B")


class Relay(TwoServers):
    def memory(self):
        """The most that the daemon ever had, in bytes."""
        for line in pathlib.Path(f"/proc/{self.postrider.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmHWM")

    # req: matrix.egress.5
    def test_media_of_20_mb_come_through_and_memory_stays(self):
        self.shared_rooms(1)
        content = os.urandom(20_000_000)
        server, media = self.bob.upload(content)
        before, stored = self.memory(), self.client.conservation()["accepted"]
        self.assertEqual(self.alice.download(server, media), content)
        grown = self.memory() - before
        self.assertLess(grown, 8_000_000)
        self.assertEqual(self.client.conservation()["accepted"], stored, "media are not stored")
        print(f"20 MB of media through the relay: the daemon grew by {grown} bytes at most")

    # req: matrix.egress.2
    def test_an_egress_that_is_down_for_ten_seconds_loses_nothing(self):
        room, = self.shared_rooms(1)
        self.alice.say(room, "before")
        harness.wait_until(lambda: self.bob.texts(room) == ["before"], "a first message")
        self.assertEqual(self.postrider.stop(), 0)
        said = ["before"]
        until = time.monotonic() + 10
        while time.monotonic() < until:
            said.append(f"while it was down {len(said)}")
            self.alice.say(room, said[-1])
            time.sleep(1)
        began = time.monotonic()
        self.begin()
        harness.wait_until(lambda: len(self.bob.texts(room)) >= len(said), "what was said meanwhile")
        self.assertEqual(self.bob.texts(room), said)
        print(f"{len(said) - 1} messages of 10 s without an egress: at B {time.monotonic() - began:.1f} s after its return")

    # req: matrix.roll.1
    def test_the_way_out_again_loses_nothing(self):
        room, = self.shared_rooms(1)
        self.alice.say(room, "before")
        harness.wait_until(lambda: self.bob.texts(room) == ["before"], "a first message")
        self.b.stop()
        for n in range(5):
            self.alice.say(room, f"held {n}")
        harness.wait_until(lambda: self.client.conservation()["live"] >= 5, "the messages with us")

        def drain(*options):
            return self.run_program("matrix", "drain", *options, "--url", self.postrider.url)
        look = drain("--look")
        self.assertEqual(look.returncode, 1, look)
        self.assertIn("items are owed to 1 servers", look.stdout)
        self.a.stop()
        self.a.send_by_itself()
        self.a.start()
        self.b.start()
        self.assertEqual(self.client.post(f"/v1/matrix/seen/{self.b.name}").status, 204)
        waited = drain()
        self.assertEqual(waited.returncode, 0, waited)
        self.assertTrue(waited.stdout.endswith("nothing is owed\n"), waited.stdout)
        accepted = self.client.conservation()["accepted"]
        self.assertEqual(self.postrider.stop(), 0)
        self.alice.say(room, "by itself")
        want = ["before", *[f"held {n}" for n in range(5)], "by itself"]
        harness.wait_until(lambda: len(self.bob.texts(room)) >= len(want), "what A sends by itself")
        self.assertEqual(self.bob.texts(room), want)
        self.assertGreaterEqual(accepted, 6)


if __name__ == "__main__":
    unittest.main(verbosity=2)

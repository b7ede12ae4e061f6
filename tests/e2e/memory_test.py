#!/usr/bin/env python3
"""Memory that clients may take: bodies without a token, and exports that nobody reads."""

import json
import pathlib
import resource
import socket
import time

import harness
from harness import Client, wait_until

SECRET = "hands-0123456789abcdef"
CONFIG = f"""
[[tokens]]
name = "hands"
scopes = ["submit", "read", "operate"]
secret = "{SECRET}"
[server]
held_bytes_max = "64MiB"
[transport]
allow = ["127.0.0.0/8"]
"""
MIB = 1 << 20
CONNECTIONS = 300
BODY = 512 * 1024
LETTERS = 60
LETTER = 250_000
PIPELINED = 64


class Memory(harness.Case):
    def start(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
        daemon = self.daemon(config=CONFIG)
        return daemon, daemon.wait_ready(token=SECRET)

    @staticmethod
    def resident(daemon):
        text = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith("VmRSS:")).split()[1]) * 1024

    def connect(self, daemon):
        host, port = daemon.address.rsplit(":", 1)
        plug = socket.create_connection((host, int(port)))
        self.addCleanup(plug.close)
        return plug

    # req: daemon.http.26
    def test_bodies_without_a_token_cost_nothing(self):
        daemon, client = self.start()
        before = self.resident(daemon)
        head = (b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % BODY)
        plugs = []
        for _ in range(CONNECTIONS):
            plug = self.connect(daemon)
            plug.settimeout(harness.PATIENCE)
            plugs.append(plug)
            try:
                plug.sendall(head)
                plug.sendall(b"x" * (BODY - 1))
            except OSError:
                pass  # refused, and closed: the rest is not wanted
        self.assertEqual(client.get("/livez").status, 200)
        grown = self.resident(daemon) - before
        self.assertLess(grown, 40 * MIB, f"{grown / MIB:.0f} MiB for {CONNECTIONS} bodies that nobody may send")
        quiet = self.connect(daemon)
        quiet.settimeout(harness.PATIENCE)
        quiet.sendall(head[:-2] + b"expect: 100-continue\r\n\r\n")
        self.assertIn(b" 401 ", quiet.recv(4096).split(b"\r\n")[0])

    # req: daemon.http.26
    def test_exports_that_nobody_reads_cost_little_and_stop_nobody(self):
        daemon, client = self.start()
        receiver = self.receiver(lambda request: (400, {}, b"no"))
        client.put_destination("shop", url=receiver.url)
        line = json.dumps({"destination": "shop", "body": "x" * LETTER}) + "\n"
        answer = client.post("/v1/messages", line * LETTERS, headers={"content-type": "application/x-ndjson"})
        self.assertEqual(answer.status, 200)
        wait_until(lambda: client.get("/v1/stats").json()["conservation"]["dead"] == LETTERS, "dead letters")
        before = self.resident(daemon)
        plug = self.connect(daemon)
        ask = f"GET /v1/dead-letters/export HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {SECRET}\r\n\r\n"
        plug.sendall(ask.encode() * PIPELINED)
        # The engine answers in the order of questions: when it has answered these, it has answered the exports
        # that were asked of it before.
        slowest = 0
        for _ in range(20):
            began = time.monotonic()
            self.assertEqual(client.get("/livez").status, 200)
            slowest = max(slowest, time.monotonic() - began)
            self.assertEqual(client.get("/readyz").status, 200)
        grown = self.resident(daemon) - before
        # As a whole they are 64 times 20 MiB.
        self.assertLess(grown, 100 * MIB, f"{grown / MIB:.0f} MiB; livez took {slowest:.2f} s")
        # What is read is whole.
        exported = client.get("/v1/dead-letters/export").body.splitlines()
        self.assertEqual(len(exported), LETTERS)


if __name__ == "__main__":
    harness.main()

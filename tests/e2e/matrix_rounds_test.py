#!/usr/bin/env python3
"""kill -9 under the matrix profile: a client that behaves like a homeserver hands transactions over at the egress and
repeats what was not answered, three `sink matrix` with TLS apply them and remember, and the daemon is killed again and
again. In the end every event and every message to devices was applied once, in the order of its room.

POSTRIDER_MATRIX_ROUNDS says how often it is killed (15), POSTRIDER_MATRIX_SEED at which instants. To see that a mistake
is noticed: POSTRIDER_MATRIX_DAEMON, the program with planted bugs, and POSTRIDER_MATRIX_PLANT, the name of one.
"""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

ROUNDS = int(os.environ.get("POSTRIDER_MATRIX_ROUNDS", "15"))
SEED = int(os.environ.get("POSTRIDER_MATRIX_SEED", str(time.time_ns() % 1_000_000_007)))
DAEMON = pathlib.Path(os.environ.get("POSTRIDER_MATRIX_DAEMON", harness.BINARY))
PLANT = {"POSTRIDER_PLANT": os.environ["POSTRIDER_MATRIX_PLANT"]} if "POSTRIDER_MATRIX_PLANT" in os.environ else {}
SINK = str(harness.BINARY)
SERVERS = 3
ROOMS = 4
NAME = "us.example"
SECRET = "a replication secret of a test"

CONFIG = """
[transport]
allow = ["127.0.0.0/8", "::1/128"]
trust_file = "{authority}"
[matrix]
server_name = "{name}"
egress = "127.0.0.1:{egress}"
secret_file = "{directory}/replication.secret"
trust_file = "{authority}"
[secrets]
matrix-key = "{directory}/signing.key"
[destinations."matrix:*"]
profile = "matrix"
[destinations."matrix:*".settings]
server_name = "{name}"
key = "matrix-key"
{settings}
"""
QUICK = 'pauses = "100ms"\ntime_out = "2s"\ninterval_first = "100ms"\ninterval_max = "1s"'


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Sink:
    """`postrider sink matrix`: a server named localhost:PORT."""

    def __init__(self, directory, authority, key, seed):
        self.port, self.control = free_port(), None
        self.name = f"localhost:{self.port}"
        command = [SINK, "sink", "matrix", "--listen", str(self.port), "--control", "0",
                   "--certificate", str(authority.directory / "server.crt"), "--key",
                   str(authority.directory / "server.key"), "--server-name", self.name, "--verify", f"ed25519:a={key}",
                   "--seed", str(seed)]
        with open(directory / f"sink-{self.port}", "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                            text=True)
        self.control = json.loads(self.process.stdout.readline())["control"].rsplit(":", 1)

    def ask(self, method, path, body=None):
        with contextlib.closing(http.client.HTTPConnection(self.control[0], int(self.control[1]),
                                                           timeout=harness.PATIENCE)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text
            return json.loads(text)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Daemon(harness.Daemon):
    def read_welcome(self, begin):
        """The program with planted bugs says less."""
        if self.process.poll() is not None:
            raise AssertionError(f"{self.command} ended with {self.process.returncode}: {self.log()}")
        text = self.output.read_text()[begin:]
        return text if "Postrider listens on" in text and text.endswith("\n") else ""


class Host(threading.Thread):
    """Hands over transactions for one server, one after the other, and repeats each until it is answered 200."""

    def __init__(self, egress, server, seed):
        super().__init__(daemon=True)
        self.egress, self.server, self.random = egress, server, random.Random(seed)
        self.serial, self.answered, self.repeats = 0, 0, 0
        self.events, self.messages, self.wrong, self.pauses = [], [], [], False
        self.stopped = threading.Event()
        self.idle = threading.Event()

    def draw(self):
        pdus, edus = [], []
        for _ in range(self.random.randint(0, 4)):
            self.serial += 1
            room = f"!r{self.random.randrange(ROOMS)}:{NAME}"
            pdus.append({"auth_events": [], "content": {"n": self.serial, "to": self.server}, "depth": self.serial,
                         "event_id": f"${self.serial}-{self.server}", "hashes": {"sha256": str(self.serial)},
                         "origin_server_ts": 1, "prev_events": ["$p"], "room_id": room, "sender": f"@u:{NAME}",
                         "type": "m.room.message"})
        for _ in range(self.random.randint(0, 2)):
            self.serial += 1
            edus.append({"content": {"message_id": str(self.serial), "sender": f"@u:{NAME}", "type": "t", "messages": {
                f"@v:{self.server}": {"D": {"n": self.serial}}}}, "edu_type": "m.direct_to_device"})
        if self.random.random() < 0.3:
            edus.append({"content": {"room_id": f"!r0:{NAME}", "typing": True, "user_id": f"@u:{NAME}"},
                         "edu_type": "m.typing"})
        return pdus, edus

    def hand_over(self, transaction, body):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.egress, timeout=30)) as connection:
            connection.putrequest("PUT", f"matrix-federation://{self.server}/_matrix/federation/v1/send/{transaction}",
                                  skip_host=True)
            for name, value in {"Host": self.server, "Proxy-Authorization": f"Bearer {SECRET}",
                                "Content-Length": str(len(body)), "Connection": "close"}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def run(self):
        transaction = 0
        while not self.stopped.is_set():
            transaction += 1
            pdus, edus = self.draw()
            body = json.dumps({"edus": edus, "origin": NAME, "origin_server_ts": 1, "pdus": pdus},
                              separators=(",", ":")).encode()
            while True:
                try:
                    status, text = self.hand_over(transaction, body)
                except (OSError, http.client.HTTPException):
                    status, text = 0, b""
                if status == 200:
                    break
                if status not in (0, 503):
                    self.wrong.append((status, text))
                self.repeats += 1
                time.sleep(0.005)
            self.answered += 1
            self.events += [(pdu["event_id"], pdu["room_id"]) for pdu in pdus]
            self.messages += [edu["content"]["message_id"] for edu in edus if "message_id" in edu["content"]]
            if self.pauses:
                time.sleep(self.random.random() * 0.01)


class MatrixRounds(harness.Case):
    SETTINGS = QUICK

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        authority = harness.Authority(self.directory / "ca")
        authority.sign("server", "DNS:localhost,IP:127.0.0.1")
        public = self.make_key()
        self.sinks = []
        for _ in range(SERVERS):
            sink = Sink(self.directory, authority, public, self.random.randrange(1 << 30))
            self.addCleanup(sink.close)
            self.sinks.append(sink)
        self.egress = free_port()
        self.config = CONFIG.format(authority=authority.file, name=NAME, egress=self.egress, directory=self.directory,
                                    settings=self.SETTINGS)
        self.hosts = [Host(self.egress, sink.name, self.random.randrange(1 << 30)) for sink in self.sinks]

    def make_key(self):
        """The key file of a homeserver; its public key."""
        harness.openssl("genpkey", "-algorithm", "ED25519", "-outform", "DER", "-out", "key.der",
                        directory=self.directory)
        harness.openssl("pkey", "-inform", "DER", "-in", "key.der", "-pubout", "-outform", "DER", "-out", "public.der",
                        directory=self.directory)
        seed = (self.directory / "key.der").read_bytes()[-32:]
        for name, text in (("signing.key", f"ed25519 a {base64.b64encode(seed).decode().rstrip('=')}\n"),
                           ("replication.secret", SECRET)):
            (self.directory / name).write_text(text)
            (self.directory / name).chmod(0o600)
        return base64.b64encode((self.directory / "public.der").read_bytes()[-32:]).decode().rstrip("=")

    def weather(self, fine):
        for sink in self.sinks:
            draw = self.random.random()
            faults = {"fail": 0, "lose_answers": 0, "hang": 0, "slow_ms": 0, "fail_status": 503}
            if not fine and draw < 0.6:
                faults |= {"fail": self.random.choice([0, 30, 100]), "lose_answers": self.random.choice([0, 20]),
                           "hang": self.random.choice([0, 5]), "slow_ms": self.random.choice([0, 20, 200]),
                           # A server that answers 500 to what it has applied is one that does not remember.
                           "fail_status": self.random.choice([502, 503, 504])}
            sink.ask("POST", "/faults", faults)

    def begin(self, broken):
        """`files`: a kill loses what was not synced, as a power cut does; `sync`: and nothing is synced."""
        harness.BINARY = DAEMON
        daemon = Daemon(self.directory / "daemon", "--break", broken, config=self.config, environment=PLANT)
        self.addCleanup(daemon.kill)
        return daemon

    # req: matrix.q.2, matrix.txn.4, matrix.re.1, matrix.re.2, matrix.re.5, matrix.egress.2
    def test_every_item_is_applied_once_and_in_order_however_often_the_daemon_is_killed(self):
        began = time.monotonic()
        self.kill_often(ROUNDS, "files")
        postrider = self.begin("files")
        client = postrider.wait_ready()
        for host in self.hosts:
            host.join(harness.PATIENCE)
            self.assertFalse(host.is_alive(), "an answer for the last transaction")
            self.assertEqual(host.wrong, [])
        harness.wait_until(lambda: client.conservation()["live"] == 0, "the end of everything")
        line = client.conservation()
        self.assertEqual(line["dead"], 0, line)
        for sink, host in zip(self.sinks, self.hosts):
            self.compare(sink, host)
        self.assertEqual(postrider.stop(), 0)
        harness.BINARY = pathlib.Path(SINK)
        done = self.run_program("check", self.directory / "daemon/data")
        self.assertEqual(done.returncode, 0, done.stdout)
        repeats = sum(sink.ask("GET", "/counts")["repeats"] for sink in self.sinks)
        print(f"seed {SEED}: {ROUNDS} kills in {time.monotonic() - began:.0f} s; "
              f"{sum(len(host.events) for host in self.hosts)} events and "
              f"{sum(len(host.messages) for host in self.hosts)} messages to devices of "
              f"{sum(host.answered for host in self.hosts)} transactions, handed over "
              f"{sum(host.repeats for host in self.hosts)} times more; {repeats} of ours were repeated")

    def test_a_daemon_that_never_syncs_is_noticed(self):
        self.assertEqual(self.begin("files").stop(), 0)  # or there is no store that could be opened again
        self.kill_often(4, "sync")
        postrider = self.begin("sync")
        client = postrider.wait_ready()
        for host in self.hosts:
            host.join(harness.PATIENCE)
        harness.wait_until(lambda: client.conservation()["live"] == 0, "the end of everything")
        with self.assertRaises(AssertionError):
            for sink, host in zip(self.sinks, self.hosts):
                self.compare(sink, host)

    def kill_often(self, rounds, broken):
        for host in self.hosts:
            host.start()
        for number in range(rounds):
            self.weather(fine=number % 4 == 3)
            postrider = self.begin(broken)
            wanted = sum(host.answered for host in self.hosts) + self.random.randint(0, 20)
            until = time.monotonic() + 2
            while sum(host.answered for host in self.hosts) < wanted and time.monotonic() < until:
                time.sleep(0.002)
            time.sleep(self.random.random() ** 2 * 0.2)
            postrider.kill()
        for host in self.hosts:
            host.stopped.set()
        self.weather(fine=True)

    def compare(self, sink, host):
        why = f"{sink.name}, seed {SEED}"
        counts = sink.ask("GET", "/counts")
        self.assertEqual((counts["changed"], counts["busy"], counts["unauthorized"], counts["malformed"],
                          counts["doubled"]), (0, 0, 0, 0, 0), f"{why}: {counts}")
        applied = sink.ask("GET", "/applied")
        self.assertEqual({item["times"] for item in applied} - {1}, set(), why)
        rooms = {}
        for item in applied:
            rooms.setdefault(item["room"], []).append(item["id"])
        handed = {}
        for event, room in host.events:
            handed.setdefault(room, []).append(event)
        to_devices = rooms.pop("", [])
        self.assertEqual(rooms, handed, why)
        self.assertEqual([item.rsplit(" ", 1)[-1] for item in to_devices], host.messages, why)


if __name__ == "__main__":
    unittest.main(verbosity=2)
